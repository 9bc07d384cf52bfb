package contrib_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/contrib"
)

func TestCountSketch(t *testing.T) {
	optest.Run(t, contrib.CountSketch.Op, optest.Case{Name: "values",
		Params: contrib.CountSketchParams{OutDim: 2}, Const: []int{1, 2},
		In: optest.Ops(optest.F([]int{2, 3}, 1, 2, 3, 4, 5, 6), optest.F([]int{1, 3}, 1, 0, 1),
			optest.F([]int{1, 3}, 1, -1, -1)),
		Want: optest.Ops(optest.F([]int{2, 2}, -2, -2, -5, -2))})
}

// TestCountSketchAgainstMatrix: a sketch is the product with a matrix of one sign for each row.
func TestCountSketchAgainstMatrix(t *testing.T) {
	for seed := range uint64(5) {
		rng := rand.New(rand.NewPCG(seed, 0))
		n, out := 1+rng.IntN(9), 1+rng.IntN(5)
		x := optest.Random(seed, -1, 1, 2, 1, 3, n)
		h, s := optest.F([]int{1, n}, make([]float64, n)...), optest.F([]int{1, n}, make([]float64, n)...)
		matrix := make([]float64, n*out)
		for i := range n {
			k, sign := rng.IntN(out), 2*rng.IntN(2)-1
			op.Slice[float32](h)[i], op.Slice[float32](s)[i] = float32(k), float32(sign)
			matrix[i*out+k] = float64(sign)
		}
		want := make([]float64, 6*out)
		for i, v := range op.Slice[float32](x) {
			for k := range out {
				want[i/n*out+k] += float64(v) * matrix[i%n*out+k]
			}
		}
		optest.Run(t, contrib.CountSketch.Op, optest.Case{
			Params: contrib.CountSketchParams{OutDim: out}, In: optest.Ops(x, h, s),
			Const: []int{1, 2}, Want: optest.Ops(optest.F([]int{2, 1, 3, out}, want...))})
	}
}

func TestCountSketchErrors(t *testing.T) {
	p, err := contrib.CountSketch.Normalize(contrib.CountSketchParams{OutDim: 2})
	if err != nil {
		t.Fatal(err)
	}
	_, err = optest.Runner{}.Apply(contrib.CountSketch.Op, p, optest.Ops(optest.F([]int{1, 2}, 1, 2),
		optest.F([]int{1, 2}, 0, 2), optest.F([]int{1, 2}, 1, 1)))
	if want := "h: element 1 is 2, want 0 to 1"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got error %v, want %q", err, want)
	}
}
