package prim_test

import (
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/prim"
)

func TestLike(t *testing.T) {
	x := optest.Array(dtype.Bool, []int{2}, 1, 0)
	optest.Run(t, prim.ZerosLike.Op, optest.Case{In: optest.Ops(x),
		Want: optest.Ops(optest.Array(dtype.Bool, []int{2}, 0))})
	optest.Run(t, prim.OnesLike.Op, optest.Case{In: optest.Ops(x),
		Want: optest.Ops(optest.Array(dtype.Bool, []int{2}, 1))})
	optest.Run(t, prim.IdentityWithAttrLike.Op,
		optest.Case{In: optest.Ops(optest.Range(3), optest.Range(3)),
			Want: optest.Ops(optest.Range(3))})
}

func TestAliases(t *testing.T) {
	for alias, name := range map[string]string{"identity": "_copy", "_Plus": "elemwise_add",
		"ElementWiseSum": "add_n", "flatten": "Flatten",
		"split": "SliceChannel", "concat": "Concat", "cast": "Cast", "reshape": "Reshape",
		"crop": "slice", "flip": "reverse",
		"_MulScalar": "_mul_scalar", "sum_axis": "sum", "broadcast_plus": "broadcast_add",
		"swapaxes": "SwapAxis"} {
		if o := op.Lookup(alias); o == nil || o.Name != name {
			t.Errorf("%s: got %v, want %s", alias, o, name)
		}
	}
}
