package initializer_test

import (
	"math"
	"slices"
	"testing"

	"gomx/dtype"
	"gomx/initializer"
	"gomx/op"
)

func fill(t *testing.T, init initializer.Initializer, name string, shape ...int) []float32 {
	t.Helper()
	dst := make([]float32, dtype.Shape(shape).Size())
	if err := initializer.Fill(init, initializer.Desc{Name: name, Shape: shape, Seed: 1},
		dst); err != nil {
		t.Fatal(err)
	}
	return dst
}

// TestSuffix checks the dispatch by name.
func TestSuffix(t *testing.T) {
	for _, c := range []struct {
		name string
		want float32
	}{
		{"fc_bias", 0}, {"bn_beta", 0}, {"bn_gamma", 1}, {"bn_moving_mean", 0},
		{"bn_moving_var", 1},
		{"bn_running_var", 1}, {"q_min", 0}, {"q_max", 1}, {"fc_weight", 3},
	} {
		if got := fill(t, initializer.Constant{Value: 3}, c.name, 2)[1]; got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	d := initializer.Desc{Name: "alpha", Shape: dtype.Shape{1}}
	if err := initializer.Fill(initializer.Zero{}, d, make([]float32, 1)); err == nil {
		t.Error("name without rule: no error")
	}
	d.Init = `["constant", {"value": 7}]`
	dst := make([]float32, 1)
	if err := initializer.Fill(initializer.Zero{}, d, dst); err != nil || dst[0] != 7 {
		t.Errorf("__init__: %v, %v; want 7", dst, err)
	}
}

// TestSpread checks bounds and standard deviations of the random initializers.
func TestSpread(t *testing.T) {
	for _, c := range []struct {
		name string
		init initializer.Initializer
		sd   float64
		max  float64 // 0: unbounded
	}{
		{"uniform", initializer.Uniform{}, 0.07 / math.Sqrt(3), 0.07},
		{"normal", initializer.Normal{Sigma: 2}, 2, 0},
		{"xavier", initializer.Xavier{}, 0.1, 0.1 * math.Sqrt(3)},
		{"xavier in", initializer.Xavier{FactorType: "in"}, math.Sqrt(1.0 / 150), 0.2},
		{"xavier gaussian out", initializer.Xavier{RndType: "gaussian", FactorType: "out",
			Magnitude: 2}, math.Sqrt(2.0 / 50), 0},
		{"msra", initializer.MSRAPrelu{Slope: op.Some(0.0)}, math.Sqrt(2.0 / 100), 0},
	} {
		// fan in 50*3 = 150, fan out 50, mean 100
		v := fill(t, c.init, "w_weight", 150, 50, 1)
		if c.name != "normal" && c.name != "uniform" {
			v = fill(t, c.init, "w_weight", 50, 150)
		}
		sum := 0.0
		for _, x := range v {
			sum += float64(x) * float64(x)
			if c.max > 0 && math.Abs(float64(x)) > c.max {
				t.Fatalf("%s: %v, want at most %v", c.name, x, c.max)
			}
		}
		if sd := math.Sqrt(sum / float64(len(v))); math.Abs(sd/c.sd-1) > 0.05 {
			t.Errorf("%s: standard deviation %v, want %v", c.name, sd, c.sd)
		}
	}
}

// TestSeed checks that values depend on seed and name and on nothing else.
func TestSeed(t *testing.T) {
	a := fill(t, initializer.Normal{}, "a_weight", 10)
	if b := fill(t, initializer.Normal{}, "a_weight", 10); !slices.Equal(a, b) {
		t.Error("same seed and name: values differ")
	}
	if b := fill(t, initializer.Normal{}, "b_weight", 10); slices.Equal(a, b) {
		t.Error("another name: values are equal")
	}
}

func TestOrthogonal(t *testing.T) {
	for _, shape := range [][]int{{4, 6}, {6, 4}, {3, 2, 2}} {
		v := fill(t, initializer.Orthogonal{Scale: 2}, "w_weight", shape...)
		rows := shape[0]
		cols := len(v) / rows
		at := func(i, k int) float64 { return float64(v[i*cols+k]) }
		if rows > cols {
			at = func(i, k int) float64 { return float64(v[k*cols+i]) }
		}
		for i := range min(rows, cols) {
			for j := range min(rows, cols) {
				dot := 0.0
				for k := range max(rows, cols) {
					dot += at(i, k) * at(j, k)
				}
				want := 0.0
				if i == j {
					want = 4
				}
				if math.Abs(dot-want) > 1e-5 {
					t.Errorf("shape %v: product of vectors %d and %d is %v, want %v", shape, i, j,
						dot, want)
				}
			}
		}
	}
}

func TestBilinear(t *testing.T) {
	got := fill(t, initializer.Bilinear{}, "up_weight", 1, 1, 4, 4)[:8]
	want := []float32{0.0625, 0.1875, 0.1875, 0.0625, 0.1875, 0.5625, 0.5625, 0.1875}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestText(t *testing.T) {
	for _, init := range []initializer.Initializer{
		initializer.Zero{}, initializer.One{}, initializer.Constant{Value: 2},
		initializer.Uniform{Scale: 1},
		initializer.Normal{}, initializer.Xavier{Magnitude: 2},
		initializer.MSRAPrelu{Slope: op.Some(0.0)}, initializer.Orthogonal{},
		initializer.Bilinear{}, initializer.LSTMBias{},
	} {
		text, err := initializer.Format(init)
		if err != nil {
			t.Fatal(err)
		}
		back, err := initializer.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		again, _ := initializer.Format(back)
		if again != text {
			t.Errorf("%s came back as %s", text, again)
		}
	}
	for _, bad := range []string{"", "nothing", "[", `["xavier"]`, `[1, {}]`,
		`["xavier", {"magnitud": 2}]`, `["zero", []]`,
		`["uniform", {"scale": 0}]`, `["xavier", {"magnitude": 0.0}]`,
		`["lstmbias", {"forget_bias": "x"}]`} {
		if _, err := initializer.Parse(bad); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

func TestMixed(t *testing.T) {
	m := initializer.Mixed{{"fc1_.*", initializer.One{}}, {".*", initializer.Constant{Value: 5}}}
	for name, want := range map[string]float32{"fc1_weight": 1, "fc2_weight": 5, "fc1_bias": 0} {
		if got := fill(t, m, name, 1)[0]; got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
