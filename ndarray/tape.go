package ndarray

import (
	"slices"
	"sync"

	"gomx/device"
	"gomx/engine"
	"gomx/op"
)

// Tape records operations so that Backward can differentiate them. Recording starts at Watch and
// travels on results: an operation is recorded when one of its inputs is on the tape and one of
// them depends on an array with a gradient attached. A tape carries the mode too: operators such as
// dropout and batch normalization behave as in training where a training tape watches.
//
// A tape is cheap and holds nothing itself: what was recorded hangs on the arrays that were
// computed, and goes when they go or when Backward has used it.
type Tape struct {
	train bool
	mu    sync.Mutex // guards the saved arrays of the tape's steps
}

// NewTape returns a tape. Programs use autograd.Train and autograd.Predict.
func NewTape(train bool) *Tape { return &Tape{train: train} }

// String says which behaviour of operators the tape asks for.
func (t *Tape) String() string {
	switch {
	case t == nil:
		return "<Tape: nil>"
	case t.train:
		return "<Tape of training>"
	}
	return "<Tape of inference>"
}

// Training reports whether operators behave as in training under the tape.
func (t *Tape) Training() bool { return t.train }

// Watch returns an alias of x from which recording starts. If x has a gradient attached,
// Backward computes it. An array that is on another tape leaves that.
func (t *Tape) Watch(x *Array) *Array {
	w := x.alias("Watch")
	w.trace = trace{tape: t}
	if x.trace.tape == t {
		w.trace = x.trace
	}
	w.leaf.Store(x.leaf.Load())
	return w
}

// trace is an array's place on a tape. step is nil while nothing of what the array was computed
// from has a gradient attached.
type trace struct {
	tape  *Tape
	step  *step
	index int // the array is this output of the step
}

// step is one recorded operation. Its node refers to the nodes of the steps before it.
type step struct {
	node    op.Node
	plan    *plan
	parents []parent // per input
	eng     *engine.Engine
	dev     device.Device
	fn      *Function // what computes the gradient, if it is not the operator

	// Guarded by Tape.mu.
	in, out []saved
	freed   bool
}

// parent says where an input comes from; both are nil for a constant.
type parent struct {
	step *step
	leaf *leaf
}

// saved is an operand as the derivative will find it. An operand that the derivative does not read
// keeps its shape only; checked means that it must not have been written since.
type saved struct {
	array   *Array
	version uint64
	checked bool
}

// leaf is the attached gradient of an array.
type leaf struct {
	node *op.Node // stands for the array in recorded graphs
	grad *Array
	req  GradReq
}

// GradReq says what Backward does with an attached gradient.
type GradReq uint8

// The ways to store gradients.
const (
	GradWrite GradReq = iota // overwrite
	GradAdd                  // add to what is there; ZeroGrad starts again
	GradNull                 // there is no gradient: AttachGrad takes away the one there is
)

// AttachGrad gives a a gradient: an array of its shape, zero at first, that Backward fills. It
// makes a a starting point: gradients do not flow further to what a was computed from.
func (a *Array) AttachGrad(req ...GradReq) {
	if len(req) > 0 && req[0] == GradNull {
		a.leaf.Store(nil)
		return
	}
	g, err := newArray(a.mem("AttachGrad").eng, a.chunk.dev, a.dtype, a.shape,
		gradName(a.chunk.v.Name()))
	if err != nil {
		panic(misuse("AttachGrad", "", "%v", err))
	}
	fill(g, 0)
	r := GradWrite
	if len(req) > 0 {
		r = req[0]
	}
	a.AttachGradArray(g, r)
}

func gradName(name string) string {
	if name == "" {
		return ""
	}
	return name + "_grad"
}

// AttachGradArray is AttachGrad with a gradient array of the caller's.
func (a *Array) AttachGradArray(grad *Array, req GradReq) {
	a.mem("AttachGradArray")
	if grad == nil {
		panic(misuse("AttachGradArray", "grad", "the array is nil"))
	}
	if !grad.shape.Equal(a.shape) || grad.dtype != a.dtype || grad.chunk.dev != a.chunk.dev {
		panic(misuse("AttachGradArray", "grad", "%v %v on %v, want %v %v on %v",
			grad.dtype, grad.shape, grad.chunk.dev, a.dtype, a.shape, a.chunk.dev))
	}
	name := a.chunk.v.Name()
	if name == "" {
		name = "array"
	}
	a.trace.step = nil
	a.leaf.Store(&leaf{node: op.Var(name), grad: grad, req: req})
}

// Grad returns the attached gradient, nil if there is none.
func (a *Array) Grad() *Array {
	a.memory("Grad")
	if l := a.leaf.Load(); l != nil {
		return l.grad
	}
	return nil
}

// ZeroGrad sets the attached gradient to zero.
func (a *Array) ZeroGrad() {
	a.memory("ZeroGrad")
	if g := a.Grad(); g != nil {
		fill(g, 0)
	}
}

// Recorded reports whether a tape can differentiate a.
func (a *Array) Recorded() bool {
	a.memory("Recorded")
	return a.trace.tape != nil && (a.trace.step != nil || a.leaf.Load() != nil)
}

// record puts the results of an operation on the tape.
func (iv *invocation) record(p *plan, results []*Array) {
	for i, a := range results {
		a.trace = trace{tape: iv.tape, index: i}
	}
	if !slices.ContainsFunc(iv.in, func(a *Array) bool {
		return a.trace.step != nil ||
			a.leaf.Load() != nil
	}) {
		return
	}
	n := len(iv.in)
	s := &step{plan: p, eng: iv.eng, dev: iv.dev, parents: make([]parent, n)}
	s.node = op.Node{Op: p.op, Name: p.op.Name, Params: p.params, In: make([]op.Entry, n)}
	for i, a := range iv.in {
		switch l := a.leaf.Load(); {
		case l != nil:
			s.parents[i].leaf, s.node.In[i] = l, l.node.Entry(0)
		case a.trace.step != nil:
			s.parents[i].step, s.node.In[i] = a.trace.step, op.Entry{Node: &a.trace.step.node,
				Index: a.trace.index}
		default:
			s.node.In[i] = op.Var(p.inputs[i].Name).Entry(0)
		}
	}
	s.save(iv, results)
	for _, a := range results {
		a.trace.step = s
	}
}

// save keeps of the operands what the derivative reads.
func (s *step) save(iv *invocation, results []*Array) {
	keeps := s.plan.retains()
	slab := make([]Array, len(iv.in)+len(results))
	list := make([]saved, len(slab))
	for i := range slab {
		from, keep, checked := (*Array)(nil), false, true
		if i < len(iv.in) {
			from, keep, checked = iv.in[i], keeps.in[i], !s.plan.updates[i]
		} else {
			from, keep = results[i-len(iv.in)], keeps.out[i-len(iv.in)]
		}
		b := &slab[i]
		if keep && from.chunk != nil {
			from.share(b, s.plan.op.Name)
			list[i] = saved{b, from.chunk.writes.Load(), checked}
			continue
		}
		b.shape, b.dtype = from.shape, from.dtype
		list[i] = saved{array: b}
	}
	s.in, s.out = list[:len(iv.in)], list[len(iv.in):]
}

// recordView records that v is the part of a that an operator would copy; more are further inputs.
func (a *Array) recordView(v *Array, o *op.Op, params any, more ...*Array) *Array {
	if a.trace.tape == nil {
		return v
	}
	iv := invocation{op: o, params: params, in: append([]*Array{a}, more...)}
	p, err := iv.prepare()
	if err != nil {
		panic(blame(err, o.Name))
	}
	iv.record(p, []*Array{v})
	return v
}

// checkWritable panics when a write to a would go unnoticed by the tape that recorded it.
func (a *Array) checkWritable(what string) {
	if err := a.unrecorded(); err != nil {
		panic(blame(err, what))
	}
}

// unrecorded returns an error when a is a result on a tape.
func (a *Array) unrecorded() error {
	if a.trace.step == nil {
		return nil
	}
	return op.Errorf("", "the array was recorded by a tape, it cannot be overwritten: use Detach")
}
