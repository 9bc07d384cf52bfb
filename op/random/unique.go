package random

import (
	"math"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/prim"
)

// UniqueZipfianParams are the parameters of UniqueZipfian.
type UniqueZipfianParams struct {
	RangeMax int   `op:"range_max,required" min:"1" doc:"number of classes"`
	Shape    []int `op:"shape" doc:"(batch, classes that each element of the batch draws)"`
}

// UniqueZipfian draws classes by their rank, without replacement.
var UniqueZipfian = op.Declare[UniqueZipfianParams]("_sample_unique_zipfian")

func init() {
	UniqueZipfian.Define(op.Spec[UniqueZipfianParams]{
		Traits: op.Traits{
			Doc: `SampleUniqueZipfian draws classes by Zipf's law, each row without replacement.

A class from 0 to range_max-1 is drawn as exp(u·log(range_max)) - 1, rounded, for uniform u, until a row has as many
different ones as it needs. The outputs, of type int64, are the classes in the order of drawing
and how many draws each row took.`,
			Random: true,
			Multi:  true,
			NoGrad: "classes have no gradient",
		},
		Inputs:  prim.Inputs[UniqueZipfianParams](),
		Outputs: func(UniqueZipfianParams) []string { return []string{"output0", "output1"} },
		Infer:   inferUniqueZipfian,
		InferType: func(_ UniqueZipfianParams, _, out []dtype.Type) error {
			for i := range out {
				if err := setType(&out[i], op.Some(dtype.Int64), dtype.Int64); err != nil {
					return err
				}
			}
			return nil
		},
		Ref: uniqueZipfian,
	})
}

func inferUniqueZipfian(p UniqueZipfianParams, _, out []dtype.Shape) error {
	want := dtype.Shape{-1, -1}
	if len(p.Shape) > 0 {
		if want = dtype.Shape(p.Shape).Clone(); len(want) != 2 {
			return op.Errorf("shape", "%v, want two extents", want)
		}
	}
	if err := op.Require("output0", &out[0], want); err != nil {
		return err
	}
	if n := out[0][1]; n > p.RangeMax {
		return op.Errorf("shape", "%d different numbers of %d classes", n, p.RangeMax)
	}
	if err := op.Require("output1", &out[1], out[0][:1]); err != nil {
		return err
	}
	out[0][0] = out[1][0]
	return nil
}

func uniqueZipfian(p UniqueZipfianParams, c *op.Call) error {
	rows, each := c.Out[0].Shape[0], c.Out[0].Shape[1]
	logarithm := math.Log(float64(p.RangeMax))
	classes, draws := make([]int64, 0, rows*each), make([]int64, rows)
	for row := range rows {
		s, drawn := source{seed: c.Seed, index: row}, make(map[int64]bool, each)
		for len(drawn) < each {
			v := int64(math.Round(math.Exp(s.unit()*logarithm))) - 1
			if !drawn[v] {
				drawn[v] = true
				classes = append(classes, v)
			}
			draws[row]++
		}
	}
	for k, list := range [][]int64{classes, draws} {
		if c.Out[k].Data != nil {
			loop.StoreInt(c.Out[k], 0, list)
		}
	}
	return nil
}
