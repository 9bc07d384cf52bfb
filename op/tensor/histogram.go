package tensor

import (
	"slices"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/prim"
)

// HistogramParams are the parameters of Histogram.
type HistogramParams struct {
	BinCnt op.Opt[int] `op:"bin_cnt" doc:"number of bins of equal width; None: the input bins gives their edges"`
	Range  []float64   `op:"range" doc:"lower edge of the first and upper edge of the last bin; with bin_cnt"`
}

// Histogram counts elements by bins.
var Histogram = op.Declare[HistogramParams]("_histogram")

func init() {
	Histogram.Define(op.Spec[HistogramParams]{
		Traits: op.Traits{
			Doc: "Histogram counts how many elements fall into each bin and returns the counts, " +
				"of type int64, and the edges. A bin contains its lower edge; the last one its " +
				"upper edge too.",
			Aliases: []string{"_npi_histogram"},
			Multi:   true,
		},
		Inputs: func(p HistogramParams) []op.Input {
			if p.BinCnt.IsSet() {
				return []op.Input{{Name: "data"}}
			}
			return []op.Input{{Name: "data"}, {Name: "bins"}}
		},
		Outputs: func(HistogramParams) []string { return []string{"output0", "output1"} },
		Infer:   inferHistogram,
		InferType: func(p HistogramParams, in, out []dtype.Type) error {
			if err := setType(&out[0], dtype.Int64); err != nil {
				return err
			}
			return op.SameType(p, in, out[1:])
		},
		Grad: prim.ZeroGrad[HistogramParams],
		Ref:  histogram,
	})
}

func inferHistogram(p HistogramParams, in, out []dtype.Shape) error {
	if n, ok := p.BinCnt.Get(); ok {
		if n < 1 || len(p.Range) != 2 || !(p.Range[0] < p.Range[1]) {
			return op.Errorf("range", "%v for %d bins, want two ascending numbers and at least "+
				"one bin", p.Range, n)
		}
		if err := op.Require("output0", &out[0], dtype.Shape{n}); err != nil {
			return err
		}
		return op.Require("output1", &out[1], dtype.Shape{n + 1})
	}
	edges := dtype.Shape{-1}
	for _, s := range []dtype.Shape{in[1], out[1]} {
		if err := op.Require("bins", &edges, s); err != nil {
			return err
		}
	}
	if len(out[0]) == 1 && out[0][0] != -1 {
		if err := op.Require("bins", &edges, dtype.Shape{out[0][0] + 1}); err != nil {
			return err
		}
	}
	in[1], out[1] = edges.Clone(), edges.Clone()
	if edges[0] == -1 {
		return op.Require("output0", &out[0], edges)
	}
	return op.Require("output0", &out[0], dtype.Shape{edges[0] - 1})
}

func histogram(p HistogramParams, c *op.Call) error {
	var edges []float64
	if n, ok := p.BinCnt.Get(); ok {
		for i := range n + 1 {
			edges = append(edges, p.Range[0]+(p.Range[1]-p.Range[0])*float64(i)/float64(n))
		}
	} else {
		edges = loop.Floats(c.In[1])
	}
	counts := make([]int64, max(0, len(edges)-1))
	for _, v := range loop.Floats(c.In[0]) {
		i, hit := slices.BinarySearch(edges, v)
		if !hit || i == len(counts) {
			i--
		}
		if i >= 0 && i < len(counts) && v <= edges[len(counts)] {
			counts[i]++
		}
	}
	if c.Out[0].Data != nil {
		loop.StoreInt(c.Out[0], 0, counts)
	}
	if c.Out[1].Data != nil {
		loop.Store(c.Out[1], 0, edges)
	}
	return nil
}
