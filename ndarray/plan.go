package ndarray

import (
	"fmt"
	"hash/maphash"
	"slices"
	"sync/atomic"

	"gomx/device"
	"gomx/dtype"
	"gomx/engine"
	"gomx/op"
)

// plan is an operator prepared for one set of parameters and operands: everything that does not
// depend on addresses. It is immutable.
type plan struct {
	key    string
	next   *plan // next plan in the same bucket of planTable
	op     *op.Op
	params any // with defaults filled in
	inputs []op.Input
	stored []op.Storage // of the inputs; nil: all are dense
	in     []op.Desc
	out    []op.Desc
	kernel *op.Prepared
	cheap  bool  // may run on the caller's goroutine
	bytes  int64 // size of all operands together
	train  bool

	updates []bool                   // per input: the kernel writes it
	ignored []bool                   // per input: only its shape is read
	keeps   atomic.Pointer[retained] // operands that the gradient reads; set by retains
}

// cheapBytes bounds the size of the operands of kernels that run on the caller's goroutine.
const cheapBytes = 16 << 10

// planOf returns the plan of an invocation, from the cache if it is there.
func planOf(iv *invocation) (*plan, error) {
	var buf [256]byte
	key := iv.appendKey(buf[:0])
	hash := plans.hash(key)
	if p := plans.find(hash, key); p != nil {
		return p, nil
	}
	p, err := makePlan(iv)
	if err != nil {
		return nil, err
	}
	p.key = string(key)
	plans.add(hash, p)
	return p, nil
}

// makePlan normalizes the parameters, infers the outputs and prepares a kernel.
func makePlan(iv *invocation) (*plan, error) {
	params, err := normalize(iv.op, iv.params, len(iv.in))
	if err != nil {
		return nil, err
	}
	p := &plan{op: iv.op, params: params, inputs: iv.op.Inputs(params), train: iv.train}
	in, err := choose(p.inputs, iv.names, iv.in)
	if err != nil {
		return nil, err
	}
	n := len(iv.op.Outputs(params))
	if iv.out != nil && len(iv.out) != n {
		return nil, op.Errorf("out", "%d output arrays, want %d", len(iv.out), n)
	}
	p.in = make([]op.Desc, len(in))
	for i, a := range in {
		p.in[i] = op.Stored(a.chunk.storage(), a.dtype, a.shape)
	}
	if stored := storages(in); iv.stored.any && !op.AllDense(stored) {
		p.stored = stored
	}
	if err := p.infer(iv, n); err != nil {
		return nil, err
	}
	p.store(iv)
	p.updates, p.ignored = make([]bool, len(p.in)), make([]bool, len(p.in))
	for _, i := range iv.op.Changes(params) {
		if i < len(p.in) {
			p.updates[i] = iv.train || iv.op.Update
		}
	}
	for _, i := range iv.op.Ignores {
		if i < len(p.in) {
			p.ignored[i] = true
		}
	}
	return p, p.prepare(iv)
}

// normalize fills in defaults and the count of variadic inputs.
func normalize(o *op.Op, params any, inputs int) (any, error) {
	if o.Variadic {
		if params == nil {
			params, _ = o.Normalize(nil)
		}
		params = o.WithCount(params, inputs)
	}
	return o.Normalize(params)
}

// choose returns the inputs that the parameters ask for; want lists them. names, unless nil, are
// the names of in.
func choose(want []op.Input, names []string, in []*Array) ([]*Array, error) {
	var chosen []*Array
	for i, name := range names {
		asked := slices.ContainsFunc(want, func(w op.Input) bool { return w.Name == name })
		switch {
		case asked && in[i] == nil:
			return nil, op.Errorf(name, "the array is nil")
		case !asked && in[i] != nil:
			return nil, op.Errorf(name, "an array was given, want nil: the parameters switch "+
				"this input off")
		case asked:
			chosen = append(chosen, in[i])
		}
	}
	if names == nil {
		chosen = in
	}
	if len(chosen) != len(want) {
		return nil, wrongCount(want, len(chosen))
	}
	return chosen, nil
}

func wrongCount(want []op.Input, got int) error {
	names := ""
	for i, in := range want {
		if i > 0 {
			names += ", "
		}
		names += in.Name
	}
	return op.Errorf("", "%d input arrays, want %d: %s", got, len(want), names)
}

// infer computes shapes and element types of the n outputs.
func (p *plan) infer(iv *invocation, n int) error {
	shapes, types := make([]dtype.Shape, n), make([]dtype.Type, n)
	for i := range n {
		types[i] = dtype.Unknown
		if o := iv.output(i); o != nil {
			shapes[i], types[i] = o.shape.Clone(), o.dtype
		}
	}
	given, givenTypes := slices.Clone(shapes), slices.Clone(types)
	in, inTypes := make([]dtype.Shape, len(p.in)), make([]dtype.Type, len(p.in))
	for range 3 { // the shape of one operand may determine another's
		for i, d := range p.in {
			in[i], inTypes[i] = d.Shape.Clone(), d.DType
		}
		if err := p.op.InferShape(p.params, in, shapes); err != nil {
			return p.withInputs(err)
		}
		if err := p.op.InferType(p.params, inTypes, types); err != nil {
			return p.withInputs(err)
		}
	}
	for i, d := range p.in {
		if !d.Shape.Equal(in[i]) {
			return p.withInputs(op.Errorf(p.inputs[i].Name, "shape %v, want %v", d.Shape, in[i]))
		}
		if d.DType != inTypes[i] {
			return p.withInputs(op.Errorf(p.inputs[i].Name, "element type %v, want %v", d.DType,
				inTypes[i]))
		}
	}
	return p.setOutputs(shapes, types, given, givenTypes)
}

// setOutputs checks the inferred shapes and types and compares them with explicit outputs.
func (p *plan) setOutputs(shapes []Shape, types []dtype.Type, given []Shape,
	givenTypes []dtype.Type) error {
	names := p.op.Outputs(p.params)
	p.out = make([]op.Desc, len(shapes))
	for i := range shapes {
		switch {
		case !shapes[i].Known():
			return p.withInputs(op.Errorf("", "the shape of output %s cannot be inferred",
				names[i]))
		case given[i] != nil && !given[i].Equal(shapes[i]):
			return p.withInputs(op.Errorf("out", "output %s has shape %v, want %v", names[i],
				given[i], shapes[i]))
		case givenTypes[i] != dtype.Unknown && givenTypes[i] != types[i]:
			return p.withInputs(op.Errorf("out", "output %s has element type %v, want %v", names[i],
				givenTypes[i], types[i]))
		case !types[i].Valid():
			types[i] = dtype.Float32
		}
		p.out[i] = op.Plain(types[i], shapes[i])
	}
	return nil
}

// store gives the outputs their storage types. Where all inputs are dense, and so is a given
// output, the operator computes a dense output.
func (p *plan) store(iv *invocation) {
	in := p.stored
	if in == nil {
		in = make([]op.Storage, len(p.in))
	}
	out, _ := p.op.OutStorage(p.params, in)
	for i, s := range out {
		if given := iv.output(i); s != op.Dense &&
			(p.stored != nil || given == nil || given.Storage() != op.Dense) {
			p.out[i] = op.Stored(s, p.out[i].DType, p.out[i].Shape)
		}
	}
}

// withInputs adds the shapes of the inputs to err.
func (p *plan) withInputs(err error) error {
	e := *op.WithOp(err, p.op.Name, "", "").(*op.Error)
	e.Msg += " (inputs: " + p.describeInputs() + ")"
	return &e
}

func (p *plan) describeInputs() string {
	s := ""
	for i, d := range p.in {
		if i > 0 {
			s += ", "
		}
		s += fmt.Sprintf("%s %v %v", p.inputs[i].Name, d.DType, d.Shape)
		if d.Storage != op.Dense {
			s += " " + d.Storage.String()
		}
	}
	return s
}

// prepare chooses the kernel and prepares it.
func (p *plan) prepare(iv *invocation) error {
	args := op.Args{In: p.in, Out: p.out, Train: p.train, Threads: device.Cores()}
	k, err := p.op.Prepare(iv.dev, device.MaxTier(), p.params, &args)
	if err != nil {
		return err
	}
	for i, d := range k.Out {
		if d.Layout != nil {
			return op.Errorf("", "the kernel made output %d with a layout of its own", i)
		}
	}
	p.kernel = k
	for _, d := range slices.Concat(p.in, p.out) {
		p.bytes += int64(d.Bytes)
	}
	p.cheap = k.Threads == 1 && p.bytes+int64(k.Scratch) <= cheapBytes && p.dense()
	return nil
}

// dense reports whether all operands are dense.
func (p *plan) dense() bool {
	return p.stored == nil && !slices.ContainsFunc(p.out, func(d op.Desc) bool {
		return d.Storage != op.Dense
	})
}

// access returns how the operation uses the memory of input i.
func (p *plan) access(i int) engine.Access {
	if p.updates[i] {
		return engine.Update
	}
	return engine.Read
}

// planTable is a hash table of plans: lock-free to read, bounded in size. A full table is emptied:
// programs whose shapes repeat never fill it, and other programs gain nothing from it.
type planTable struct {
	seed    maphash.Seed
	buckets atomic.Pointer[planBuckets]
}

type planBuckets struct {
	head  [planSlots]atomic.Pointer[plan] // lists linked by plan.next
	count atomic.Int64                    // plans added
}

const (
	planSlots = 1024
	maxPlans  = 4 * planSlots
)

// plans caches the plans of all imperative operations.
var plans = newPlanTable()

func newPlanTable() *planTable {
	t := &planTable{seed: maphash.MakeSeed()}
	t.buckets.Store(&planBuckets{})
	return t
}

func (t *planTable) hash(key []byte) uint64 { return maphash.Bytes(t.seed, key) }

// find returns the plan with a key, nil if there is none. hash is the key's hash.
func (t *planTable) find(hash uint64, key []byte) *plan {
	for p := t.buckets.Load().head[hash%planSlots].Load(); p != nil; p = p.next {
		if p.key == string(key) {
			return p
		}
	}
	return nil
}

// add adds p, which no other goroutine may use yet. When two goroutines add plans with the same key
// at once the table holds both, and find returns one of them.
func (t *planTable) add(hash uint64, p *plan) {
	b := t.buckets.Load()
	if b.count.Add(1) > maxPlans {
		fresh := &planBuckets{}
		fresh.count.Store(1)
		if t.buckets.CompareAndSwap(b, fresh) {
			b = fresh
		} else {
			b = t.buckets.Load()
		}
	}
	head := &b.head[hash%planSlots]
	for {
		p.next = head.Load()
		if head.CompareAndSwap(p.next, p) {
			return
		}
	}
}
