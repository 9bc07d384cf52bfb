package graph_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gomx/dtype"
	"gomx/graph"
	"gomx/op"
	"gomx/op/prim"
	sym "gomx/symbol"
)

func transpose(x *sym.Symbol, axes ...int) *sym.Symbol {
	return sym.Transpose(x, sym.TransposeParams{Axes: axes})
}

// lastConv is a convolution of an array with channels last, as importers of such models write it,
// with a scale and a shift of the channels.
func lastConv(x *sym.Symbol, filters int, name string) *sym.Symbol {
	y := sym.Convolution(transpose(x, 0, 3, 1, 2), sym.ConvolutionParams{Kernel: []int{3, 3},
		Pad: []int{1, 1}, NumFilter: filters, NoBias: true}, sym.Name(name))
	y = transpose(y, 0, 2, 3, 1)
	y = sym.BroadcastAdd(y, sym.Var(name+"_shift", sym.Shape(1, 1, 1, filters)))
	return sym.BroadcastMul(y, sym.Var(name+"_scale", sym.Shape(filters)))
}

// TestTranspositionsAroundConvolutionsCancel: of a residual network with channels last, the first
// and the last transposition stay, and every function of channels becomes part of a convolution.
func TestTranspositionsAroundConvolutionsCancel(t *testing.T) {
	x := sym.Relu(lastConv(sym.Var("data"), 16, "a"))
	y := sym.Relu(lastConv(x, 16, "b"))
	z := sym.Relu(sym.BroadcastAdd(x, lastConv(y, 16, "c")))
	want, got := inferred(t, z, dtype.Shape{2, 8, 7, 4}, nil, func(ex *sym.Executor) {
		for pass, n := range map[string]int{"fold-affine": 6, "fuse-sum": 1, "fuse-activation": 3} {
			if got := changesOf(t, ex, pass); got != n {
				t.Errorf("pass %s makes %d changes, want %d", pass, got, n)
			}
		}
	})
	alike(t, got, want)
	outs := cancelled(t, z, dtype.Shape{2, 8, 7, 4})
	if n := transpositions(outs); n != 2 {
		t.Errorf("%d transpositions stay, want those of the data and of the result", n)
	}
}

// cancelled applies the pass to a network for data of a shape.
func cancelled(t *testing.T, net *sym.Symbol, data dtype.Shape) []op.Entry {
	t.Helper()
	outs, _, _, err := graph.Apply(graph.CancelTranspositions, net.Entries(),
		factsFor(t, net.Entries(), data))
	if err != nil {
		t.Fatal(err)
	}
	return outs
}

func transpositions(outs []op.Entry) (n int) {
	for _, m := range op.Topo(outs) {
		if m.Op == prim.Transpose.Op {
			n++
		}
	}
	return n
}

// TestRegionsNeverGainTranspositions: random functions between random transpositions give the same
// results, and no graph has more transpositions than before.
func TestRegionsNeverGainTranspositions(t *testing.T) {
	less := 0
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 9))
		values, made := []*sym.Symbol{sym.Var("data")}, 0
		pick := func() *sym.Symbol { return values[max(0, len(values)-1-rng.IntN(3))] }
		for range 12 {
			x := pick()
			switch rng.IntN(5) {
			case 0:
				x = transpose(x, [][]int{{1, 0, 2}, {2, 1, 0}, {1, 2, 0},
					{2, 0, 1}}[rng.IntN(4)]...)
			case 1:
				x = sym.Relu(x)
			case 2:
				x = sym.BroadcastAdd(x, pick())
			case 3:
				shape := []dtype.Shape{{4}, {4, 1}, {4, 1, 1}, {1}}[rng.IntN(4)]
				made++
				x = sym.BroadcastMul(sym.Var(fmt.Sprint("by", made), sym.Shape(shape...)), x)
			case 4:
				x = sym.Softmax(x, sym.SoftmaxParams{})
			}
			values = append(values, x)
		}
		net := sym.Group(values[len(values)-1], values[len(values)-2])
		data := dtype.Shape{4, 4, 4}
		before, after := transpositions(net.Entries()), transpositions(cancelled(t, net, data))
		if after > before {
			t.Errorf("seed %d: %d transpositions, %d before", seed, after, before)
		} else if after < before {
			less++
		}
		want, got := inferred(t, net, data, nil, func(*sym.Executor) {})
		alike(t, got, want)
	}
	if less < 5 {
		t.Errorf("%d of 60 graphs have fewer transpositions than before", less)
	}
}
