package random_test

import (
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/philox"
	"gomx/op/random"
)

// TestLayout holds faster kernels to the numbers that package philox defines.
func TestLayout(t *testing.T) {
	const n = 1001 // no multiple of a block
	u, z := make([]float64, n), make([]float64, n)
	philox.Uniform(u, seed, 0)
	philox.Normal(z, seed, 0)
	f64 := op.Some(dtype.Float64)
	tests := []struct {
		name string
		op   *op.Op
		p    any
		want []float64
	}{
		{"uniform", random.Uniform.Op, random.UniformParams{Shape: []int{n}, DType: f64}, u},
		{"normal", random.Normal.Op, random.NormalParams{Shape: []int{n}, DType: f64}, z},
	}
	for _, tt := range tests {
		p, err := tt.op.Normalize(tt.p)
		if err != nil {
			t.Fatal(err)
		}
		out, err := optest.Runner{Seed: seed}.Apply(tt.op, p, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, got := range loop.Floats(out[0]) {
			if got != tt.want[i] {
				t.Fatalf("%s, element %d: got %v, want %v", tt.name, i, got, tt.want[i])
			}
		}
	}
}
