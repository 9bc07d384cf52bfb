package index

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/prim"
)

// Functions of MXNet's first interface, for one element of each row.
var (
	FillElement  = op.Declare[op.NoParams]("fill_element_0index")
	OneHotEncode = op.Declare[op.NoParams]("_onehot_encode")
)

const onlyArrays = "in MXNet it is a function of arrays without gradient"

func init() {
	FillElement.Define(op.Spec[op.NoParams]{
		Traits: op.Traits{
			Doc: "FillElement0index is the matrix lhs with one element of every row replaced: " +
				"element rhs[i] of row i becomes mhs[i]. An index out of range replaces none.",
			NoGrad:  onlyArrays,
			Inplace: [][2]int{{0, 0}},
			Moves:   true,
		},
		Inputs: prim.Inputs[op.NoParams]("lhs", "mhs", "rhs"),
		Infer: func(p op.NoParams, in, out []dtype.Shape) error {
			if err := op.Require("lhs", &in[0], dtype.Shape{-1, -1}); err != nil {
				return err
			}
			if err := op.SameShape(p, in[:1], out); err != nil {
				return err
			}
			rows := dtype.Shape{in[0][0]}
			for range 2 {
				for i, name := range []string{"mhs", "rhs"} {
					if err := op.Require(name, &in[1+i], rows); err != nil {
						return err
					}
					rows = in[1+i].Clone()
				}
			}
			in[0][0], out[0][0] = rows[0], rows[0]
			return nil
		},
		InferType: func(p op.NoParams, in, out []dtype.Type) error {
			return op.SameType(p, in[:2], out)
		},
		Ref: func(_ op.NoParams, c *op.Call) error {
			loop.Move(c.Out[0], c.In[0])
			eachRow(c.In[2], c.Out[0].Shape, func(row, at int) {
				copyRun(c.Out[0], at, c.In[1], row, 1)
			})
			return nil
		},
	})
	OneHotEncode.Define(op.Spec[op.NoParams]{
		Traits: op.Traits{
			Doc: "OnehotEncode is a matrix of the shape and element type of rhs: row i is one " +
				"at the index lhs[i] and zero elsewhere; zero everywhere for an index out of range.",
			NoGrad:  onlyArrays,
			Ignores: []int{1},
			Moves:   true,
		},
		Inputs: prim.Inputs[op.NoParams]("lhs", "rhs"),
		Infer: func(p op.NoParams, in, out []dtype.Shape) error {
			if err := op.Require("rhs", &in[1], dtype.Shape{-1, -1}); err != nil {
				return err
			}
			if err := op.SameShape(p, in[1:], out); err != nil {
				return err
			}
			if err := op.Require("lhs", &in[0], in[1][:1]); err != nil {
				return err
			}
			in[1][0], out[0][0] = in[0][0], in[0][0]
			return nil
		},
		InferType: func(p op.NoParams, in, out []dtype.Type) error {
			return op.SameType(p, in[1:], out)
		},
		Ref: func(_ op.NoParams, c *op.Call) error {
			loop.Clear(c.Out[0])
			eachRow(c.In[0], c.Out[0].Shape, func(_, at int) {
				loop.Store(c.Out[0], at, []float64{1})
			})
			return nil
		},
	})
}

// eachRow calls f for each row of a matrix whose index is in range, with the place of its element.
func eachRow(index op.Tensor, matrix dtype.Shape, f func(row, at int)) {
	columns := matrix[1]
	for row, k := range loop.Ints(index) {
		if k >= 0 && k < int64(columns) {
			f(row, row*columns+int(k))
		}
	}
}
