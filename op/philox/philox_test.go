package philox_test

import (
	"math"
	"testing"

	"gomx/op"
	"gomx/op/philox"
)

// TestBlockKnownAnswers uses the vectors of Random123's kat_vectors for philox4x32-10.
func TestBlockKnownAnswers(t *testing.T) {
	tests := []struct {
		name   string
		seed   op.Seed
		stream uint32
		want   [4]uint32
	}{
		{"zeros", op.Seed{}, 0, [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
	}
	for _, tt := range tests {
		if got := philox.Block(tt.seed, tt.stream, 0); got != tt.want {
			t.Errorf("%s: got %#x, want %#x", tt.name, got, tt.want)
		}
	}
}

func TestUniformMoments(t *testing.T) {
	x := make([]float64, 1<<16)
	philox.Uniform(x, op.Seed{Key: 42, Counter: 1 << 40}, 3)
	sum, sq := 0.0, 0.0
	for _, v := range x {
		if v < 0 || v >= 1 {
			t.Fatalf("got %v, want a number of [0, 1)", v)
		}
		sum += v
		sq += v * v
	}
	n := float64(len(x))
	if m := sum / n; math.Abs(m-0.5) > 0.005 {
		t.Errorf("got mean %v, want 0.5", m)
	}
	if v := sq/n - sum*sum/n/n; math.Abs(v-1.0/12) > 0.002 {
		t.Errorf("got variance %v, want 1/12", v)
	}
}

func TestUniformDoesNotDependOnLength(t *testing.T) {
	a, b := make([]float32, 7), make([]float32, 1000)
	seed := op.Seed{Key: 1, Counter: 2}
	philox.Uniform(a, seed, 0)
	philox.Uniform(b, seed, 0)
	for i := range a {
		if a[i] != b[i] {
			t.Fatalf("element %d: got %v in a short array, %v in a long one", i, a[i], b[i])
		}
	}
}
