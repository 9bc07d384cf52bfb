package graph_test

import (
	"fmt"
	"testing"

	"gomx/device"
	"gomx/dtype"
	"gomx/graph"
	"gomx/op"
	"gomx/op/nn"
	"gomx/op/prim"
)

// TestKeepCasts looks which conversions of a GPU's graph are kept, and which become one operator.
func TestKeepCasts(t *testing.T) {
	for _, c := range []struct {
		on         device.Device
		together   bool
		kept, many int // places that KeepCasts and JoinCasts change
		want       string
	}{
		{device.CUDA(0), false, 2, 0, "Cast:3 _kept_cast:2"},
		{device.CUDA(0), true, 2, 2, "Cast:1 _casts:1 _kept_casts:1"},
		{device.CPU(), true, 0, 0, "Cast:5"},
	} {
		outs, f := castGraph()
		f.Device, f.Mixed.Together = c.on, c.together
		kept, made := graph.KeepCasts(outs, f)
		joined, many := graph.JoinCasts(kept, f)
		if made != c.kept || many != c.many {
			t.Errorf("%v, together %v: %d kept and %d joined, want %d and %d", c.on, c.together, made,
				many, c.kept, c.many)
		}
		if got := countCasts(joined); got != c.want {
			t.Errorf("%v, together %v: operators %s, want %s", c.on, c.together, got, c.want)
		}
		for i, e := range joined {
			if f.Types[e] != f.Types[outs[i]] || !f.Shapes[e].Equal(f.Shapes[outs[i]]) {
				t.Errorf("output %d is %v %v, want %v %v", i, f.Types[e], f.Shapes[e],
					f.Types[outs[i]], f.Shapes[outs[i]])
			}
		}
	}
}

// castGraph computes, in bfloat16, data·weight with another weight added, and converted products as
// gradients of both weights. The data are converted too.
func castGraph() ([]op.Entry, *graph.Facts) {
	f := &graph.Facts{Forward: 1, Mixed: &graph.Mixed{Type: dtype.BFloat16,
		Learned: func(v *op.Node) bool { return v.Name != "data" }}}
	shape := dtype.Shape{2, 2}
	cast := func(e op.Entry, to dtype.Type) op.Entry {
		c := prim.Cast.Apply(prim.CastParams{DType: to}, e)
		f.Set(c, shape, to)
		return c
	}
	var narrow []op.Entry
	for _, name := range []string{"data", "a", "b"} {
		v := op.Var(name).Entry(0)
		f.Set(v, shape, dtype.Float32)
		narrow = append(narrow, cast(v, dtype.BFloat16))
	}
	layer := func(data, weight op.Entry) op.Entry { return product(f, data, weight) }
	x := layer(layer(narrow[0], narrow[1]), narrow[2])
	grads := []op.Entry{layer(x, narrow[1]), layer(x, narrow[2])}
	return []op.Entry{x, cast(grads[0], dtype.Float32), cast(grads[1], dtype.Float32)}, f
}

// countCasts lists the conversions of a graph by operator.
func countCasts(outs []op.Entry) (text string) {
	count := map[*op.Op]int{}
	for _, n := range op.Topo(outs) {
		if !n.IsVar() {
			count[n.Op]++
		}
	}
	for _, o := range []*op.Op{prim.Cast.Op, prim.Casts.Op, prim.KeptCast.Op, prim.KeptCasts.Op} {
		if count[o] > 0 {
			text += fmt.Sprintf(" %s:%d", o.Name, count[o])
		}
	}
	return text[1:]
}

// product is a product with a parameter.
func product(f *graph.Facts, data, weight op.Entry) op.Entry {
	e := nn.FullyConnected.Apply(nn.FullyConnectedParams{NumHidden: 2, NoBias: true}, data, weight)
	f.Set(e, dtype.Shape{2, 2}, dtype.BFloat16)
	return e
}
