package trainer

import (
	"fmt"

	"gomx/device"
	"gomx/dtype"
	"gomx/engine"
	nd "gomx/ndarray"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/prim"
	"gomx/op/update"
)

// ClipJobError is the mistake of clipping by a norm that no process knows.
func ClipJobError(store string) error {
	return fmt.Errorf("ClipGlobalNorm with %s, a store of several processes, "+
		"where no process knows the norm of the sums of all workers: "+
		"use the optimizer's Clip, which limits every element, or train in one process", store)
}

// clipper scales gradients to a norm. Everything is pushed to the engine and works in arrays that
// are kept, so that nobody waits and in steady state nothing is allocated.
type clipper struct {
	limit   float64
	rescale float64 // that steps are made for
	steps   []clipStep
	parts   []*clipPart
	// float32, shape (1), on the first part's device: the sum of squares, then the factor
	total   *nd.Array
	in, out []*nd.Array
}

// clipStep is an operation on total, in place.
type clipStep struct {
	op     *op.Op
	params any
}

// clipPart is the gradients on one device with one element type.
type clipPart struct {
	dev    device.Device
	dtype  dtype.Type
	grads  []*nd.Array // by the number of the parameter; nil: none in this batch
	sums   *nd.Array   // float32, by the number of the parameter: sums of squares, else 0
	slots  []*nd.Array // the elements of sums
	used   []bool      // slots that are not 0
	own    *nd.Array   // float32, shape (1), on dev; total itself in the first part
	staged *nd.Array   // own where total is; own itself if that is the same device
	// the factor, shape (1), on dev, of the gradients' type; nil if that is float32
	half *nd.Array
	cast any // parameters of the conversion to half
}

// Parameters of the operations, as the interfaces that they are passed as.
var (
	clipNone any = op.NoParams{}
	clipSums any = update.MultiSumSqParams{}
	clipSum  any = prim.ReduceParams{KeepDims: true}
)

// scale starts to scale gradients so that their norm, times rescale, keeps the limit.
func (c *clipper) scale(grads map[string]*nd.Array, params []Param, rescale float64) (err error) {
	defer op.Recover(&err)
	for _, p := range c.parts {
		clear(p.grads)
	}
	for i := range params {
		if g := grads[params[i].Name]; g != nil {
			c.part(g, len(params)).grads[i] = g
		}
	}
	if len(c.parts) == 0 {
		return nil // no parameter is trained
	}
	c.plan(rescale)
	for _, p := range c.parts {
		if err := c.measure(p); err != nil {
			return err
		}
	}
	for _, s := range c.steps {
		if err := c.invoke(s.op, s.params, c.total, c.total, nil); err != nil {
			return err
		}
	}
	for _, p := range c.parts {
		if err := c.apply(p); err != nil {
			return err
		}
	}
	return nil
}

// part returns the part that a gradient belongs to, one of n.
func (c *clipper) part(g *nd.Array, n int) *clipPart {
	d, t := g.Device(), g.DType()
	for _, p := range c.parts {
		if p.dev == d && p.dtype == t {
			return p
		}
	}
	single := func(d device.Device, t dtype.Type) *nd.Array {
		return nd.Zeros(nd.Shape{1}, nd.On(d), nd.As(t), nd.Using(g.Engine()))
	}
	p := &clipPart{dev: d, dtype: t, used: make([]bool, n)}
	p.grads, p.slots = make([]*nd.Array, n), make([]*nd.Array, n)
	p.sums = nd.Zeros(nd.Shape{n}, nd.On(d), nd.Using(g.Engine()))
	for i := range p.slots {
		p.slots[i] = p.sums.Slice(i, i+1)
	}
	p.own = single(d, dtype.Float32)
	p.staged = p.own
	if c.total == nil {
		c.total = p.own
	} else if d != c.total.Device() {
		p.staged = single(c.total.Device(), dtype.Float32)
	}
	if t != dtype.Float32 {
		p.half, p.cast = single(d, t), prim.CastParams{DType: t}
	}
	c.parts = append(c.parts, p)
	return p
}

// plan makes the steps from the sum of squares to the factor: min(1, limit/(rescale*sqrt(x)+1e-8)).
func (c *clipper) plan(rescale float64) {
	if c.steps != nil && c.rescale == rescale {
		return
	}
	c.rescale = rescale
	c.steps = []clipStep{
		{prim.Sqrt.Op, clipNone},
		{prim.MulScalar.Op, prim.ScalarParams{Scalar: rescale}},
		{prim.PlusScalar.Op, prim.ScalarParams{Scalar: 1e-8}},
		{prim.RDivScalar.Op, prim.ScalarParams{Scalar: c.limit}},
		{prim.MinimumScalar.Op, prim.ScalarParams{Scalar: 1}},
	}
}

// measure adds the squares of a part's gradients to the total, which the first part begins.
func (c *clipper) measure(p *clipPart) error {
	for i, g := range p.grads {
		switch {
		case g != nil:
			if err := c.invoke(update.MultiSumSq.Op, clipSums, p.slots[i], g, nil); err != nil {
				return err
			}
		case p.used[i]:
			p.slots[i].Fill(0)
		}
		p.used[i] = g != nil
	}
	if err := c.invoke(prim.Sum.Op, clipSum, p.own, p.sums, nil); err != nil {
		return err
	}
	if p.own == c.total {
		return nil
	}
	if p.staged != p.own {
		p.own.CopyInto(p.staged)
	}
	return c.invoke(prim.ElemwiseAdd.Op, clipNone, c.total, c.total, p.staged)
}

// apply multiplies a part's gradients by the factor.
func (c *clipper) apply(p *clipPart) error {
	factor := c.total
	if p.staged != p.own { // on another device
		c.total.CopyInto(p.own)
		factor = p.own
	}
	if p.half != nil {
		if err := c.invoke(prim.Cast.Op, p.cast, p.half, factor, nil); err != nil {
			return err
		}
		factor = p.half
	}
	for _, g := range p.grads {
		if g == nil {
			continue
		}
		if g.Storage() == nd.RowSparse {
			scaleRows(g, factor)
			continue
		}
		if err := c.invoke(prim.BroadcastMul.Op, clipNone, g, g, factor); err != nil {
			return err
		}
	}
	return nil
}

// scaleRows starts to multiply the rows that a row_sparse gradient stores by a factor, in place: the
// operators that broadcast make it dense.
func scaleRows(g, factor *nd.Array) {
	g.Touch()
	rows, by := g.Stored(), factor.Tensor()
	g.Engine().Push(&engine.Task{Name: "ClipGlobalNorm of rows",
		Uses: []engine.Use{{Var: g.Var(), Access: engine.Update},
			{Var: factor.Var(), Access: engine.Read}},
		Fn: func(*engine.Run) error {
			var v [1]float64
			loop.Load(v[:], by, 0, 1)
			x := rows.Values()
			loop.Map(loop.Func1{F: func(x float64) float64 { return x * v[0] }}, x, x)
			return nil
		}})
}

// invoke starts an operation on a, and on b unless it is nil.
func (c *clipper) invoke(o *op.Op, params any, out, a, b *nd.Array) error {
	c.out, c.in = append(c.out[:0], out), append(c.in[:0], a)
	if b != nil {
		c.in = append(c.in, b)
	}
	if err := nd.InvokeInto(o, params, c.in, c.out); err != nil {
		return fmt.Errorf("ClipGlobalNorm: %w", err)
	}
	return nil
}

// close releases the arrays.
func (c *clipper) close() {
	for _, p := range c.parts {
		closeAll(p.slots)
		p.sums.Close()
		p.own.Close()
		p.staged.Close()
		if p.half != nil {
			p.half.Close()
		}
	}
}
