package autograd_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gomx/autograd"
	"gomx/device"
	nd "gomx/ndarray"
)

// positive returns random numbers between a half and one and a half, with a gradient attached.
func positive(r *rand.Rand, shape ...int) *nd.Array {
	data := make([]float64, nd.Shape(shape).Size())
	for i := range data {
		data[i] = r.Float64() + 0.5
	}
	a := nd.FromSlice(data, shape...)
	a.AttachGrad()
	return a
}

// weighted is the sum of y times numbers that are different everywhere.
func weighted(y *nd.Array) *nd.Array {
	w := nd.Arange(1, float64(y.Size()+1), 1, nd.As(y.DType())).MulScalar(0.3)
	return y.Reshape(-1).Mul(nd.Sin(w)).Sum()
}

// secondOrder lists functions of one or two arrays of shape (2, 3).
var secondOrder = []struct {
	name string
	f    func(x, y *nd.Array) *nd.Array
}{
	{"product", func(x, y *nd.Array) *nd.Array { return x.Mul(y).Mul(x) }},
	{"quotient", func(x, y *nd.Array) *nd.Array { return x.Div(y) }},
	{"power", func(x, y *nd.Array) *nd.Array { return x.Pow(y) }},
	{"scalars", func(x, y *nd.Array) *nd.Array {
		return x.RDivScalar(2).PowScalar(3).AddScalar(1).Mul(y.RSubScalar(2))
	}},
	{"broadcast", func(x, y *nd.Array) *nd.Array { return x.Mul(y.Slice(0, 1)).Div(y.Sum()) }},
	{"functions", func(x, y *nd.Array) *nd.Array {
		return x.Exp().Mul(y.Log()).Add(x.Sqrt().Tanh())
	}},
	{"sigmoid", func(x, y *nd.Array) *nd.Array { return x.Sigmoid().Mul(y).Square() }},
	{"abs, maximum, clip", func(x, y *nd.Array) *nd.Array {
		return x.Abs().Maximum(y).Clip(0, 1.2).Mul(x)
	}},
	{"trigonometry", func(x, y *nd.Array) *nd.Array {
		return nd.Sin(x).Mul(nd.Cos(y)).Add(nd.Arctan(x.Mul(y)))
	}},
	{"matrices", func(x, y *nd.Array) *nd.Array {
		return nd.BatchDot(x.ExpandDims(0), y.ExpandDims(0),
			nd.DotParams{TransposeB: true}).Square()
	}},
	{"reductions", func(x, y *nd.Array) *nd.Array { return x.Sum(1).Mul(y.Mean(1)).Square() }},
	{"shapes", func(x, y *nd.Array) *nd.Array {
		return x.T().Reshape(2, 3).ExpandDims(0).Flatten().Mul(y.Reshape(1, 6)).Mul(x.Reshape(1, 6))
	}},
	{"slices", func(x, y *nd.Array) *nd.Array {
		return x.Index(nd.All(), nd.Every(2)).Mul(y.Index(nd.Int(-1), nd.Range(0, 2))).Square()
	}},
	{"lists", func(x, y *nd.Array) *nd.Array {
		return x.Index(nd.All(), nd.Ints{2, 0, 2}).Mul(y.Index(nd.FromSlice([]int32{1, 1}),
			nd.FromSlice([]int32{0, 2})).Reshape(2, 1)).Square()
	}},
	{"where", func(x, y *nd.Array) *nd.Array { return nd.Where(x.Gt(y), x.Square(), y.Mul(x)) }},
}

func TestSecondOrderAgainstDifferences(t *testing.T) {
	seed := rand.Uint64()
	for _, c := range secondOrder {
		t.Run(c.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			x, y := positive(r, 2, 3), positive(r, 2, 3)
			// slopes is a function of the first derivative.
			slopes := func(opts ...autograd.Option) *nd.Array {
				tape := autograd.Train()
				head := weighted(c.f(tape.Watch(x), tape.Watch(y)))
				g, err := autograd.Grad([]*nd.Array{head}, []*nd.Array{x, y}, opts...)
				if err != nil {
					t.Fatal(err)
				}
				return weighted(g[0]).Add(weighted(g[1].Square()))
			}
			if err := autograd.Backward([]*nd.Array{slopes(autograd.CreateGraph())}); err != nil {
				t.Fatal(err)
			}
			for i, a := range []*nd.Array{x, y} {
				differences(t, i, a, func() float64 { return values(t, slopes())[0] })
			}
			if t.Failed() {
				t.Logf("seed %d", seed)
			}
		})
	}
}

// differences compares the attached gradient of a with central differences of f.
func differences(t *testing.T, i int, a *nd.Array, f func() float64) {
	t.Helper()
	grad, x := values(t, a.Grad()), values(t, a)
	set := func(v []float64) {
		if err := nd.CopyFrom(a, v); err != nil {
			t.Fatal(err)
		}
	}
	const h = 1e-5
	for k := range x {
		at := func(d float64) float64 {
			moved := slices.Clone(x)
			moved[k] += d
			set(moved)
			return f()
		}
		if want := (at(h) - at(-h)) / (2 * h); math.Abs(grad[k]-want) > 1e-5*(1+math.Abs(want)) {
			t.Errorf("gradient of input %d at %d: got %v, want %v", i, k, grad[k], want)
		}
	}
	set(x)
}

func TestThirdOrder(t *testing.T) {
	x := nd.FromSlice([]float64{1, 2})
	x.AttachGrad()
	y := autograd.Train().Watch(x).PowScalar(5)
	for _, want := range [][]float64{{5, 80}, {20, 160}, {60, 240}, {120, 240}} {
		g, err := autograd.Grad([]*nd.Array{y}, []*nd.Array{x}, autograd.CreateGraph())
		if err != nil {
			t.Fatal(err)
		}
		y = g[0]
		for i, v := range values(t, y) {
			if math.Abs(v-want[i]) > 1e-9*want[i] {
				t.Errorf("got %v, want %v", values(t, y), want)
			}
		}
	}
	y.Backward()
	if got := values(t, x.Grad()); math.Abs(got[0]-120) > 1e-9 || math.Abs(got[1]-120) > 1e-9 {
		t.Errorf("got %v, want 120", got)
	}
}

func TestGraphOfHeadGradients(t *testing.T) {
	x, h := nd.FromSlice([]float64{3}), nd.FromSlice([]float64{5})
	x.AttachGrad()
	h.AttachGrad()
	tape := autograd.Train()
	w, v := tape.Watch(x), tape.Watch(h)
	other := tape.Watch(x).Exp()
	g, err := autograd.Grad([]*nd.Array{w.Square(), w}, []*nd.Array{x, other, w},
		autograd.HeadGrads(v, nil), autograd.CreateGraph())
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{2*3*5 + 1, 0, 2*3*5 + 1} {
		if got := values(t, g[i])[0]; got != want {
			t.Errorf("gradient %d: got %v, want %v", i, got, want)
		}
	}
	// d(2xh+1)/dx = 2h, d/dh = 2x; twice.
	g[0].Add(g[1]).Add(g[2]).Backward()
	if a, b := values(t, x.Grad())[0], values(t, h.Grad())[0]; a != 20 || b != 12 {
		t.Errorf("got %v and %v, want 20 and 12", a, b)
	}
}

func TestSecondOrderOfIntermediateArrays(t *testing.T) {
	x := nd.FromSlice([]float64{2})
	x.AttachGrad()
	y := autograd.Train().Watch(x).Square() // 4
	z := y.Mul(y).Mul(y)
	g, err := autograd.Grad([]*nd.Array{z}, []*nd.Array{y}, autograd.CreateGraph()) // 3y²
	if err != nil {
		t.Fatal(err)
	}
	g[0].Backward() // 6y·2x
	if got := values(t, x.Grad())[0]; got != 96 {
		t.Errorf("got %v, want 96", got)
	}
}

func TestSecondOrderMisuse(t *testing.T) {
	x := nd.FromSlice([]float32{1, 2, 3, 4, 5, 6}, 2, 1, 3)
	x.AttachGrad()
	y := nd.CTCLoss(autograd.Train().Watch(x), nd.FromSlice([]float32{1}, 1, 1),
		nd.CTCLossParams{}).Square()
	g, err := autograd.Grad([]*nd.Array{y}, []*nd.Array{x}, autograd.CreateGraph())
	if err != nil {
		t.Fatal(err)
	}
	if err := autograd.Backward(g); err == nil ||
		!strings.Contains(err.Error(), "_backward_CTCLoss (second_test.go") ||
		!strings.Contains(err.Error(), "the second derivative of CTCLoss is not provided") {
		t.Errorf("got %v, want that an operator has no gradient", err)
	}
	if err := autograd.Backward([]*nd.Array{y}, autograd.CreateGraph()); err == nil ||
		!strings.Contains(err.Error(), "want Grad") {
		t.Errorf("got %v", err)
	}
	z := autograd.Train().Watch(x).Exp()
	if g, err = autograd.Grad([]*nd.Array{z}, []*nd.Array{x}, autograd.CreateGraph()); err != nil {
		t.Fatal(err)
	}
	z.Backward() // frees
	if err := autograd.Backward(g); err == nil ||
		!strings.Contains(err.Error(), "ask it to retain") {
		t.Errorf("got %v, want that the record is gone", err)
	}
}

// A loop that differentiates a gradient does not grow either.
func TestSecondOrderReleasesMemory(t *testing.T) {
	data, w := nd.Ones(nd.Shape{20, 100}), nd.Ones(nd.Shape{20, 100})
	data.AttachGrad()
	w.AttachGrad()
	step := func() {
		nd.Scope(func(s *nd.Scoped) {
			x := s.Enter(autograd.Train().Watch(data))
			y := x.Mul(w).Square().Mul(x)
			g, err := autograd.Grad([]*nd.Array{y}, []*nd.Array{x}, autograd.CreateGraph())
			if err != nil {
				t.Fatal(err)
			}
			g[0].Square().Add(y).Backward()
		})
	}
	used := func() int64 {
		// The memory of closed arrays is given back when no task uses them.
		if err := nd.WaitAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		return device.Usage(device.CPU()).Used[device.PurposeArray]
	}
	step()
	before := used()
	for range 50 {
		step()
	}
	if grown := used() - before; grown > 64<<10 {
		t.Errorf("50 steps left %d bytes in use", grown)
	}
}
