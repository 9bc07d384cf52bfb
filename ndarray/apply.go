package ndarray

import (
	"errors"
	"slices"
	"strings"
	"sync"

	"gomx/device"
	"gomx/engine"
	"gomx/op"
)

// Invoke applies an operator, asynchronously, and returns all its outputs, hidden ones included.
// params is the operator's parameter struct, nil for defaults. Where out is nil or holds nil the
// output is allocated, otherwise overwritten; an output may be one of the inputs. Operators with
// auxiliary states change them in place when a training tape is watching. Update operators write
// into their first input unless out is given. Tapes do not record writes to explicit outputs.
//
// Misuse is returned as *op.Error at once. An operation that fails later poisons its outputs: every
// wait for them, or for arrays computed from them, returns the error.
func Invoke(o *op.Op, params any, in []*Array, out []*Array) ([]*Array, error) {
	iv := invocation{op: o, params: params, in: in, out: out}
	p, err := iv.prepare()
	if err != nil {
		return nil, blame(err, o.Name)
	}
	results := make([]*Array, len(p.out))
	if err := iv.push(p, results); err != nil {
		return nil, blame(err, o.Name)
	}
	return results, nil
}

// InvokeInto is Invoke with every output given. It allocates nothing in steady state.
func InvokeInto(o *op.Op, params any, in, out []*Array) error {
	iv := newInvocation(o, params, in)
	defer iv.release()
	iv.out = append(iv.room.out[:0], out...)
	if _, err := iv.perform(); err != nil {
		return blame(err, o.Name)
	}
	return nil
}

// Apply applies an operator and returns its first output. It panics with *op.Error on misuse.
func Apply[P any](h op.Handle[P], p P, in ...*Array) *Array { return apply1(h.Op, p, in...) }

// apply1 is Apply with erased parameters.
func apply1(o *op.Op, params any, in ...*Array) *Array {
	iv := newInvocation(o, params, in)
	defer iv.release()
	return iv.first()
}

// applyMany applies an operator and returns its visible outputs. names has the meaning of
// applyNamed; it is nil for operators all of whose inputs are mandatory.
func applyMany(o *op.Op, params any, names []string, with []Input, in ...*Array) []*Array {
	iv := newInvocation(o, params, in)
	defer iv.release()
	iv.fill(names, with)
	return iv.visible()
}

// applyNamed is apply1 for operators whose inputs depend on the parameters: in is the longest list
// of inputs, names their names; inputs that the parameters switch off are nil. Inputs given by name
// replace nils.
func applyNamed(o *op.Op, params any, names []string, with []Input, in ...*Array) *Array {
	iv := newInvocation(o, params, in)
	defer iv.release()
	iv.fill(names, with)
	return iv.first()
}

// fill stores the inputs that were given by name at their positions in iv.in.
func (iv *invocation) fill(names []string, with []Input) {
	iv.names = names
	for _, w := range with {
		i := slices.Index(names, w.name)
		switch {
		case i < 0:
			panic(misuse(iv.op.Name, w.name, "no input of this name, want one of %s",
				strings.Join(names, ", ")))
		case w.array == nil:
			panic(misuse(iv.op.Name, w.name, "the array given by With is nil"))
		case iv.in[i] != nil:
			panic(misuse(iv.op.Name, w.name, "the input is given twice"))
		}
		iv.in[i] = w.array
	}
}

// applyTo applies an operator whose result overwrites out, which is returned.
func applyTo(out *Array, o *op.Op, params any, in ...*Array) *Array {
	iv := newInvocation(o, params, in)
	defer iv.release()
	iv.room.out[0] = out
	iv.out = iv.room.out[:]
	return iv.first()
}

// newInvocation returns a pooled invocation with a copy of in, so that callers need not allocate
// their list.
func newInvocation(o *op.Op, params any, in []*Array) *invocation {
	iv := invocations.Get().(*invocation)
	iv.op, iv.params, iv.in = o, params, append(iv.room.in[:0], in...)
	return iv
}

var invocations = sync.Pool{New: func() any { return &invocation{} }}

// release returns an invocation to the pool.
func (iv *invocation) release() {
	*iv = invocation{}
	invocations.Put(iv)
}

// first performs the invocation and returns the first output; it panics on misuse.
func (iv *invocation) first() *Array {
	a, err := iv.perform()
	if err != nil {
		panic(blame(err, iv.op.Name))
	}
	return a
}

// perform performs the invocation and returns the first output.
func (iv *invocation) perform() (*Array, error) {
	p, err := iv.prepare()
	if err != nil {
		return nil, err
	}
	return iv.start(p)
}

// start pushes a prepared invocation and returns the first output.
func (iv *invocation) start(p *plan) (*Array, error) {
	var buf [4]*Array
	results := buf[:]
	if len(p.out) > len(results) {
		results = make([]*Array, len(p.out))
	}
	if err := iv.push(p, results[:len(p.out)]); err != nil {
		return nil, err
	}
	return results[0], nil
}

// visible performs the invocation and returns its visible outputs; it panics on misuse.
func (iv *invocation) visible() []*Array {
	p, err := iv.prepare()
	if err == nil {
		results := make([]*Array, len(p.out))
		if err = iv.push(p, results); err == nil {
			return results[:iv.op.NumVisible(p.params)]
		}
	}
	panic(blame(err, iv.op.Name))
}

// Bulk collects applications of operators to given outputs and starts them together, as one
// operation of the engine. They must not read each other's results. On devices with queues this
// saves the time between their launches, and kernels of one kind become one launch where the device
// can do that. On other devices, where the operations may run beside each other, each starts at
// once. A Bulk is used by one goroutine at a time; the zero Bulk is empty.
//
// MXNet: mxnet.engine.bulk.
type Bulk struct {
	eng   *engine.Engine
	dev   device.Device
	calls *bulkCall
	uses  []engine.Use
	held  []*Array // operands, until they have been pushed
}

// bulkCall is the argument block of a pushed Bulk. Blocks are pooled like calls.
type bulkCall struct {
	calls    []*call
	run      func() error // runAll, bound once
	done     func(error)
	complete func(error) // completed, bound once
	queue    device.Queue
}

var bulkCalls = sync.Pool{New: func() any { return &bulkCall{} }}

// InvokeInto adds an application whose outputs are all given. Misuse is an error at once.
func (b *Bulk) InvokeInto(o *op.Op, params any, in, out []*Array) error {
	iv := newInvocation(o, params, in)
	defer iv.release()
	iv.out = append(iv.room.out[:0], out...)
	p, err := iv.prepare()
	if err == nil {
		err = b.add(iv, p)
	}
	return blameIf(err, o.Name)
}

// blameIf is blame for an error that may be nil.
func blameIf(err error, name string) error {
	if err == nil {
		return nil
	}
	return blame(err, name)
}

// add adds an application, or pushes it where it cannot wait for others.
func (b *Bulk) add(iv *invocation, p *plan) error {
	queued := iv.dev.Kind != device.KindCPU && device.HasQueues(iv.dev.Kind)
	if !queued || iv.tape != nil || iv.stored.any || p.op.Random {
		_, err := iv.start(p)
		return err
	}
	for i := range p.out {
		if iv.output(i) == nil || iv.clashes(p, i) {
			return errors.New("an output of a Bulk is missing, or shares memory with an input")
		}
	}
	if b.eng != iv.eng || b.dev != iv.dev {
		b.Push()
		b.eng, b.dev = iv.eng, iv.dev
	}
	if b.calls == nil {
		b.calls = bulkCalls.Get().(*bulkCall)
	}
	b.calls.calls = append(b.calls.calls, newCall(iv, p, iv.out))
	b.uses = iv.uses(p, iv.out, b.uses)
	for _, a := range iv.out {
		a.chunk.writes.Add(1)
	}
	b.held = append(append(b.held, iv.in...), iv.out...)
	return nil
}

// Push starts the collected applications. The Bulk is empty then.
func (b *Bulk) Push() {
	if b.calls == nil {
		return
	}
	b.eng.Push(&engine.Task{Name: b.calls.calls[0].plan.op.Name + "...", Async: queueBulk,
		Queued: true, Arg: b.calls, Lane: engine.Lane{Device: b.dev}, Uses: b.uses})
	clear(b.held)
	clear(b.uses)
	b.calls, b.held, b.uses, b.eng = nil, b.held[:0], b.uses[:0], nil
}

// queueBulk puts the work of all calls on the queue.
func queueBulk(r *engine.Run, done func(error)) {
	b := r.Arg.(*bulkCall)
	q, err := device.QueueOf(b.calls[0].dev, device.QueueCompute)
	if err != nil {
		done(err)
		return
	}
	if b.run == nil {
		b.run, b.complete = b.runAll, b.completed
	}
	b.done, b.queue = done, q
	if err = r.Begin(q); err == nil {
		if g, ok := q.(device.Gatherer); ok {
			err = g.Gather(b.run)
		} else {
			err = b.runAll()
		}
	}
	r.Finish(q, b.complete, err)
}

// runAll puts the work of each call on the queue.
func (b *bulkCall) runAll() error {
	for _, c := range b.calls {
		c.args.Queue = b.queue
		if err := c.put(); err != nil {
			return op.WithOp(err, c.plan.op.Name, "", "")
		}
	}
	return nil
}

// completed runs when the device has completed all calls.
func (b *bulkCall) completed(err error) {
	done := b.done
	for i, c := range b.calls {
		c.settle(err)
		b.calls[i] = nil
	}
	b.calls, b.done, b.queue = b.calls[:0], nil, nil
	bulkCalls.Put(b)
	done(err)
}
