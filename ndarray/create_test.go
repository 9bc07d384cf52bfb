package ndarray_test

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"gomx/dtype"
	nd "gomx/ndarray"
)

func TestConstructors(t *testing.T) {
	want(t, nd.Zeros(nd.Shape{2}), 0, 0)
	want(t, nd.Ones(nd.Shape{2}, nd.As(dtype.Int8)), 1, 1)
	want(t, nd.Full(2.5, nd.Shape{1, 2}, nd.As(dtype.Float16)), 2.5, 2.5)
	want(t, nd.Full(3, nd.Shape{}), 3)
	want(t, nd.Zeros(nd.Shape{0, 3}))
	want(t, nd.Arange(1, 2, 0.25), 1, 1.25, 1.5, 1.75)
	want(t, nd.Arange(3, 0, -1, nd.As(dtype.Int32)), 3, 2, 1)
	want(t, nd.Normal(2, 0, nd.Shape{2}), 2, 2)
	if s := nd.Full(3, nd.Shape{}).Shape(); s == nil || len(s) != 0 {
		t.Errorf("shape %v, want that of a scalar", s)
	}
	if got := nd.Zeros(nd.Shape{2, 0, 3}).Shape(); !got.Equal(nd.Shape{2, 0, 3}) {
		t.Errorf("shape %v", got)
	}
}

func TestRandomConstructors(t *testing.T) {
	const n = 10000
	for _, c := range []struct {
		name     string
		draw     func(opts ...nd.Option) *nd.Array
		mean, sd float64
	}{
		{"uniform", func(o ...nd.Option) *nd.Array {
			return nd.Uniform(2, 6, nd.Shape{n / 10, 10}, o...)
		}, 4, 4 / math.Sqrt(12)},
		{"normal", func(o ...nd.Option) *nd.Array { return nd.Normal(-1, 3, nd.Shape{n}, o...) },
			-1, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := values(t, c.draw(nd.Seed(7)))
			var sum, squares float64
			for _, x := range v {
				sum += float64(x)
			}
			mean := sum / n
			for _, x := range v {
				squares += (float64(x) - mean) * (float64(x) - mean)
			}
			sd := math.Sqrt(squares / n)
			if math.Abs(mean-c.mean) > 0.1 || math.Abs(sd-c.sd) > 0.1 {
				t.Errorf("mean %v and deviation %v, want %v and %v", mean, sd, c.mean, c.sd)
			}
			if !slices.Equal(v, values(t, c.draw(nd.Seed(7)))) {
				t.Error("the same seed gives other numbers")
			}
			nd.SetSeed(1)
			first, second := values(t, c.draw()), values(t, c.draw())
			nd.SetSeed(1)
			if slices.Equal(first, second) || !slices.Equal(first, values(t, c.draw())) {
				t.Error("the stream does not start again with its seed")
			}
		})
	}
}

func TestOptionalInputs(t *testing.T) {
	x, w, b := nd.Ones(nd.Shape{1, 2}), nd.Ones(nd.Shape{2, 2}), nd.Ones(nd.Shape{2})
	p := nd.FullyConnectedParams{NumHidden: 2}
	want(t, nd.FullyConnected(x, w, b, p), 3, 3)
	if got := panics(t, func() { nd.FullyConnected(x, w, nil, p) }); !strings.Contains(got,
		"bias: the array is nil") {
		t.Errorf("got %q", got)
	}
	p.NoBias = true
	want(t, nd.FullyConnected(x, w, nil, p), 2, 2)
	if got := panics(t, func() { nd.FullyConnected(x, w, b, p) }); !strings.Contains(got,
		"bias: an array was given, want nil") {
		t.Errorf("got %q", got)
	}
	if got := panics(t, func() { nd.FullyConnected(x, nil, b, p) }); !strings.Contains(got,
		"weight: the array is nil") && !strings.Contains(got, "bias") {
		t.Errorf("got %q", got)
	}
}

// TestAsOnMakers gives an element type to arrays that operators make.
func TestAsOnMakers(t *testing.T) {
	if got := nd.Eye(nd.EyeParams{N: 3}, nd.As(dtype.Float64)).DType(); got != dtype.Float64 {
		t.Errorf("Eye: element type %v, want float64", got)
	}
	if got := nd.Eye(nd.EyeParams{N: 3, DType: dtype.Int32}).DType(); got != dtype.Int32 {
		t.Errorf("Eye: element type %v, want int32", got)
	}
}

func TestInputsByName(t *testing.T) {
	x := nd.FromSlice([]float32{0, 0, 0, 0, 0, 0}, 2, 3)
	lengths := nd.FromSlice([]int32{1, 2})
	p := nd.SoftmaxParams{UseLength: true}
	got, err := nd.Softmax(x, p, nd.With("length", lengths)).Float32s()
	if want := []float32{1, 0, 0, 0.5, 0.5, 0}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	image := nd.Ones(nd.Shape{1, 1, 2, 2})
	d := nd.DeconvolutionParams{Kernel: []int{2, 2}, NumFilter: 1}
	want(t, nd.Deconvolution(image, image, d).Sum(), 16)
	d.NoBias = nd.Some(false)
	want(t, nd.Deconvolution(image, image, d, nd.With("bias", nd.Ones(nd.Shape{1}))).Sum(), 25)
	for _, c := range []struct {
		name string
		call func()
		want string
	}{
		{"unknown", func() { nd.Softmax(x, p, nd.With("lengths", lengths)) },
			"lengths: no input of this name, want one of data, length"},
		{"missing", func() { nd.Softmax(x, p) }, "length: the array is nil"},
		{"nil", func() { nd.Softmax(x, p, nd.With("length", nil)) },
			"length: the array given by With is nil"},
		{"positional", func() { nd.Softmax(x, p, nd.With("data", x)) },
			"data: the input is given twice"},
		{"off", func() { nd.Softmax(x, nd.SoftmaxParams{}, nd.With("length", lengths)) },
			"the parameters switch this input off"},
	} {
		if got := panics(t, c.call); !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// TestSeveralOutputsWithoutInputs: a generated function without inputs returns all outputs.
func TestSeveralOutputsWithoutInputs(t *testing.T) {
	out := nd.SampleUniqueZipfian(nd.UniqueZipfianParams{RangeMax: 4, Shape: []int{2, 4}})
	if len(out) != 2 {
		t.Fatalf("%d outputs, want 2", len(out))
	}
	classes := values(t, out[0])
	slices.Sort(classes)
	if want := []float32{0, 0, 1, 1, 2, 2, 3, 3}; !slices.Equal(classes, want) {
		t.Errorf("all of 4 classes twice are %v, want %v", classes, want)
	}
}

// TestResetArrays: the operator has no output and changes all of its inputs.
func TestResetArrays(t *testing.T) {
	x, y := nd.Full(2, nd.Shape{2}), nd.Ones(nd.Shape{1}, nd.As(dtype.Int64))
	if out := nd.ResetArrays([]*nd.Array{x, y}); len(out) != 0 {
		t.Errorf("%d outputs, want none", len(out))
	}
	want(t, x, 0, 0)
	want(t, y, 0)
}

func TestZerosOverUsedMemory(t *testing.T) {
	const n = 1 << 18
	shape := nd.Shape{n}
	for i := range 4 {
		a := nd.Zeros(shape)
		for k, v := range values(t, a) {
			if v != 0 {
				t.Fatalf("round %d: element %d is %v, want 0", i, k, v)
			}
		}
		a.Fill(3)
		a.Close()
		_ = nd.WaitAll(t.Context()) // with the failures of other tests
	}
}

// residentBytes returns the resident memory of the process.
func residentBytes(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip("no /proc/self/statm")
	}
	var total, resident int
	if _, err := fmt.Sscan(string(text), &total, &resident); err != nil {
		t.Fatal(err)
	}
	return resident * os.Getpagesize()
}

func TestZerosTakeMemoryAtTheirFirstUse(t *testing.T) {
	const rows, row = 1 << 20, 64
	before := residentBytes(t)
	a := nd.Zeros(nd.Shape{rows, row})
	defer a.Close()
	_ = nd.WaitAll(t.Context())
	if got := residentBytes(t) - before; got > rows*row {
		t.Errorf("%d bytes more are resident, want few of the %d of the array", got, 4*rows*row)
	}
}
