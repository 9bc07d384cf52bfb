package loop_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// TestCopyAgainstOracle copies random transposed, reversed and repeated views and compares with
// index arithmetic.
func TestCopyAgainstOracle(t *testing.T) {
	const seed = 11
	rng := rand.New(rand.NewPCG(seed, 0))
	for round := range 300 {
		rank := rng.IntN(5)
		shape := make(dtype.Shape, rank)
		for i := range shape {
			shape[i] = rng.IntN(4)
		}
		dense := shape.Strides()
		st := slices.Clone(dense)
		off := 0
		for i := range st {
			switch rng.IntN(3) {
			case 0:
				st[i] = 0
			case 1:
				off += st[i] * max(0, shape[i]-1)
				st[i] = -st[i]
			}
		}
		src, dst := make([]int32, max(1, shape.Size())), make([]int32, shape.Size())
		for i := range src {
			src[i] = int32(i)
		}
		out := op.Tensor{Desc: op.Plain(dtype.Int32, shape), Data: op.TensorOf(dst).Data}
		loop.Copy(shape, loop.Dense(out), loop.View{Tensor: op.TensorOf(src), Off: off,
			Strides: st})
		for i := range dst {
			want := off
			for a, rest := rank-1, i; a >= 0; a-- {
				want += rest % shape[a] * st[a]
				rest /= shape[a]
			}
			if int(dst[i]) != want {
				t.Fatalf("seed %d, round %d, shape %v, strides %v: element %d: got %d, want %d",
					seed, round, shape, st, i, dst[i], want)
			}
		}
	}
}

func TestCopySizes(t *testing.T) {
	for _, typ := range []dtype.Type{dtype.Bool, dtype.Float16, dtype.Float32, dtype.Float64} {
		x, y := blank(typ, 5), blank(typ, 5)
		loop.Fill(x, 1)
		loop.Move(y, x)
		if got := loop.Floats(y); !slices.Equal(got, []float64{1, 1, 1, 1, 1}) {
			t.Errorf("%v: got %v", typ, got)
		}
		loop.Clear(y)
		if got := loop.Floats(y); slices.Max(got) != 0 {
			t.Errorf("%v after Clear: got %v", typ, got)
		}
	}
}

func ExampleCopy() {
	x := op.TensorOf([]int32{1, 2, 3, 4, 5, 6}, 2, 3)
	y := op.TensorOf(make([]int32, 6), 3, 2)
	loop.Copy(y.Shape, loop.Dense(y), loop.View{Tensor: x, Strides: []int{1, 3}})
	fmt.Println(op.Slice[int32](y))
	// Output: [1 4 2 5 3 6]
}
