package contrib

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// CountSketchParams configures CountSketch.
type CountSketchParams struct {
	OutDim    int `op:"out_dim,required" min:"1" doc:"extent of the last axis of the output"`
	BatchSize int `op:"processing_batch_size" default:"32" min:"1" doc:"accepted for compatibility, without effect"`
}

// CountSketch projects vectors to fewer dimensions by hashing.
var CountSketch = op.Declare[CountSketchParams]("_contrib_count_sketch")

// sketchGrad is the gradient of CountSketch: from the gradient of the output, h and s to the
// gradient of data.
var sketchGrad = op.Declare[CountSketchParams]("_backward_contrib_count_sketch")

func init() {
	CountSketch.Define(op.Spec[CountSketchParams]{
		Traits: op.Traits{
			Doc: `ContribCountSketch is the count sketch of the vectors along the last axis.

Element i of a vector is multiplied by s[i], which is 1 or -1, and added to element h[i] of the
output: out[..., h[i]] += s[i]·data[..., i]. h and s have shape (1, n) for vectors of n elements,
and h lies between 0 and out_dim-1. Gradients flow to data only.`,
		},
		Inputs: func(CountSketchParams) []op.Input {
			return []op.Input{{Name: "data"}, {Name: "h"}, {Name: "s"}}
		},
		Infer: func(p CountSketchParams, in, out []dtype.Shape) error {
			return p.infer("data", &in[0], "output", &out[0], in[1:])
		},
		InferType: op.FloatType[CountSketchParams],
		FLOPs: func(_ CountSketchParams, in, _ []dtype.Shape) int64 {
			return 2 * int64(in[0].Size())
		},
		Grad: func(g *op.Grad, p CountSketchParams) []op.Entry {
			return []op.Entry{sketchGrad.Apply(p, g.Head(0), g.In(1), g.In(2)), {}, {}}
		},
		Ref: func(p CountSketchParams, c *op.Call) error {
			x, y := loop.Floats(c.In[0]), make([]float64, c.Out[0].Shape.Size())
			err := p.each(c, len(x), func(i, k int, s float64) { y[k] += s * x[i] })
			if err == nil {
				loop.Store(c.Out[0], 0, y)
			}
			return err
		},
	})
	sketchGrad.Define(op.Spec[CountSketchParams]{
		Traits: op.Traits{Hidden: true},
		Inputs: func(CountSketchParams) []op.Input {
			return []op.Input{{Name: "out_grad"}, {Name: "h"}, {Name: "s"}}
		},
		Infer: func(p CountSketchParams, in, out []dtype.Shape) error {
			return p.infer("gradient", &out[0], "out_grad", &in[0], in[1:])
		},
		InferType: op.FloatType[CountSketchParams],
		Grad: func(g *op.Grad, p CountSketchParams) []op.Entry {
			return []op.Entry{CountSketch.Apply(p, g.Head(0), g.In(1), g.In(2)), {}, {}}
		},
		Ref: func(p CountSketchParams, c *op.Call) error {
			dy, dx := loop.Floats(c.In[0]), make([]float64, c.Out[0].Shape.Size())
			err := p.each(c, len(dx), func(i, k int, s float64) { dx[i] = s * dy[k] })
			if err == nil {
				loop.Store(c.Out[0], 0, dx)
			}
			return err
		},
	})
}

// infer infers that long and short agree but for the last axis, which has as many elements as the
// hashes there and OutDim here.
func (p CountSketchParams) infer(longName string, long *dtype.Shape, shortName string,
	short *dtype.Shape, hashes []dtype.Shape) error {
	n := -1
	for i, name := range []string{"h", "s"} {
		if err := op.Require(name, &hashes[i], dtype.Shape{1, -1}); err != nil {
			return err
		}
		n = max(n, hashes[i][1])
	}
	for _, pair := range []struct {
		from, name string
		src, dst   *dtype.Shape
		last       *int
	}{{shortName, longName, short, long, &n}, {longName, shortName, long, short, &p.OutDim}} {
		s := *pair.src
		if s == nil {
			continue
		}
		if len(s) == 0 {
			return op.Errorf(pair.from, "shape (), want at least one axis")
		}
		want := s.Clone()
		want[len(want)-1] = *pair.last
		if err := op.Require(pair.name, pair.dst, want); err != nil {
			return err
		}
	}
	if *long != nil {
		want := dtype.Shape{1, lastExtent(*long)}
		for i, name := range []string{"h", "s"} {
			if err := op.Require(name, &hashes[i], want); err != nil {
				return err
			}
		}
	}
	return nil
}

// each visits n elements of vectors of the length of the hashes: f gets the index of an element, of
// its place in the sketch, and its sign.
func (p CountSketchParams) each(c *op.Call, n int, f func(i, k int, s float64)) error {
	h, s := loop.Ints(c.In[1]), loop.Floats(c.In[2])
	for i, v := range h {
		if v < 0 || v >= int64(p.OutDim) {
			return op.Errorf("h", "element %d is %d, want 0 to %d", i, v, p.OutDim-1)
		}
	}
	for i := range n {
		j := i % len(h)
		f(i, i/len(h)*p.OutDim+int(h[j]), s[j])
	}
	return nil
}
