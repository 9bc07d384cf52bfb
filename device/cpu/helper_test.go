package cpu_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"gomx/device"
	_ "gomx/device/cpu"
)

// rng returns a generator whose seed is printed when the test fails.
func rng(t *testing.T) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	})
	return rand.New(rand.NewPCG(seed, 0))
}

// guarded is a float32 array between two borders of NaN, at an address that no vector is aligned
// to.
type guarded struct {
	all []float32
	v   []float32
}

const border = 19

func newGuarded(n int) guarded {
	all := make([]float32, n+2*border)
	for i := range all {
		all[i] = float32(math.NaN())
	}
	return guarded{all, all[border : border+n : border+n]}
}

// random fills n elements with values between -2 and 2.
func random(r *rand.Rand, n int) guarded {
	g := newGuarded(n)
	for i := range g.v {
		g.v[i] = r.Float32()*4 - 2
	}
	return g
}

func (g guarded) ptr() unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(g.v)) }

func (g guarded) clone() guarded {
	c := newGuarded(len(g.v))
	copy(c.v, g.v)
	return c
}

// intact fails the test when a kernel wrote beyond the array.
func (g guarded) intact(t *testing.T, what string) {
	t.Helper()
	for i := range border {
		if g.all[i] == g.all[i] || g.all[len(g.all)-1-i] == g.all[len(g.all)-1-i] {
			t.Fatalf("%s: wrote beyond the array", what)
		}
	}
}

// near fails the test unless got equals want up to rounding, relative to the size of want's
// elements.
func near(t *testing.T, what string, got []float32, want []float64, tol float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d elements, want %d", what, len(got), len(want))
	}
	for i, w := range want {
		g := float64(got[i])
		if g == w || math.IsNaN(g) && math.IsNaN(w) {
			continue
		}
		if !(math.Abs(g-w) <= tol*(1+math.Abs(w))) {
			t.Fatalf("%s: element %d is %v, want %v", what, i, g, w)
		}
	}
}

// scratch returns n aligned bytes that live as long as the test.
func scratch(t testing.TB, n int) unsafe.Pointer {
	t.Helper()
	b, err := device.Alloc(device.CPU(), n, device.PurposeScratch)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Free)
	return b.Ptr
}

// sizes are lengths around those of vectors, unrolled loops and pieces per thread.
var sizes = []int{0, 1, 2, 15, 16, 17, 63, 64, 65, 1023, 1025, 5000}
