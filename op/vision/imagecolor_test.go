package vision_test

import (
	"math"
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/vision"
)

// picture has two rows and two columns of red, green and blue.
var picture = []float64{10, 200, 30, 255, 0, 128, 90, 91, 92, 40, 40, 250}

var pictureShape = []int{2, 2, 3}

// colorCases returns a case for bytes and a case for floats; the wanted values are MXNet's.
func colorCases(name string, params any, bytes, floats []float64) []optest.Case {
	return []optest.Case{
		{Name: name + ", bytes", Params: params, NoDiff: true,
			In:   optest.Ops(optest.Array(dtype.Uint8, pictureShape, picture...)),
			Want: optest.Ops(optest.Array(dtype.Uint8, pictureShape, bytes...))},
		{Name: name + ", floats", Params: params, NoDiff: true,
			In:   optest.Ops(optest.F(pictureShape, picture...)),
			Want: optest.Ops(optest.F(pictureShape, floats...))},
	}
}

func factor(v float64) vision.RandomFactorParams {
	return vision.RandomFactorParams{MinFactor: op.Some(v), MaxFactor: op.Some(v)}
}

func TestImageColors(t *testing.T) {
	optest.Run(t, vision.ImageRandomBrightness.Op, colorCases("brightness", factor(1.3),
		[]float64{13, 255, 39, 255, 0, 166, 116, 118, 119, 52, 52, 255},
		[]float64{13, 260, 39, 331.5, 0, 166.4, 117, 118.3, 119.6, 52, 52, 325})...)
	optest.Run(t, vision.ImageRandomContrast.Op, colorCases("contrast", factor(1.7),
		[]float64{0, 255, 0, 255, 0, 152, 88, 90, 91, 3, 3, 255},
		[]float64{-47.645355, 275.354645, -13.645355, 368.854645, -64.645355, 152.954651,
			88.354645, 90.054645, 91.754654, 3.354645, 3.354645, 360.354645})...)
	optest.Run(t, vision.ImageRandomSaturation.Op, colorCases("saturation", factor(0.4),
		[]float64{6, 82, 14, 110, 8, 59, 42, 42, 43, 33, 33, 117},
		[]float64{6.052, 82.052002, 14.052, 110.755203, 8.7552, 59.9552, 42.292801, 42.692803,
			43.092800, 33.099998, 33.099998, 117.1})...)
	optest.Run(t, vision.ImageRandomHue.Op, append(colorCases("hue", factor(0.3),
		[]float64{9, 27, 200, 178, 255, 0, 91, 90, 91, 250, 40, 81},
		[]float64{9.999999, 27.999949, 200, 178.99994, 255, 0, 91.999992, 90.000008, 91.400002,
			250, 40.000011, 81.999962}), colorCases("more than a circle", factor(1.95),
		[]float64{46, 200, 9, 255, 0, 204, 90, 91, 91, 40, 102, 250},
		[]float64{46.999931, 200, 9.999999, 255, 0, 204.499802, 90.000008, 91.599998, 91.999992,
			40.000011, 102.999847, 250})...)...)
	optest.Run(t, vision.ImageAdjustLighting.Op, colorCases("lighting",
		vision.AdjustLightingParams{Alpha: []float64{0.1, -0.2, 0.3}},
		[]float64{6, 196, 27, 251, 0, 125, 86, 87, 89, 36, 36, 247},
		[]float64{6.301146, 196.502853, 27.57428, 251.301147, -3.497144, 125.57428, 86.301147,
			87.502853, 89.57428, 36.301147, 36.502857, 247.57428})...)
	one := optest.Array(dtype.Uint8, []int{2, 2, 1}, 10, 255, 90, 40)
	optest.Run(t, vision.ImageRandomContrast.Op, optest.Case{Name: "one channel",
		Params: factor(0.5), NoDiff: true, In: optest.Ops(one),
		Want: optest.Ops(optest.Array(dtype.Uint8, []int{2, 2, 1}, 54, 176, 94, 69))})
	for _, h := range []op.Handle[vision.RandomFactorParams]{vision.ImageRandomHue,
		vision.ImageRandomSaturation} {
		optest.Run(t, h.Op, optest.Case{Name: "one channel", Params: factor(0.5), NoDiff: true,
			In: optest.Ops(one), Want: optest.Ops(one)})
	}
	x := optest.F(pictureShape, picture...)
	optest.Run(t, vision.ImageRandomHue.Op, optest.Case{Name: "a hue that is far away",
		Params: factor(1e30), NoDiff: true, In: optest.Ops(x)})
	optest.Run(t, vision.ImageRandomColorJitter.Op, optest.Case{Name: "no change", NoDiff: true,
		Params: vision.RandomColorJitterParams{Brightness: op.Some(0.), Contrast: op.Some(0.),
			Saturation: op.Some(0.), Hue: op.Some(0.)}, In: optest.Ops(x), Want: optest.Ops(x),
		Heads: optest.Ops(x), WantGrad: optest.Ops(x)},
		optest.Case{Name: "four changes", NoDiff: true, Seed: op.Seed{Key: 5},
			Params: vision.RandomColorJitterParams{Brightness: op.Some(0.4),
				Contrast: op.Some(0.4), Saturation: op.Some(0.4), Hue: op.Some(0.4)},
			In: optest.Ops(x)})
	optest.Run(t, vision.ImageRandomLighting.Op, optest.Case{Name: "no change", NoDiff: true,
		Params: vision.RandomLightingParams{AlphaStd: op.Some(0.)}, In: optest.Ops(x),
		Want: optest.Ops(x)}, optest.Case{Name: "some change", NoDiff: true, In: optest.Ops(x)})
}

// outputs applies an operator with many seeds.
func outputs(t *testing.T, o *op.Op, params any, x op.Tensor, f func(y []float32)) {
	t.Helper()
	p, err := o.Normalize(params)
	if err != nil {
		t.Fatal(err)
	}
	for n := range uint64(400) {
		out, err := optest.Runner{Seed: op.Seed{Key: n}}.Apply(o, p, optest.Ops(x))
		if err != nil {
			t.Fatal(err)
		}
		f(op.Slice[float32](out[0]))
	}
}

func TestImageRandomFactors(t *testing.T) {
	low, high := math.Inf(1), math.Inf(-1)
	outputs(t, vision.ImageRandomBrightness.Op, vision.RandomFactorParams{
		MinFactor: op.Some(0.5), MaxFactor: op.Some(1.5)}, optest.F([]int{1, 1, 1}, 1),
		func(y []float32) { low, high = min(low, float64(y[0])), max(high, float64(y[0])) })
	if low < 0.5 || low > 0.52 || high > 1.5 || high < 1.48 {
		t.Errorf("got factors from %v to %v, want 0.5 to 1.5", low, high)
	}
	for _, h := range []op.Handle[op.NoParams]{vision.ImageRandomFlipLeftRight,
		vision.ImageRandomFlipTopBottom} {
		flipped := 0
		outputs(t, h.Op, op.NoParams{}, optest.F([]int{2, 2, 1}, 0, 1, 2, 3), func(y []float32) {
			switch {
			case y[0] == 0 && y[3] == 3:
			case h == vision.ImageRandomFlipLeftRight && y[0] == 1 && y[3] == 2,
				h == vision.ImageRandomFlipTopBottom && y[0] == 2 && y[3] == 1:
				flipped++
			default:
				t.Fatalf("%s: got %v", h.Name, y)
			}
		})
		if flipped < 150 || flipped > 250 {
			t.Errorf("%s: flipped %d images of 400", h.Name, flipped)
		}
	}
	p, err := vision.ImageRandomHue.Normalize(vision.RandomFactorParams{MinFactor: op.Some(2.),
		MaxFactor: op.Some(1.)})
	if err == nil {
		t.Errorf("got %v for min_factor above max_factor, want an error", p)
	}
}
