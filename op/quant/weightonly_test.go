package quant_test

import (
	"math"
	"math/rand/v2"
	"testing"

	nd "gomx/ndarray"
	"gomx/op/quant"
	"gomx/quantize"
)

// TestWeightOnly compares the kernels with a product of the weights that the integers stand for,
// which are near the weights that were packed.
func TestWeightOnly(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 4))
		c := quantize.WeightConfig{Bits: 4 + 4*rng.IntN(2), Group: 32 * rng.IntN(3)}
		columns := 32 * (1 + rng.IntN(5)) * max(c.Group/32, 1)
		if c.Bits == 8 && c.Group == 0 {
			columns = 1 + rng.IntN(150)
		}
		rows, outputs := []int{1, 2, 3, 5, 11, 12, 40}[rng.IntN(7)], 1+rng.IntN(40)
		draw := func(n int) []float32 {
			v := make([]float32, n)
			for i := range v {
				v[i] = float32(rng.NormFloat64())
			}
			return v
		}
		x, w, bias := draw(rows*columns), draw(outputs*columns), draw(outputs)
		codes, scale, err := quantize.PackWeights(nd.FromSlice(w, outputs, columns), c)
		if err != nil {
			t.Fatal(err)
		}
		p := quant.WeightOnlyParams{NumHidden: outputs, Bits: c.Bits, Group: c.Group,
			NoBias: rng.IntN(3) == 0}
		if c.Bits == 4 && c.Group == 0 {
			p.Group = 32
		}
		in := []*nd.Array{nd.FromSlice(x, rows, columns), codes, scale}
		if !p.NoBias {
			in = append(in, nd.FromSlice(bias, outputs))
		}
		got := floats(t, nd.Apply(quant.WeightOnlyFullyConnected, p, in...))
		// The rows of a unit matrix give the weights themselves.
		unit := make([]float32, columns*columns)
		for k := range columns {
			unit[k*columns+k] = 1
		}
		q := p
		q.NoBias = true
		back := floats(t, nd.Apply(quant.WeightOnlyFullyConnected, q,
			nd.FromSlice(unit, columns, columns), codes, scale)) // (columns, outputs)
		each := p.Group
		if each == 0 {
			each = columns
		}
		scales := floats(t, scale)
		for j := range outputs {
			for k := range columns {
				step := scales[j*(columns/each)+k/each]
				d := math.Abs(float64(back[k*outputs+j] - w[j*columns+k]))
				if d > float64(step)*0.5001 {
					t.Fatalf("seed %d, %+v: weight %d of output %d is %v, want %v within %v", seed, p,
						k, j, back[k*outputs+j], w[j*columns+k], step/2)
				}
			}
		}
		for i, v := range got {
			r, j, want := i/outputs, i%outputs, 0.0
			for k := range columns {
				want += float64(x[r*columns+k]) * float64(back[k*outputs+j])
			}
			if !p.NoBias {
				want += float64(bias[j])
			}
			if math.Abs(float64(v)-want) > 1e-4*math.Sqrt(float64(columns)) {
				t.Fatalf("seed %d, %d rows, %d columns, %+v: output %d is %v, want %v", seed, rows,
					columns, p, i, v, want)
			}
		}
	}
}

func floats(t *testing.T, a *nd.Array) []float32 {
	t.Helper()
	v, err := a.Float32s()
	if err != nil {
		t.Fatal(err)
	}
	return v
}
