package ndarray

import (
	"slices"
	"sync"
	"sync/atomic"

	"gomx/device"
	"gomx/engine"
	"gomx/op"
)

// Tape records operations so that Backward can differentiate them. Recording starts at Watch;
// results are on the tape of the inputs. An operation is recorded when one of its inputs is on the
// tape and one of them depends on an array with a gradient attached. A tape also has a mode: under
// a training tape operators such as dropout and batch normalization behave as in training.
//
// A tape itself holds no records: the results refer to the recorded steps, which are freed together
// with the results, or after Backward has used them.
type Tape struct {
	train   bool         // operators behave as in training
	tracing *Tracing     // recording that the arrays on the tape belong to; nil if they have values
	steps   atomic.Int64 // number of recorded operations
	mu      sync.Mutex   // guards the saved arrays of the tape's steps
}

// NewTape returns a tape. Programs use autograd.Train and autograd.Predict.
func NewTape(train bool) *Tape { return &Tape{train: train} }

// String tells whether the tape is for training or for inference.
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

// Watch returns an alias of x from which recording starts. If x has a gradient attached, Backward
// computes it. The alias of an array on another tape is on t only.
func (t *Tape) Watch(x *Array) *Array {
	if x != nil && t.tracing != nil {
		return t.tracing.watch(x)
	}
	if x != nil && x.traced() != nil {
		panic(x.traced().refuse("Watch", "the array is traced: the tape of the traced call "+
			"carries the mode, other tapes begin outside of it"))
	}
	w := x.alias("Watch")
	w.trace = trace{tape: t}
	if x.trace.tape == t {
		w.trace = x.trace
	}
	w.leaf.Store(x.leaf.Load())
	return w
}

// Tape returns the tape that a is on, nil if it is on none.
func (a *Array) Tape() *Tape {
	a.memory("Tape")
	return a.trace.tape
}

// trace is an array's place on a tape. step is nil if the array does not depend on any array with a
// gradient attached.
type trace struct {
	tape  *Tape
	step  *step
	index int // number of the array among the outputs of step
}

// step is one recorded operation. Its node refers to the nodes of earlier steps.
type step struct {
	node    op.Node
	plan    *plan
	parents []parent // one per input
	eng     *engine.Engine
	dev     device.Device
	by      Differentiable // computes the gradient if not nil, otherwise the operator does
	alone   bool           // by computes the gradients of leaves alone, each once
	made    *origin        // of steps that a Tracing imports; these have nothing but a node

	// Guarded by Tape.mu.
	in, out []saved // one per input and output
	freed   bool    // Backward has released in and out
}

// parent is the origin of an input: a recorded step, or an attached gradient; both are nil for a
// constant.
type parent struct {
	step *step
	leaf *leaf
}

// saved is an operand kept for the derivative. An operand that the derivative does not read has no
// memory, only a shape.
type saved struct {
	array   *Array
	version uint64 // number of writes to the operand's memory when it was recorded
	checked bool   // Backward fails if the operand was written since
}

// leaf is the attached gradient of an array.
type leaf struct {
	node  *op.Node // variable for the array in recorded graphs
	grad  *Array
	req   GradReq
	fresh atomic.Bool // Backward has stored grad since UseGrad
}

// GradReq is the way in which Backward stores an attached gradient.
type GradReq uint8

// The ways to store gradients.
const (
	GradWrite GradReq = iota // overwrite
	GradAdd                  // add to the stored values; ZeroGrad resets them
	GradNull                 // no gradient; AttachGrad removes an attached one
)

// AttachGrad attaches a gradient to a: an array of a's shape and storage type, initially zero, that
// Backward fills. Gradients do not flow beyond a, to the arrays that a was computed from.
func (a *Array) AttachGrad(req ...GradReq) { a.AttachGradOf(a.Storage(), req...) }

// AttachGradOf is AttachGrad for a gradient of storage type s. Backward converts its result
// to s; RowSparse suits a table of which a step reads few rows.
func (a *Array) AttachGradOf(s Storage, req ...GradReq) {
	if len(req) > 0 && req[0] == GradNull {
		a.leaf.Store(nil)
		return
	}
	c, err := a.stored("AttachGrad")
	if err != nil {
		panic(err)
	}
	g, err := newStored(c.eng, c.dev, op.Stored(s, a.dtype, a.shape), gradName(c.v.Name()))
	if err != nil {
		panic(misuse("AttachGrad", "", "%v", err))
	}
	if s == op.Dense {
		fill(g, 0)
	}
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

// AttachGradArray attaches grad, an array of the caller, as the gradient of a.
func (a *Array) AttachGradArray(grad *Array, req GradReq) {
	if _, err := a.stored("AttachGradArray"); err != nil {
		panic(err)
	}
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

// GradFresh reports whether a Backward has stored the attached gradient since AttachGrad or the last
// UseGrad. A trainer finds out by it that a step would use a gradient twice.
func (a *Array) GradFresh() bool {
	a.memory("GradFresh")
	l := a.leaf.Load()
	return l != nil && l.fresh.Load()
}

// UseGrad notes that the attached gradient has been used.
func (a *Array) UseGrad() {
	a.memory("UseGrad")
	if l := a.leaf.Load(); l != nil {
		l.fresh.Store(false)
	}
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
		return a.trace.step != nil || a.leaf.Load() != nil
	}) {
		return
	}
	n := len(iv.in)
	s := &step{plan: p, eng: iv.eng, dev: iv.dev, parents: make([]parent, n)}
	s.node = op.Node{Op: p.op, Name: p.op.Name, Params: p.params, In: make([]op.Entry, n),
		Grad: iv.grad, Serial: int(iv.tape.steps.Add(1)), Storage: p.stored}
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

// save keeps the operands that the derivative reads, and the shapes of the others.
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
		keep = keep || iv.grad != nil
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

// recordView records v, a view of a, as the result of an operator that would copy this part of a;
// more holds the operator's other inputs.
func (a *Array) recordView(v *Array, o *op.Op, params any, more ...*Array) *Array {
	if a.trace.tape == nil && a.born.step == nil {
		return v
	}
	iv := invocation{op: o, params: params, in: append([]*Array{a}, more...)}
	p, err := iv.prepare()
	if err != nil {
		panic(blame(err, o.Name))
	}
	switch results := []*Array{v}; {
	case a.traced() != nil:
		if err := a.traced().record(&iv, p, results); err != nil {
			panic(blame(err, o.Name))
		}
		return results[0]
	case a.trace.tape != nil:
		iv.record(p, results)
	default:
		iv.remember(p, results)
	}
	return v
}

// checkWritable panics when a is a recorded result: a tape does not record the write.
func (a *Array) checkWritable(what string) {
	if err := a.unrecorded(); err != nil {
		panic(blame(err, what))
	}
}

// unrecorded returns an error when a is a recorded result.
func (a *Array) unrecorded() error {
	if a.trace.step == nil {
		a.born = birth{}
		return nil
	}
	if t := a.traced(); t != nil {
		return t.refuse("", noWrites)
	}
	return op.Errorf("", "a tape has recorded the array, it cannot be overwritten: use Detach")
}

// retained tells, per input and output of an operation, whether its derivative reads the values.
type retained struct{ in, out []bool }

// retains returns the operands that the derivative of p's operator reads. The first call computes
// them from the operator's gradient.
func (p *plan) retains() *retained {
	if k := p.keeps.Load(); k != nil {
		return k
	}
	n := &op.Node{Op: p.op, Name: p.op.Name, Params: p.params, In: make([]op.Entry, len(p.in)),
		Storage: p.stored}
	need := make([]bool, len(p.in))
	for i := range n.In {
		n.In[i] = op.Var(p.inputs[i].Name).Entry(0)
		need[i] = !p.updates[i]
	}
	k := &retained{in: make([]bool, len(p.in)), out: make([]bool, len(p.out))}
	all, first := make([]op.Entry, len(p.out)), make([]op.Entry, len(p.out))
	for i := range all {
		all[i] = op.Var("head").Entry(0)
	}
	first[0] = all[0]
	for _, heads := range [][]op.Entry{all, first} {
		if grads, err := op.Gradient(n, heads, need); err == nil {
			k.mark(n, grads)
		}
	}
	p.keeps.Store(k)
	return k
}

// mark adds the operands of n whose values, not only whose shapes, the gradients read.
func (k *retained) mark(n *op.Node, grads []op.Entry) {
	read := func(e op.Entry) {
		if e.Node == n {
			k.out[e.Index] = true
		}
		for i, in := range n.In {
			if e == in {
				k.in[i] = true
			}
		}
	}
	grads = slices.DeleteFunc(slices.Clone(grads), func(e op.Entry) bool { return !e.Valid() })
	for _, e := range grads {
		read(e)
	}
	for _, g := range op.Topo(grads) {
		if g == n || g.IsVar() {
			continue
		}
		for i, e := range g.In {
			if !slices.Contains(g.Op.Ignores, i) {
				read(e)
			}
		}
	}
}
