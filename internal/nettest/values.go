package nettest

import (
	"math"
	"math/rand/v2"
	"testing"

	nd "gomx/ndarray"
)

func Values(t *testing.T, a *nd.Array) []float32 {
	t.Helper()
	v, err := a.Float32s()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Compare demands equality up to the rounding of different kernels.
func Compare(t *testing.T, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: got %d values, want %d", what, len(got), len(want))
	}
	for i := range got {
		if d := float64(got[i] - want[i]); d*d > 1e-8*(1+float64(want[i])*float64(want[i])) {
			t.Fatalf("%s: got %v at %d, want %v", what, got[i], i, want[i])
		}
	}
}

func FillRandom(t *testing.T, rng *rand.Rand, a *nd.Array) {
	t.Helper()
	v := make([]float32, a.Size())
	for i := range v {
		v[i] = rng.Float32()*2 - 1
	}
	if err := nd.CopyFrom(a, v); err != nil {
		t.Fatal(err)
	}
}

// FillGently draws weights so that values neither grow nor shrink from layer to layer: differences
// of rounding then stay small.
func FillGently(t *testing.T, rng *rand.Rand, a *nd.Array) {
	t.Helper()
	bound := float32(1)
	if shape := a.Shape(); len(shape) > 1 && shape[0] != 2 {
		bound = float32(math.Sqrt(3 / float64(shape[1:].Size())))
	}
	FillBetween(t, rng, a, -bound, bound)
}

func FillBetween(t *testing.T, rng *rand.Rand, a *nd.Array, low, high float32) {
	t.Helper()
	v := make([]float32, a.Size())
	for i := range v {
		v[i] = low + rng.Float32()*(high-low)
	}
	if err := nd.CopyFrom(a, v); err != nil {
		t.Fatal(err)
	}
}

// Near demands that no element differs by more than 1e-4 of the largest.
func Near(t *testing.T, what string, got, want []float32) {
	t.Helper()
	near(t, what, got, want, 1e-3)
}

// Alike demands that no element differs by more than 1e-4 of the largest. Gradients that cancel to
// nothing are noise of the size of their terms.
func Alike(t *testing.T, what string, got, want []float32) {
	t.Helper()
	near(t, what, got, want, 0.1)
}

// near demands that no element differs by more than 1e-4 of the largest, which is at least floor.
func near(t *testing.T, what string, got, want []float32, floor float64) {
	t.Helper()
	largest := floor
	for _, v := range want {
		largest = max(largest, math.Abs(float64(v)))
	}
	for i := range want {
		if d := math.Abs(float64(got[i] - want[i])); !(d <= 1e-4*largest) {
			t.Fatalf("%s: got %v at %d, want %v (largest %v)", what, got[i], i, want[i], largest)
		}
	}
}

// SameBits demands equal values, and NaN for NaN.
func SameBits(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i := range want {
		if got[i] != want[i] && (got[i] == got[i] || want[i] == want[i]) {
			t.Fatalf("%s: got %v at %d, want exactly %v", what, got[i], i, want[i])
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%s: %d elements, want %d", what, len(got), len(want))
	}
}

// Distance returns the norm of got - want, divided by the norm of want, or by least if that is more.
func Distance(got, want []float32, least float64) float64 {
	d, n := 0.0, 0.0
	for i, w := range want {
		d += math.Pow(float64(got[i])-float64(w), 2)
		n += math.Pow(float64(w), 2)
	}
	return math.Sqrt(d) / max(math.Sqrt(n), least)
}
