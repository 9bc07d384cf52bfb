package vision_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/vision"
)

func TestIm2Col(t *testing.T) {
	type P = vision.Im2ColParams
	optest.Run(t, vision.Im2Col.Op, optest.Case{Name: "one axis", Params: P{Kernel: []int{2}},
		In: optest.Ops(optest.Range(1, 1, 4)), Want: optest.Ops(optest.F([]int{1, 2, 3}, 0, 1,
			2, 1, 2, 3))},
		optest.Case{Name: "padding", Params: P{Kernel: []int{2}, Pad: []int{1}, Stride: []int{2}},
			In:   optest.Ops(optest.F([]int{1, 1, 3}, 5, 6, 7)),
			Want: optest.Ops(optest.F([]int{1, 2, 2}, 0, 6, 5, 7))},
		optest.Case{Name: "two axes", Params: P{Kernel: []int{3, 2}, Stride: []int{2, 1},
			Dilate: []int{1, 2}, Pad: []int{1, 2}}, In: optest.Ops(random(1, 2, 3, 5, 6))},
		optest.Case{Name: "three axes", Params: P{Kernel: []int{1, 2, 2}, Stride: []int{1, 1, 2}},
			In: optest.Ops(random(1, 1, 2, 2, 3, 4))},
		optest.Case{Name: "half", Params: P{Kernel: []int{2, 2}},
			In: optest.Ops(half(random(1, 1, 1, 3, 3)))})
	runHidden(t, "_backward_im2col", "kernel=(2,2); pad=(1,0)", random(1, 1, 8, 6),
		random(2, 1, 2, 2, 3))
}

func TestCol2Im(t *testing.T) {
	type P = vision.Col2ImParams
	optest.Run(t, vision.Col2Im.Op,
		optest.Case{Name: "shared elements", Params: P{OutputSize: []int{4}, Kernel: []int{2}},
			In:   optest.Ops(optest.F([]int{1, 2, 3}, 0, 1, 2, 1, 2, 3)),
			Want: optest.Ops(optest.F([]int{1, 1, 4}, 0, 2, 4, 3))},
		optest.Case{Name: "two axes", Params: P{OutputSize: []int{4, 5}, Kernel: []int{2, 3},
			Stride: []int{2, 1}, Pad: []int{1, 1}}, In: optest.Ops(random(1, 2, 12, 15))})
}

// TestIm2ColAgainstOracle looks every element of the columns up in a padded image.
func TestIm2ColAgainstOracle(t *testing.T) {
	const seed = 5
	rng := rand.New(rand.NewPCG(seed, 0))
	two := func(least, most int) []int {
		return []int{least + rng.IntN(most), least + rng.IntN(most)}
	}
	for round := range 60 {
		p := vision.Im2ColParams{Kernel: two(1, 3), Stride: two(1, 3), Dilate: two(1, 3),
			Pad: two(0, 3)}
		h, w := 7+rng.IntN(4), 7+rng.IntN(4)
		x := random(uint64(round), 1, 2, h, w)
		out, err := optest.Runner{}.Apply(vision.Im2Col.Op, p, optest.Ops(x))
		if err != nil {
			t.Fatal(err)
		}
		rows := (h+2*p.Pad[0]-(p.Kernel[0]-1)*p.Dilate[0]-1)/p.Stride[0] + 1
		cols := (w+2*p.Pad[1]-(p.Kernel[1]-1)*p.Dilate[1]-1)/p.Stride[1] + 1
		k := p.Kernel[0] * p.Kernel[1]
		want := optest.New(x.DType, 1, 2*k, rows*cols)
		loop.Generate(want, func(i int) float64 {
			pos, tap, c := i%(rows*cols), i/(rows*cols)%k, i/(rows*cols)/k
			y := pos/cols*p.Stride[0] + tap/p.Kernel[1]*p.Dilate[0] - p.Pad[0]
			z := pos%cols*p.Stride[1] + tap%p.Kernel[1]*p.Dilate[1] - p.Pad[1]
			if y < 0 || y >= h || z < 0 || z >= w {
				return 0
			}
			return float64(op.Slice[float32](x)[(c*h+y)*w+z])
		})
		if d := optest.Diff(out[0], want, optest.Tolerance{}); d != "" {
			t.Fatalf("seed %d, round %d, %s: %s", seed, round, fmt.Sprintf("%+v", p), d)
		}
	}
}
