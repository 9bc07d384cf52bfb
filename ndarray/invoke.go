package ndarray

import (
	"encoding/binary"
	"runtime"
	"slices"
	"unsafe"

	"gomx/device"
	"gomx/engine"
	"gomx/op"
)

// invocation is one application of an operator on its way to the engine.
type invocation struct {
	op     *op.Op
	params any
	in     []*Array
	out    []*Array // explicit outputs; nil, or nil elements: to be allocated
	names  []string // of in, if the parameters may switch inputs off; otherwise nil

	eng     *engine.Engine
	dev     device.Device
	train   bool
	tape    *Tape
	untaped bool // ignore the tapes of the inputs; train is given
	stored  sparseOperands
	seed    op.Opt[op.Seed]             // given, so not to be taken from the stream
	name    string                      // name of the outputs in errors and profiles
	grad    func(g *op.Grad) []op.Entry // see op.Node

	room invocationRoom
}

// sparseOperands tells about the operands of an invocation that are sparse.
type sparseOperands struct {
	any  bool     // there is one
	made []*Array // dense forms of inputs, to be closed after the push
}

// invocationRoom is memory of the operands of an invocation, where it suffices.
type invocationRoom struct {
	in  [4]*Array
	out [1]*Array
}

// output returns explicit output i, nil if there is none.
func (iv *invocation) output(i int) *Array {
	if i < len(iv.out) {
		return iv.out[i]
	}
	return nil
}

// prepare checks that the operands are on one device, finds the tape and returns the plan.
func (iv *invocation) prepare() (*plan, error) {
	for i, a := range iv.in {
		if a == nil {
			if iv.names != nil {
				continue
			}
			return nil, op.Errorf(iv.inputName(i), "the array is nil")
		}
		if err := iv.join(a, i); err != nil {
			return nil, err
		}
	}
	if iv.op.Update && !iv.op.Variadic && iv.out == nil && len(iv.in) > 0 &&
		inplace(iv.op, 0, 0) && !iv.writesInGraph() {
		iv.out = iv.in[:1:1]
	}
	for i, a := range iv.out {
		if a == nil {
			continue
		}
		if err := iv.place(a, len(iv.in)+i); err != nil {
			return nil, err
		}
		if err := a.unrecorded(); err != nil {
			return nil, err
		}
	}
	if iv.eng == nil {
		iv.eng = engine.Default()
	}
	if iv.tape != nil {
		iv.train = iv.tape.train
	}
	if iv.op.Resolves() {
		if err := iv.resolve(); err != nil {
			return nil, err
		}
	}
	if iv.stored.any {
		if err := iv.settleStorage(); err != nil {
			return nil, err
		}
	}
	p, err := planOf(iv)
	if err == nil && iv.names != nil {
		iv.in = slices.DeleteFunc(iv.in, func(a *Array) bool { return a == nil })
	}
	return p, err
}

// writesInGraph reports whether a traced function writes into an array from outside whose content
// the output stands for: the node of the graph changes that array when the graph runs.
func (iv *invocation) writesInGraph() bool {
	return iv.tape != nil && iv.tape.tracing != nil && iv.op.Identity && iv.in[0].traced() == nil
}

// resolve replaces an operator whose output shape depends on values: it waits for the values.
func (iv *invocation) resolve() error {
	params, err := normalize(iv.op, iv.params, len(iv.in))
	if err != nil {
		return err
	}
	want := iv.op.Inputs(params)
	if len(iv.in) != len(want) {
		return wrongCount(want, len(iv.in))
	}
	if iv.tape != nil && iv.tape.tracing != nil {
		return op.Errorf("", "the shape of the output depends on values, which a function that is "+
			"traced does not have")
	}
	shapes := make([]Shape, len(iv.in))
	for i, a := range iv.in {
		shapes[i] = a.shape.Clone()
	}
	r, err := iv.op.Resolve(params, shapes)
	if err != nil {
		return err
	}
	values, err := iv.in[r.Reads].host()
	if err != nil {
		return err
	}
	made := r.Replace(values)
	a, err := Make(iv.eng, iv.dev, made.DType, made.Shape)
	if err != nil {
		return err
	}
	if made.Bytes > 0 {
		if err := a.WriteBytes(unsafe.Slice((*byte)(made.Data), made.Bytes)); err != nil {
			return err
		}
	}
	iv.in = append([]*Array(nil), iv.in...)
	iv.op, iv.params, iv.in[r.Reads], iv.names = r.Op, r.Params, a, nil
	return nil
}

// join takes engine, device and tape from input i, or checks that they agree.
func (iv *invocation) join(a *Array, i int) error {
	if err := iv.place(a, i); err != nil {
		return err
	}
	if a.trace.tape != nil && !iv.untaped {
		if iv.tape != nil && iv.tape != a.trace.tape {
			return op.Errorf(iv.inputName(i),
				"the array is on another tape than the inputs before it")
		}
		iv.tape = a.trace.tape
	}
	return nil
}

// place takes engine and device from operand i, or checks that they agree.
func (iv *invocation) place(a *Array, i int) error {
	iv.stored.any = iv.stored.any || a.chunk != nil && a.chunk.sparse != nil
	switch {
	case a.closed.Load():
		return op.Errorf(iv.inputName(i), "the array has been closed")
	case a.chunk == nil:
		return nil // a placeholder without memory
	case a.chunk.v == nil && a.trace.step == nil:
		return op.Errorf(iv.inputName(i), "the array is a view of a traced array that the trace "+
			"has lost")
	case iv.eng == nil:
		iv.eng, iv.dev = a.chunk.eng, a.chunk.dev
	case a.chunk.eng != iv.eng:
		return op.Errorf(iv.inputName(i), "the array belongs to another engine")
	case a.chunk.dev != iv.dev:
		return op.Errorf(iv.inputName(i), "the array is on %v, want %v: use To", a.chunk.dev,
			iv.dev)
	}
	return nil
}

// inputName names operand i for an error.
func (iv *invocation) inputName(i int) string {
	if i >= len(iv.in) {
		return "out"
	}
	if params, err := normalize(iv.op, iv.params, len(iv.in)); err == nil {
		if names := iv.op.Inputs(params); i < len(names) {
			return names[i].Name
		}
	}
	return "input"
}

// appendKey appends everything that the plan depends on.
func (iv *invocation) appendKey(b []byte) []byte {
	b = binary.NativeEndian.AppendUint64(b, uint64(uintptr(unsafe.Pointer(iv.op))))
	flags := byte(iv.dev.Kind)<<3 | byte(device.MaxTier())<<1
	if iv.train {
		flags |= 1
	}
	b = append(b, flags, byte(iv.dev.ID))
	b = binary.AppendUvarint(b, uint64(len(iv.in)))
	b = binary.AppendUvarint(b, uint64(len(iv.out)))
	for _, a := range iv.in {
		b = a.appendKey(b)
	}
	for _, a := range iv.out {
		b = a.appendKey(b)
	}
	if iv.params != nil {
		b = iv.op.AppendKey(b, iv.params)
	}
	return b
}

// appendKey appends shape, element type and storage type; a may be nil.
func (a *Array) appendKey(b []byte) []byte {
	if a == nil {
		return append(b, 0xff)
	}
	b = append(b, byte(a.dtype)|byte(a.chunk.storage())<<5, byte(len(a.shape)))
	for _, d := range a.shape {
		b = binary.AppendUvarint(b, uint64(d))
	}
	return b
}

// push allocates the outputs, pushes the operation to the engine and records it on the tape.
func (iv *invocation) push(p *plan, results []*Array) error {
	if iv.tape != nil && iv.tape.tracing != nil {
		return iv.tape.tracing.record(iv, p, results)
	}
	for i := range results {
		if results[i] = iv.output(i); results[i] == nil || iv.clashes(p, i) ||
			results[i].chunk.storage() != p.out[i].Storage {
			a, err := newStored(iv.eng, iv.dev, p.out[i], iv.name)
			if err != nil {
				return err
			}
			results[i] = a
		}
	}
	c := newCall(iv, p, results)
	task := engine.Task{
		Name: p.op.Name, Fn: runCall, Arg: c, Describe: c.describe,
		Lane: engine.Lane{Device: iv.dev}, Bytes: p.bytes, Cheap: p.cheap,
		Wide: p.kernel.Threads > 1 && iv.dev.Kind == device.KindCPU, Threads: p.kernel.Threads,
		Uses: iv.uses(p, results, c.uses[:0]),
	}
	if iv.dev.Kind != device.KindCPU && device.HasQueues(iv.dev.Kind) {
		task.Fn, task.Async, task.Queued, task.Cheap = nil, queueCall, true, false
	} else if p.op.Waits {
		task.Fn, task.Async, task.Wide, task.Cheap = nil, waitCall, false, false
	}
	iv.eng.Push(&task)
	for i, a := range results {
		a.chunk.writes.Add(1)
		if want := iv.output(i); want != nil && want != a {
			noticeRows(want, a, p.op.Name)
			copyArray(want, a)
			a.Close()
			results[i] = want
		}
	}
	if iv.tape != nil && iv.out == nil {
		iv.record(p, results)
	}
	if tracings.Load() > 0 {
		iv.remember(p, results)
	}
	iv.enterScope(results)
	for _, a := range iv.stored.made {
		a.Close()
	}
	runtime.KeepAlive(iv.in)
	runtime.KeepAlive(iv.out)
	return nil
}

// noticeRows tells the user that a dense result of an operator is converted to a row_sparse array.
func noticeRows(want, a *Array, name string) {
	if want.chunk.storage() == op.RowSparse && a.chunk.storage() == op.Dense {
		op.Notice("the result of operator %s is dense: it takes memory for all rows before it is "+
			"converted to row_sparse", name)
	}
}

// enterScope adds results that were allocated to the scope of the inputs.
func (iv *invocation) enterScope(results []*Array) {
	s := scopeOf(iv.in)
	if s == nil {
		return
	}
	for i, a := range results {
		if iv.output(i) == nil {
			a.enter(s)
		}
	}
}

// uses lists what the operation reads and writes. Inputs of which only the shape is read are left
// out.
func (iv *invocation) uses(p *plan, results []*Array, uses []engine.Use) []engine.Use {
	for i, a := range iv.in {
		if p.ignored[i] || a.chunk == nil {
			continue
		}
		if p.updates[i] {
			a.chunk.writes.Add(1)
		}
		uses = append(uses, engine.Use{Var: a.chunk.v, Access: p.access(i)})
	}
	for _, a := range results {
		uses = append(uses, engine.Use{Var: a.chunk.v, Access: a.writing()})
	}
	return uses
}

// writing returns the access of an operation that writes all of a. For a view it is not Overwrite,
// because the rest of the chunk keeps its values.
func (a *Array) writing() engine.Access {
	if a.Whole() {
		return engine.Overwrite
	}
	return engine.Update
}

// clashes reports whether explicit output i must not share memory with the inputs.
func (iv *invocation) clashes(p *plan, i int) bool {
	out := iv.output(i)
	for k, in := range iv.in {
		if p.ignored[k] || !overlap(in, out) {
			continue
		}
		same := in.offset == out.offset && in.Bytes() == out.Bytes()
		if same && inplace(p.op, k, i) && (in.chunk.sparse == nil || p.op.Update) {
			continue
		}
		return true
	}
	return false
}

// overlap reports whether two arrays have bytes in common.
func overlap(a, b *Array) bool {
	return a.chunk != nil && a.chunk == b.chunk && a.offset < b.offset+b.Bytes() &&
		b.offset < a.offset+a.Bytes()
}

// inplace reports whether input and output of an operator may share memory.
func inplace(o *op.Op, in, out int) bool {
	for _, pair := range o.Inplace {
		if pair == [2]int{in, out} {
			return true
		}
	}
	return false
}
