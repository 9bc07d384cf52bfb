package optest

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gomx/device"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// mostElements is the size of the largest operand that Runs makes.
const mostElements = 1 << 12

// Runs lets an operator run on operands that derive from data, with the kernels of every tier. The
// operands have sizes that are no multiple of a vector, no elements, any element type, NaN, and
// numbers that are no valid index. Runs returns an error if a kernel panics with a value other than
// *op.Error, writes outside of its outputs, or differs from the reference on ordinary numbers.
func Runs(o *op.Op, data []byte) error { return runs(o, &draw{data: data, tame: true}) }

// RunsEmpty is Runs with operands most of which have no elements, and therefore no memory.
func RunsEmpty(o *op.Op, data []byte) error {
	return runs(o, &draw{data: data, tame: true, empty: true})
}

func runs(o *op.Op, d *draw) error {
	attrs := d.attrs(o)
	params, err := o.ParseParams(attrs)
	if err == nil && o.NumGraphs() > 0 {
		params, err = o.Normalize(params) // an error: there are no graphs
	}
	if err != nil {
		return nil
	}
	if o.Variadic {
		params = o.WithCount(params, 1+d.below(3))
	}
	c := &odd{op: o, params: params, train: d.below(2) == 0, wild: d.below(3) == 0}
	if !c.operands(d) {
		return nil
	}
	var ref []op.Tensor
	for _, tier := range tiers(o) {
		out, err := c.run(tier)
		if err != nil {
			return fmt.Errorf("%s with %v, inputs %v, training %v, tier %v: %w", o.Name, attrs,
				c.shapes(), c.train, tier, err)
		}
		if ref == nil {
			ref = out
		}
		for i := range ref {
			if c.wild || out == nil || o.Random || !c.comparable() {
				break
			}
			if diff := Diff(out[i], ref[i], Tolerance{}); diff != "" {
				return fmt.Errorf("%s with %v, inputs %v, training %v, tier %v: output %d: %s",
					o.Name, attrs, c.shapes(), c.train, tier, i, diff)
			}
		}
	}
	return nil
}

// odd is one application of an operator to random operands.
type odd struct {
	op          *op.Op
	params      any
	in          []op.Tensor
	out         []op.Desc
	train, wild bool
}

// consistent lists operators some of whose inputs must be results of another operator from the
// other inputs; on other inputs their kernels may differ.
var consistent = []string{"_backward_Pooling"}

// comparable reports whether outputs are determined by the inputs up to rounding.
func (c *odd) comparable() bool {
	return !slices.Contains(consistent, c.op.Name) &&
		(!c.op.Update || c.in[0].DType == dtype.Float32)
}

func (c *odd) shapes() []string {
	var list []string
	for _, x := range c.in {
		list = append(list, fmt.Sprintf("%v %v", x.DType, x.Shape))
	}
	return list
}

// operands draws shapes and element types, infers the others and fills the inputs; ok is false if
// they do not fit.
func (c *odd) operands(d *draw) (ok bool) {
	defer func() {
		if r := recover(); r != nil {
			if _, misuse := r.(*op.Error); !misuse {
				panic(r)
			}
		}
	}()
	n, m := len(c.op.Inputs(c.params)), len(c.op.Outputs(c.params))
	s := make([]dtype.Shape, n+m)
	for i := range n {
		switch k := d.below(4); {
		case i == 0 || k == 0:
			s[i] = d.small()
		case k == 1:
			s[i] = s[i-1].Clone()
		}
	}
	for range 4 {
		if c.op.InferShape(c.params, s[:n], s[n:]) != nil {
			return false
		}
		for i := range n { // choose the shapes that were not inferred
			if s[i] == nil {
				s[i] = d.small()
				break
			}
			for a, e := range s[i] {
				if e == -1 {
					s[i][a] = 1 + d.below(5)
				}
			}
		}
	}
	types, ok := c.types(d, n, m)
	if !ok {
		return false
	}
	for i, shape := range s {
		if !shape.Known() || shape.Size() > mostElements || !types[i].Valid() {
			return false
		}
		if i >= n {
			c.out = append(c.out, op.Plain(types[i], shape))
			continue
		}
		x := New(types[i], shape...)
		c.fill(d, x, i)
		c.in = append(c.in, x)
	}
	return true
}

// types draws the element types.
func (c *odd) types(d *draw, n, m int) ([]dtype.Type, bool) {
	t, types := d.dtype(), make([]dtype.Type, n+m)
	for i := range types {
		if types[i] = dtype.Unknown; i < n && (i == 0 || d.below(4) != 0) {
			types[i] = t
		}
		if i < n && d.below(8) == 7 {
			types[i] = d.dtype()
		}
	}
	for range 2 {
		if c.op.InferType(c.params, types[:n], types[n:]) != nil {
			return nil, false
		}
		for i := range n {
			if types[i] == dtype.Unknown {
				types[i] = dtype.Float32
			}
		}
	}
	return types, true
}

// fill writes numbers into input i: ordinary numbers, distinct numbers, or any numbers.
func (c *odd) fill(d *draw, x op.Tensor, i int) {
	strange := []float64{0, -1, 1, 3, 100, -1e9, 1e30, math.NaN(), math.Inf(1), math.Inf(-1), 0.5,
		math.Copysign(0, -1)}
	loop.Generate(x, func(k int) float64 {
		if c.wild {
			return strange[d.below(len(strange))]
		}
		v := 0.1 + float64((k*37+i*11+5)%97)/40
		if loop.Exact(x.DType) {
			v = float64((k*7 + i) % 3)
		}
		return v
	})
}

// run runs the kernel of a tier on copies of the inputs; it returns nil if the kernel rejects them.
func (c *odd) run(tier device.Tier) (out []op.Tensor, err error) {
	defer func() {
		if r := recover(); r != nil {
			if e, ok := r.(error); ok && errors.As(e, new(*op.Error)) {
				out, err = nil, nil
				return
			}
			out, err = nil, fmt.Errorf("panics: %v", r)
		}
	}()
	in, inFence := make([]op.Tensor, len(c.in)), make([][]byte, len(c.in))
	for i, x := range c.in {
		in[i], inFence[i] = fenced(x)
	}
	out = make([]op.Tensor, len(c.out))
	outFence := make([][]byte, len(c.out))
	for i, desc := range c.out {
		if out[i], outFence[i] = fenced(New(desc.DType, desc.Shape...)); desc.DType != dtype.Bool {
			poison(rawBytes(out[i]))
		}
	}
	if (Runner{Train: c.train, Seed: op.Seed{Key: 3}, Tier: tier}).call(c.op, c.params, in,
		out) != nil {
		return nil, nil
	}
	for i, x := range in {
		if !intact(x, inFence[i]) {
			return nil, fmt.Errorf("writes outside of input %d", i)
		}
	}
	for i, x := range out {
		if !intact(x, outFence[i]) {
			return nil, fmt.Errorf("writes outside of output %d", i)
		}
	}
	return out, nil
}

// small draws a shape of few elements.
func (d *draw) small() dtype.Shape {
	list := []int{1, 2, 3, 4, 5, 7, 8, 0, 1, 2, 3, 9, 17, 33}
	s := make(dtype.Shape, d.below(6))
	for i := range s {
		if s[i] = list[d.below(len(list))]; i > 2 {
			s[i] = min(s[i], 5)
		}
	}
	if d.empty && len(s) > 0 && d.below(4) > 0 {
		s[d.below(len(s))] = 0
	}
	return s
}
