package exec

import (
	"gomx/compile"
	"gomx/engine"
	nd "gomx/ndarray"
	"gomx/op"
)

// Call is one call of a Func whose gradients may be asked for. It holds the values that the
// backward part needs until Release.
type Call struct {
	f    *Func
	ex   *Executor
	r    *run // holds the values of the forward part; nil when Gradients has used them
	seed op.Seed
}

// Call computes the outputs for inputs, asynchronously. Outputs are overwritten; their shapes and
// types are those that Outputs returns. If gradients can be asked for, the result is a call, which
// refers to the arrays until Release; otherwise it is nil.
func (f *Func) Call(in, out []*nd.Array) (*Call, error) {
	ex, err := f.take()
	if err != nil {
		return nil, err
	}
	c := Call{f: f, ex: ex}
	if f.total > 0 {
		c.seed = nd.TakeRandom(f.total)
	}
	r, err := c.begin(in, out)
	if err != nil {
		f.give(ex)
		return nil, err
	}
	for _, slot := range r.b.p.Mutated {
		r.arrays[slot].Touch()
	}
	for _, a := range out {
		a.Touch()
	}
	r.start()
	if !r.b.p.HasBackward() {
		r.release()
		f.give(ex)
		return nil, nil
	}
	kept := c
	kept.r = r
	return &kept, nil
}

// begin takes a run with the arrays of the call.
func (c *Call) begin(in, out []*nd.Array) (*run, error) {
	c.ex.runs++
	r, err := c.ex.programs[c.f.mode].begin(c.ex.runs)
	if err != nil {
		return nil, err
	}
	r.seed = c.seed
	c.place(r, r.arrays, in, out)
	return r, nil
}

// place puts the arrays of the call among the arrays of a run.
func (c *Call) place(r *run, arrays, in, out []*nd.Array) {
	for i, slot := range c.f.inputs {
		if slot >= 0 {
			arrays[slot] = in[i]
		}
	}
	for i, slot := range r.b.p.Outputs {
		arrays[slot] = out[i]
	}
}

// Seed returns the place in the random stream from which the call has drawn for a stream.
func (c *Call) Seed(stream uint64) op.Seed {
	return op.Seed{Key: c.seed.Key, Counter: c.seed.Counter + c.ex.config.lent.draws[stream]}
}

// Gradients computes, asynchronously, the gradients of the inputs and then of the wanted held
// arrays into grads; nil where one is not needed. in and out are the arrays of the call, or other
// arrays on their memory; heads are the gradients that flow into the outputs. A second call of
// Gradients computes the forward part again, with the same random numbers.
func (c *Call) Gradients(in, out, heads, grads []*nd.Array) error {
	r := c.r
	first := r != nil
	if c.r = nil; !first {
		var err error
		if r, err = c.again(in, out); err != nil {
			return err
		}
	}
	// The forward part may still be under way with arrays that have been closed since.
	r.later = append(r.later[:0], r.arrays...)
	if first {
		c.place(r, r.later, in, out)
	}
	for i, slot := range c.f.heads {
		if slot >= 0 {
			r.later[slot] = heads[i]
		}
	}
	var rest []*nd.Array
	for i, slot := range c.f.grads {
		if slot < 0 {
			continue
		}
		a := grads[i]
		if a == nil { // the program computes it in any case
			s := &r.b.p.Slots[slot]
			a = emptyFor(s, c.ex.eng)
			rest = append(rest, a)
		}
		a.Touch()
		r.later[slot] = a
	}
	r.push(r.b.p.Forward, len(r.b.p.Segments))
	r.release()
	for _, a := range rest {
		a.Close()
	}
	return nil
}

// emptyFor makes an array for a slot, whose values are undefined.
func emptyFor(s *compile.Slot, eng *engine.Engine) *nd.Array {
	opts := []nd.Option{nd.On(s.Device), nd.As(s.Desc.DType), nd.Using(eng)}
	if s.Desc.Storage != op.Dense {
		return nd.ZerosOf(s.Desc.Storage, s.Desc.Shape, opts...)
	}
	return nd.Empty(s.Desc.Shape, opts...)
}

// again repeats the forward part, on copies of the auxiliary states and with outputs that nobody
// sees.
func (c *Call) again(in, out []*nd.Array) (*run, error) {
	r, err := c.begin(in, out)
	if err != nil {
		return nil, err
	}
	for _, slot := range r.b.p.Mutated {
		r.arrays[slot] = r.arrays[slot].Copy()
	}
	for _, slot := range r.b.p.Outputs {
		a := r.arrays[slot]
		r.arrays[slot] = nd.Empty(a.Shape(), nd.On(a.Device()), nd.As(a.DType()),
			nd.Using(c.ex.eng))
	}
	r.start()
	return r, nil
}

// Release tells that the gradients will not be asked for any more. Calling it again does nothing.
func (c *Call) Release() {
	if c.ex == nil {
		return
	}
	if c.r != nil {
		c.r.release()
		c.r = nil
	}
	c.f.give(c.ex)
	c.ex = nil
}
