package prim

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// The functions of the bits of integers.
var (
	BitwiseAnd = op.Declare[op.NoParams]("_npi_bitwise_and")
	BitwiseOr  = op.Declare[op.NoParams]("_npi_bitwise_or")
	BitwiseXor = op.Declare[op.NoParams]("_npi_bitwise_xor")
	BitwiseNot = op.Declare[op.NoParams]("_npi_bitwise_not")
)

func init() {
	for _, r := range []struct {
		op   op.Handle[op.NoParams]
		name string
		what string
		f    func(a, b int64) int64
	}{
		{BitwiseAnd, "BitwiseAnd", "the bits that a and b have",
			func(a, b int64) int64 { return a & b }},
		{BitwiseOr, "BitwiseOr", "the bits that a or b has",
			func(a, b int64) int64 { return a | b }},
		{BitwiseXor, "BitwiseXor", "the bits in which a and b differ",
			func(a, b int64) int64 { return a ^ b }},
	} {
		f := loop.Func2{I: r.f}
		r.op.Define(op.Spec[op.NoParams]{
			Traits: op.Traits{
				Doc: r.name + " computes " + r.what + " for integers or booleans that broadcast: " +
					"aligned at their last axes, extents of one and missing axes repeat.",
				GoName:     r.name,
				Commutes:   true,
				Broadcasts: true,
				NoGrad:     "bits are not differentiated",
			},
			Inputs:    Inputs[op.NoParams]("lhs", "rhs"),
			Infer:     inferBroadcast,
			InferType: bitsType,
			Ref: func(_ op.NoParams, c *op.Call) error {
				loop.Zip(f, c.Out[0], c.In[0], c.In[1])
				return nil
			},
		})
	}
	BitwiseNot.Define(op.Spec[op.NoParams]{
		Traits: op.Traits{
			Doc: "BitwiseNot turns every bit of integers around; booleans become their " +
				"opposites.",
			GoName:  "BitwiseNot",
			Inplace: [][2]int{{0, 0}},
			NoGrad:  "bits are not differentiated",
		},
		Infer:     op.SameShape[op.NoParams],
		InferType: bitsType,
		Ref: func(_ op.NoParams, c *op.Call) error {
			f := loop.Func1{I: func(x int64) int64 { return ^x }}
			if c.In[0].DType == dtype.Bool {
				f.I = func(x int64) int64 { return x ^ 1 }
			}
			loop.Map(f, c.Out[0], c.In[0])
			return nil
		},
	})
}

// bitsType demands one type of integers, or bool, for all operands.
func bitsType(p op.NoParams, in, out []dtype.Type) error {
	if err := op.SameType(p, in, out); err != nil {
		return err
	}
	for _, t := range append(in, out...) {
		if t.IsFloat() {
			return op.Errorf("data", "element type %v, want integers or bool", t)
		}
	}
	return nil
}
