package philox_test

import (
	"math"
	"testing"

	"gomx/op"
	"gomx/op/philox"
)

func TestNormalMoments(t *testing.T) {
	x := make([]float64, 1<<16)
	philox.Normal(x, op.Seed{Key: 9, Counter: 5}, 1)
	var m [5]float64
	for _, v := range x {
		for k, p := 1, v; k < len(m); k, p = k+1, p*v {
			m[k] += p / float64(len(x))
		}
	}
	for k, want := range []float64{0, 0, 1, 0, 3} {
		if math.Abs(m[k]-want) > 0.01+0.04*float64(k) {
			t.Errorf("moment %d: got %v, want %v", k, m[k], want)
		}
	}
}

func TestNormalDoesNotDependOnLength(t *testing.T) {
	long := make([]float32, 100)
	seed := op.Seed{Key: 3}
	philox.Normal(long, seed, 0)
	for n := range 9 {
		short := make([]float32, n)
		philox.Normal(short, seed, 0)
		for i := range short {
			if short[i] != long[i] {
				t.Errorf("element %d of %d: got %v, want %v", i, n, short[i], long[i])
			}
		}
	}
}
