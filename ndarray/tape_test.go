package ndarray_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gomx/device"
	"gomx/dtype"
	nd "gomx/ndarray"
	"gomx/op"
)

// leaf64 returns a random float64 array with a gradient attached.
func leaf64(r *rand.Rand, shape ...int) *nd.Array {
	data := make([]float64, nd.Shape(shape).Size())
	for i := range data {
		data[i] = r.Float64() + 0.5
	}
	a := nd.FromSlice(data, shape...)
	a.AttachGrad()
	return a
}

// item returns the only value of a.
func item(t *testing.T, a *nd.Array) float64 {
	t.Helper()
	v, err := a.Item()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestGradientsAgainstDifferences(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	for _, c := range []struct {
		name   string
		shapes [][]int
		f      func(x []*nd.Array) *nd.Array
	}{
		{"product", [][]int{{2, 3}, {3}},
			func(x []*nd.Array) *nd.Array { return x[0].Mul(x[1]).Sum() }},
		{"quotient of itself", [][]int{{4}},
			func(x []*nd.Array) *nd.Array { return x[0].Div(x[0].Square().AddScalar(1)).Sum() }},
		{"functions", [][]int{{4}}, func(x []*nd.Array) *nd.Array {
			return x[0].Exp().Log().Sqrt().Tanh().Sigmoid().Sum()
		}},
		{"matrices", [][]int{{2, 3}, {3, 2}},
			func(x []*nd.Array) *nd.Array { return x[0].Dot(x[1]).Square().Mean() }},
		{"views", [][]int{{4, 3}}, func(x []*nd.Array) *nd.Array {
			return x[0].Slice(1, 3).Reshape(-1).Mul(x[0].At(0).Reshape(3,
				1).Dot(nd.FromSlice([]float64{1, 2}, 1, 2)).Reshape(6)).Sum()
		}},
		{"softmax", [][]int{{2, 3}}, func(x []*nd.Array) *nd.Array {
			return x[0].LogSoftmax().Mul(x[0].Softmax()).Sum()
		}},
		{"a loop", [][]int{{3}}, func(x []*nd.Array) *nd.Array {
			y := x[0]
			for range 5 {
				y = y.Mul(x[0]).AddScalar(0.1)
			}
			return y.Sum()
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var in []*nd.Array
			for _, s := range c.shapes {
				in = append(in, leaf64(r, s...))
			}
			value := func() *nd.Array {
				tape := nd.NewTape(true)
				watched := make([]*nd.Array, len(in))
				for i, a := range in {
					watched[i] = tape.Watch(a)
				}
				return c.f(watched)
			}
			value().Backward()
			for i, a := range in {
				checkGradient(t, i, a, func() float64 { return item(t, value()) })
			}
		})
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// checkGradient compares the gradient of input i with central differences of f.
func checkGradient(t *testing.T, i int, a *nd.Array, f func() float64) {
	t.Helper()
	grad, err := nd.Values[float64](a.Grad())
	if err != nil {
		t.Fatal(err)
	}
	x, err := nd.Values[float64](a)
	if err != nil {
		t.Fatal(err)
	}
	at := func(k int, v float64) float64 {
		old := x[k]
		x[k] = v
		defer func() { x[k] = old }()
		if err := nd.CopyFrom(a, x); err != nil {
			t.Fatal(err)
		}
		return f()
	}
	const h = 1e-5
	for k, v := range x {
		want := (at(k, v+h) - at(k, v-h)) / (2 * h)
		if math.Abs(grad[k]-want) > 1e-6*(1+math.Abs(want)) {
			t.Errorf("gradient of input %d at %d: got %v, want %v", i, k, grad[k], want)
		}
	}
	if err := nd.CopyFrom(a, x); err != nil {
		t.Fatal(err)
	}
}

// watched returns x as a leaf, on a new tape.
func watched(v ...float32) (x, w *nd.Array) {
	x = nd.FromSlice(v)
	x.AttachGrad()
	return x, nd.NewTape(true).Watch(x)
}

func TestBackwardByHand(t *testing.T) {
	x, w := watched(1, 2, 3)
	w.Mul(w).Backward(nd.FromSlice([]float32{1, 10, 100}))
	want(t, x.Grad(), 2, 40, 600)

	// Parameters need no tape: recording starts at the input.
	b := nd.FromSlice(ramp(3))
	b.AttachGrad()
	unused := nd.FromSlice(ramp(3))
	unused.AttachGrad()
	data := nd.NewTape(true).Watch(nd.FromSlice([]float32{5, 6, 7}))
	data.Mul(b).Backward()
	want(t, b.Grad(), 5, 6, 7)
	want(t, unused.Grad(), 0, 0, 0)
}

func TestGradAddAndZero(t *testing.T) {
	x := nd.FromSlice([]float32{3})
	x.AttachGrad(nd.GradAdd)
	for range 3 {
		nd.NewTape(true).Watch(x).Square().Backward()
	}
	want(t, x.Grad(), 18)
	x.ZeroGrad()
	want(t, x.Grad(), 0)
	own := nd.FromSlice([]float32{7})
	x.AttachGradArray(own, nd.GradWrite)
	nd.NewTape(true).Watch(x).Square().Backward()
	want(t, own, 6)
}

func TestGradNullTakesTheGradientAway(t *testing.T) {
	x, y := nd.FromSlice(ramp(2)), nd.FromSlice(ramp(2))
	x.AttachGrad()
	y.AttachGrad()
	y.AttachGrad(nd.GradNull)
	tape := nd.NewTape(true)
	tape.Watch(x).Mul(tape.Watch(y)).Backward()
	want(t, x.Grad(), 0, 1)
	if y.Grad() != nil {
		t.Errorf("got a gradient %v, want none", y.Grad())
	}
}

func TestHeadsThatAreLeaves(t *testing.T) {
	x, w := watched(1, 2)
	w.Backward()
	want(t, x.Grad(), 1, 1)
	w.Backward(nd.FromSlice([]float32{3, 4}))
	want(t, x.Grad(), 3, 4)
}

func TestSeveralHeads(t *testing.T) {
	x, w := watched(1, 2)
	a := w.MulScalar(2)
	b := a.Mul(a)
	if err := nd.Backward([]*nd.Array{a, b}, []*nd.Array{nil, nd.FromSlice([]float32{1, 10})},
		false); err != nil {
		t.Fatal(err)
	}
	want(t, x.Grad(), 2+8, 2+160)
}

func TestTwoLeavesWithOneGradient(t *testing.T) {
	x, y := nd.FromSlice(ramp(2)), nd.FromSlice(ramp(2))
	x.AttachGrad()
	y.AttachGrad(nd.GradAdd)
	head := nd.NewTape(true).Watch(x).Add(y)
	head.Backward(nd.FromSlice([]float32{3, 4}))
	want(t, x.Grad(), 3, 4)
	want(t, y.Grad(), 3, 4)
}

func TestDetachAndAttachStopGradients(t *testing.T) {
	x, w := watched(1, 2)
	y := w.MulScalar(3)
	z := y.Detach().Mul(y)
	z.Backward()
	want(t, x.Grad(), 9, 18)

	x, w = watched(1, 2)
	y = w.MulScalar(3)
	y.AttachGrad()
	y.Square().Backward()
	want(t, y.Grad(), 6, 12)
	want(t, x.Grad(), 0, 0)
}

func TestModeTravels(t *testing.T) {
	x := nd.FromSlice(ramp(2))
	for _, train := range []bool{true, false} {
		state := nd.FromSlice(ramp(2))
		y := nd.NewTape(train).Watch(x).AddScalar(1).Reshape(2).Add(x)
		nd.Apply(count, op.NoParams{}, y, state)
		if train {
			want(t, state, 1, 1)
		} else {
			want(t, state, 0, 1)
		}
	}
}

func TestBackwardFreesUnlessRetained(t *testing.T) {
	x, w := watched(1, 2)
	y := w.Square().Square()
	for range 2 {
		if err := nd.Backward([]*nd.Array{y}, nil, true); err != nil {
			t.Fatal(err)
		}
		want(t, x.Grad(), 4, 32)
	}
	y.Backward()
	err := nd.Backward([]*nd.Array{y}, nil, false)
	if err == nil || !strings.Contains(err.Error(), "an earlier Backward has freed") {
		t.Errorf("a second Backward: %v", err)
	}
	if got := panics(t, func() { y.Backward() }); !strings.Contains(got, "(tape_test.go:") {
		t.Errorf("got %q, want the line of the call", got)
	}
}

func TestBackwardMisuse(t *testing.T) {
	x := nd.FromSlice(ramp(2))
	_, w := watched(1, 2)
	_, v := watched(1, 2)
	for _, c := range []struct {
		name         string
		heads, grads []*nd.Array
		want         string
	}{
		{"no heads", nil, nil, "heads: no arrays"},
		{"off the tape", []*nd.Array{x}, nil, "head 0: the array is not on a tape"},
		{"nothing to differentiate", []*nd.Array{nd.NewTape(true).Watch(x).AddScalar(1)}, nil,
			"nothing that it was computed from has a gradient attached"},
		{"two tapes", []*nd.Array{w.Square(), v.Square()}, nil,
			"head 1: the array is on another tape"},
		{"gradients", []*nd.Array{w.Square()}, []*nd.Array{w, w}, "2 gradients for 1 heads"},
		{"shape", []*nd.Array{w.Square()}, []*nd.Array{nd.FromSlice(ramp(3))},
			"gradient 0: float32 (3,), want float32 (2,)"},
		{"no gradient", []*nd.Array{nd.Apply(shapeOf, op.NoParams{}, w)}, nil,
			"has no gradient: test"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := nd.Backward(c.heads, c.grads, false); err == nil ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	if got := panics(t, func() { w.Add(v) }); !strings.Contains(got,
		"rhs: the array is on another tape") {
		t.Errorf("got %q", got)
	}
}

func TestOverwrittenOperandsAreNoticed(t *testing.T) {
	x, w := watched(1, 2)
	c := nd.Full(3, nd.Shape{2}, nd.Name("factor"))
	y := w.Mul(c)
	c.AddScalarInPlace(1)
	err := nd.Backward([]*nd.Array{y}, nil, false)
	for _, part := range []string{"elemwise_mul", "rhs", `"factor"`, "(2,)", "overwritten"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("got %v, want it to say %q", err, part)
		}
	}
	// What the derivative does not read may change.
	y = w.Add(c)
	c.Fill(0)
	y.Backward()
	want(t, x.Grad(), 1, 1)
	// Results on a tape may not.
	z := w.Square()
	for _, f := range []func(){
		func() { z.AddScalarInPlace(1) }, func() { z.Fill(1) }, func() { z.Set(x) },
	} {
		if got := panics(t, f); !strings.Contains(got, "a tape has recorded") {
			t.Errorf("got %q", got)
		}
	}
}

func TestAuxiliaryStatesMayChangeAgain(t *testing.T) {
	x, w := watched(1, 2)
	state := nd.Zeros(nd.Shape{2})
	y := nd.Apply(count, op.NoParams{}, nd.Apply(count, op.NoParams{}, w, state), state)
	y.Backward()
	want(t, x.Grad(), 1, 4)
	want(t, state, 2, 0)
}

func TestUnneededValuesAreNotKept(t *testing.T) {
	big := nd.Shape{1 << 10}
	x := nd.Full(1, big, nd.On(device.CPU()))
	x.AttachGrad()
	y := nd.NewTape(true).Watch(x)
	for range 3 {
		next := y.AddScalar(1) // its derivative reads nothing
		y.Close()
		y = next
	}
	z := y.Mul(y)
	y.Close() // the tape keeps it
	z.Backward()
	if v := values(t, x.Grad()); v[0] != 8 {
		t.Errorf("got %v, want 8", v[0])
	}
}

func TestScopesAndTapes(t *testing.T) {
	x := nd.FromSlice([]float32{2})
	x.AttachGrad()
	nd.Scope(func(s *nd.Scoped) {
		w := s.Enter(nd.NewTape(true).Watch(x))
		w.Square().MulScalar(3).Backward()
	})
	want(t, x.Grad(), 12)
}

func TestIntegerDataOnTheTape(t *testing.T) {
	x := nd.FromSlice([]float32{1, 2})
	x.AttachGrad()
	idx := nd.NewTape(true).Watch(nd.FromSlice([]int32{3, 4}))
	idx.AsType(dtype.Float32).Mul(x).Backward()
	want(t, x.Grad(), 3, 4)
}

// A gradient is fresh from Backward to UseGrad, whatever else is written to it.
func TestGradFresh(t *testing.T) {
	x, y := nd.FromSlice([]float32{1, 2}), nd.FromSlice([]float32{3, 4})
	x.AttachGrad(nd.GradAdd)
	y.AttachGrad()
	check := func(when string, wantX, wantY bool) {
		t.Helper()
		if gotX, gotY := x.GradFresh(), y.GradFresh(); gotX != wantX || gotY != wantY {
			t.Errorf("%s: fresh %v and %v, want %v and %v", when, gotX, gotY, wantX, wantY)
		}
	}
	check("at first", false, false)
	tape := nd.NewTape(true)
	z := tape.Watch(x).Square()
	check("forward", false, false)
	z.Backward()
	check("Backward of x alone", true, false)
	x.UseGrad()
	x.ZeroGrad()
	check("ZeroGrad", false, false)
	nd.NewTape(true).Watch(x).Mul(y).Backward()
	check("Backward of both", true, true)
	x.UseGrad()
	check("UseGrad of x", false, true)
	if nd.Zeros(nd.Shape{1}).GradFresh() {
		t.Error("an array without a gradient has a fresh one")
	}
}
