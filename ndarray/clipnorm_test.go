package ndarray_test

import (
	"math"
	"strings"
	"testing"

	nd "gomx/ndarray"
)

func TestClipGlobalNorm(t *testing.T) {
	a, b := nd.FromSlice([]float32{3, 0}), nd.FromSlice([]float64{4})
	norm, err := nd.ClipGlobalNorm([]*nd.Array{a, b}, 1)
	if err != nil || norm != 5 {
		t.Fatalf("norm %v, %v, want 5", norm, err)
	}
	scale := 1 / (5 + 1e-8)
	want(t, a, float32(3*scale), 0)
	want(t, b, float32(4*scale))
	if norm, err = nd.ClipGlobalNorm([]*nd.Array{a}, 100); err != nil || math.Abs(norm-0.6) > 1e-6 {
		t.Errorf("norm %v, %v, want 0.6", norm, err)
	}
	want(t, a, float32(3*scale), 0)

	broken := nd.FromSlice([]float32{float32(math.Inf(1)), 2})
	if _, err := nd.ClipGlobalNorm([]*nd.Array{broken}, 1); err == nil ||
		!strings.Contains(err.Error(), "the norm is +Inf") {
		t.Errorf("got %v, want an error that names the norm", err)
	}
	want(t, broken, float32(math.Inf(1)), 2)
	for _, limit := range []float64{0, -1, math.NaN()} {
		if _, err := nd.ClipGlobalNorm([]*nd.Array{a}, limit); err == nil {
			t.Errorf("max %v is accepted", limit)
		}
	}
	if _, err := nd.ClipGlobalNorm(nil, 1); err == nil {
		t.Error("no arrays are accepted")
	}
}
