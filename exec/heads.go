package exec

import (
	"errors"
	"fmt"
	"slices"

	"gomx/compile"
	nd "gomx/ndarray"
	"gomx/op"
)

// Backward computes the gradients of the last Forward(true) into Grads, as each argument's
// request says: under write an argument that no gradient reaches gets zeros, under add its array
// stays as it is. Without any gradient to compute Backward does nothing.
//
// headGrads are the gradients flowing into the outputs, in the outputs' order; they are converted
// to the outputs' element types. None means ones; losses ignore them, so that nil does for a loss.
// As in MXNet those beyond the last output are passed over.
//
// A second Backward after one Forward, and a Backward after a Forward(false), run the graph again
// as in training, with the arguments of now and the random numbers of that Forward; outputs and
// auxiliary states keep their content. After a Forward(false) dropout has dropped nothing, so that
// gradients pass it unchanged.
func (ex *Executor) Backward(headGrads ...*nd.Array) error {
	if ex.closed {
		return errors.New("exec: Backward on a closed executor")
	}
	if len(ex.Grads) == 0 {
		return nil
	}
	if ex.pending.lines != nil {
		return ex.pending.lines.backward(ex, headGrads)
	}
	if ex.pending.last == ranNothing {
		return errors.New("exec: Backward wants a Forward before it")
	}
	if ex.pending.current == nil {
		if err := ex.forwardAside(); err != nil {
			return err
		}
	}
	if ex.pending.current == nil {
		return nil // nothing depends on an argument that wants a gradient
	}
	if ex.arena.last != ex.pending.current {
		return errors.New("exec: Backward after another executor that shares the memory has run: " +
			"what Forward kept is gone")
	}
	if err := ex.pending.current.b.setHeads(headGrads); err != nil {
		return err
	}
	r := ex.pending.current
	ex.pending.current = nil
	p := r.b.p
	for _, a := range r.b.written {
		a.Touch()
	}
	r.push(p.Forward, len(p.Segments))
	r.release()
	return nil
}

// forwardAside repeats the forward part of the last run as in training, on copies of the auxiliary
// states and with outputs that nobody sees.
func (ex *Executor) forwardAside() error {
	m := training
	if ex.pending.last == ranInferred && slices.ContainsFunc(op.Topo(ex.net.Outputs),
		compile.IsDropout) {
		m = gradientsOnly
	}
	b, err := ex.compiled(m, false)
	if err != nil {
		return err
	}
	if !b.p.HasBackward() {
		return nil
	}
	r, err := ex.beginAgain(b)
	if err != nil {
		return err
	}
	for _, slot := range b.p.Mutated {
		r.arrays[slot] = r.arrays[slot].Copy()
	}
	for _, slot := range b.p.Outputs {
		a := r.arrays[slot]
		r.arrays[slot] = nd.Empty(a.Shape(), nd.On(a.Device()), nd.As(a.DType()), nd.Using(ex.eng))
	}
	r.start()
	ex.keepForBackward(r)
	return nil
}

// setHeads copies head gradients to where the program reads them; without any they are ones.
func (b *bound) setHeads(grads []*nd.Array) error {
	if len(grads) == 0 {
		b.headsToOnes()
		return nil
	}
	if len(grads) < len(b.ex.outputs) {
		return fmt.Errorf("exec: Backward with %d head gradients, want %d", len(grads),
			len(b.ex.outputs))
	}
	for i, h := range b.heads {
		if err := b.checkHead(i, grads[i], h); err != nil {
			return err
		}
	}
	for i, h := range b.heads {
		if h != nil {
			setConverted(h, grads[i])
		}
	}
	b.ones = false
	return nil
}

// checkHead returns an error if a cannot be the gradient of output i. The program reads the
// gradient from h; if h is nil it does not read it, and any a will do.
func (b *bound) checkHead(i int, a, h *nd.Array) error {
	switch {
	case h == nil:
		return nil
	case a == nil:
		return fmt.Errorf("exec: head gradient %d is nil", i)
	case !a.Shape().Equal(h.Shape()):
		return fmt.Errorf("exec: head gradient %d has shape %v, want that of output %s: %v", i,
			a.Shape(), b.ex.net.Outputs[i], h.Shape())
	case a.Engine() != b.ex.eng:
		return fmt.Errorf("exec: head gradient %d belongs to another engine than the executor", i)
	}
	return nil
}

// setConverted sets dst to the values of src, whose element type may differ.
func setConverted(dst, src *nd.Array) {
	if src.DType() == dst.DType() {
		dst.Set(src)
		return
	}
	c := src.Detach().AsType(dst.DType())
	dst.Set(c)
	c.Close()
}

// headsToOnes restores the head gradients that Backward without arguments means.
func (b *bound) headsToOnes() {
	if b.ones {
		return
	}
	for _, h := range b.heads {
		if h != nil {
			h.Fill(1)
		}
	}
	b.ones = true
}
