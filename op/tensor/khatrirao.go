package tensor

import (
	"strconv"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// KhatriRaoParams are the parameters of KhatriRao.
type KhatriRaoParams struct {
	NumArgs int `op:"num_args,auto" max:"16384" doc:"number of inputs"`
}

// KhatriRao multiplies matrices column by column.
var KhatriRao = op.Declare[KhatriRaoParams]("khatri_rao")

func init() {
	KhatriRao.Define(op.Spec[KhatriRaoParams]{
		Traits: op.Traits{
			Doc: "KhatriRao computes the Khatri-Rao product of matrices with equally many " +
				"columns: column j of the output is the Kronecker product of the columns j of " +
				"the inputs.",
			Variadic:  true,
			NoGrad:    "as in MXNet, it is not provided",
			Precision: op.Wide,
		},
		Inputs: func(p KhatriRaoParams) []op.Input { return args(p.NumArgs) },
		Infer:  inferKhatriRao,
		Ref:    khatriRao,
	})
}

// args names the inputs of variadic operators as MXNet does.
func args(n int) []op.Input {
	in := make([]op.Input, n)
	for i := range in {
		in[i].Name = "arg" + strconv.Itoa(i)
	}
	return in
}

func inferKhatriRao(_ KhatriRaoParams, in, out []dtype.Shape) error {
	rows, cols := 1, dtype.Shape{-1}
	for _, s := range append(append([]dtype.Shape{}, in...), out...) {
		if s == nil {
			continue
		}
		if len(s) != 2 {
			return op.Errorf("arg", "shape %v, want a matrix", s)
		}
		m, ok := cols.Merge(s[1:])
		if !ok {
			return op.Errorf("arg", "%d columns, want %d", s[1], cols[0])
		}
		cols = m
	}
	for i := range in {
		if err := op.Require("arg", &in[i], dtype.Shape{-1, cols[0]}); err != nil {
			return err
		}
		rows = dtype.Shape{rows, in[i][0]}.Size()
		if rows == -1 {
			return op.Require("output", &out[0], dtype.Shape{-1, cols[0]})
		}
	}
	return op.Require("output", &out[0], dtype.Shape{rows, cols[0]})
}

func khatriRao(_ KhatriRaoParams, c *op.Call) error {
	out := c.Out[0]
	cols := out.Shape[1]
	all := make([][]float64, len(c.In))
	for i, t := range c.In {
		all[i] = loop.Floats(t)
	}
	loop.Generate(out, func(i int) float64 {
		row, col, v := i/cols, i%cols, 1.0
		for k := len(all) - 1; k >= 0; k-- {
			n := c.In[k].Shape[0]
			v *= all[k][row%n*cols+col]
			row /= n
		}
		return v
	})
	return nil
}
