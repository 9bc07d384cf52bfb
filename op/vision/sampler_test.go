package vision_test

import (
	"fmt"
	"math"
	"testing"

	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/vision"
)

func TestBilinearSampler(t *testing.T) {
	x := optest.F([]int{1, 1, 4, 4}, 1, 4, 3, 6, 1, 8, 8, 9, 0, 4, 1, 5, 1, 0, 1, 3)
	zoom := optest.New(x.DType, 1, 2, 4, 4)
	for i, v := range []float32{-2, -2. / 3, 2. / 3, 2} {
		for k := range 4 {
			op.Slice[float32](zoom)[4*k+i], op.Slice[float32](zoom)[16+4*i+k] = v, v
		}
	}
	nan := math.NaN()
	optest.Run(t, vision.BilinearSampler.Op,
		optest.Case{Name: "zoomed out", In: optest.Ops(x, zoom), NoDiff: true,
			Want: optest.Ops(optest.F([]int{1, 1, 4, 4}, 0, 0, 0, 0, 0, 3.5, 6.5, 0, 0, 1.25, 2.5,
				0, 0, 0, 0, 0))},
		optest.Case{Name: "corners", In: optest.Ops(x, optest.F([]int{1, 2, 1, 2}, -1, 1, -1, 1)),
			NoDiff: true,
			Want:   optest.Ops(optest.F([]int{1, 1, 1, 2}, 1, 3))},
		optest.Case{Name: "far away and no number", In: optest.Ops(x, optest.F([]int{1, 2, 1, 2},
			1e20, 0, 0, nan)), NoDiff: true,
			Want: optest.Ops(optest.F([]int{1, 1, 1, 2}, 0, nan))},
		optest.Case{Name: "inside", In: optest.Ops(random(1, 2, 3, 4, 5), optest.Random(2, -0.95,
			0.95, 2, 2, 3, 4))},
		optest.Case{Name: "also outside", In: optest.Ops(random(3, 1, 2, 4, 4),
			optest.Random(4, -1.9, 1.9, 1, 2, 3, 3))},
		optest.Case{Name: "half", NoDiff: true, In: optest.Ops(half(x),
			half(optest.F([]int{1, 2, 1, 1}, 0))),
			Want: optest.Ops(half(optest.F([]int{1, 1, 1, 1}, 5.25)))})
	runHidden(t, "_backward_BilinearSampler", "", random(1, 2, 3, 2, 2), random(2, 2, 3, 4, 5),
		random(3, 2, 2, 2, 2))
}

// A grid that reads the middle of four elements.
func ExampleBilinearSamplerParams() {
	x := op.TensorOf([]float32{1, 2, 3, 4}, 1, 1, 2, 2)
	grid := op.TensorOf([]float32{0, 0}, 1, 2, 1, 1)
	out, err := optest.Runner{}.Apply(vision.BilinearSampler.Op, vision.BilinearSamplerParams{},
		[]op.Tensor{x, grid})
	if err != nil {
		panic(err)
	}
	fmt.Println(op.Slice[float32](out[0]))
	// Output: [2.5]
}
