package quant_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	nd "gomx/ndarray"
	"gomx/op/quant"
)

// TestLSTMSteps compares the kernels with an LSTM whose weights are real numbers. The states, numbers
// of 256 steps of their range, are rounded by the test.
func TestLSTMSteps(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 5))
		p := quant.LSTMStepsParams{StateSize: []int{1, 3, 16, 17, 37, 64}[rng.IntN(6)],
			Direction: []string{"forward", "reverse", "bidirectional"}[rng.IntN(3)], StateOutputs: true}
		dirs := 1
		if p.Direction == "bidirectional" {
			dirs = 2
		}
		l := steps{p: p, dirs: dirs, steps: 1 + rng.IntN(4), batch: 1 + rng.IntN(3)}
		l.draw(rng)
		outs := l.run()
		want := l.want()
		for i, o := range outs {
			got := floats(t, o)
			for k, w := range want[i] {
				// A state near the middle of two integers may be rounded to the other one.
				if d := math.Abs(float64(got[k]) - w); !(d <= 2e-5) {
					t.Fatalf("seed %d, %+v, %d steps, batch %d: output %d, element %d is %v, want %v",
						seed, p, l.steps, l.batch, i, k, got[k], w)
				}
			}
		}
	}
}

// steps is a layer with its operands.
type steps struct {
	p                  quant.LSTMStepsParams
	dirs, steps, batch int
	x, scale, h, c     []float32
	codes              []int8
}

func (l *steps) draw(rng *rand.Rand) {
	n := l.p.StateSize
	draw := func(count int, size float64) []float32 {
		v := make([]float32, count)
		for i := range v {
			v[i] = float32(size * (2*rng.Float64() - 1))
		}
		return v
	}
	l.x = draw(l.steps*l.batch*l.dirs*4*n, 2)
	l.scale, l.codes = draw(l.dirs*4*n, 0.01), make([]int8, l.dirs*4*n*n)
	for i := range l.codes {
		l.codes[i] = int8(rng.IntN(256) - 128)
	}
	l.h, l.c = draw(l.dirs*l.batch*n, 1), draw(l.dirs*l.batch*n, 1)
}

func (l *steps) run() []*nd.Array {
	n := l.p.StateSize
	return nd.ContribQuantizedLstmSteps(nd.FromSlice(l.x, l.steps, l.batch, l.dirs*4*n),
		nd.FromSlice(l.codes, l.dirs*4*n, n), nd.FromSlice(l.scale, l.dirs*4*n),
		nd.FromSlice(l.h, l.dirs, l.batch, n), nd.FromSlice(l.c, l.dirs, l.batch, n), l.p)
}

// want computes the outputs step by step.
func (l *steps) want() [3][]float64 {
	n := l.p.StateSize
	y := make([]float64, l.steps*l.batch*l.dirs*n)
	var h, c []float64
	for d := range l.dirs {
		state, cells := wide(l.h[d*l.batch*n:][:l.batch*n]), wide(l.c[d*l.batch*n:][:l.batch*n])
		for i := range l.steps {
			t := i
			if d == 1 || l.p.Direction == "reverse" {
				t = l.steps - 1 - i
			}
			read := eightBits(state)
			for k := range state {
				b, unit := k/n, k%n
				var gates [4]float64
				for g := range gates {
					row := (d*4+g)*n + unit
					gates[g] = float64(l.x[(t*l.batch+b)*l.dirs*4*n+row])
					for m, v := range read[b*n : (b+1)*n] {
						gates[g] += v * float64(l.codes[row*n+m]) * float64(l.scale[row])
					}
				}
				cells[k] = logistic(gates[1])*cells[k] + logistic(gates[0])*math.Tanh(gates[2])
				state[k] = logistic(gates[3]) * math.Tanh(cells[k])
				y[((t*l.batch+b)*l.dirs+d)*n+unit] = state[k]
			}
		}
		h, c = append(h, state...), append(c, cells...)
	}
	return [3][]float64{y, h, c}
}

func logistic(v float64) float64 { return 1 / (1 + math.Exp(-v)) }

func wide(v []float32) []float64 {
	w := make([]float64, len(v))
	for i, x := range v {
		w[i] = float64(x)
	}
	return w
}

// eightBits rounds numbers to 256 steps between the least and the greatest of them and zero.
func eightBits(v []float64) []float64 {
	low, high := 0.0, 0.0
	for _, x := range v {
		low, high = min(low, x), max(high, x)
	}
	step := (high - low) / 255
	if step == 0 {
		return make([]float64, len(v))
	}
	zero := math.RoundToEven(-low / step)
	w := make([]float64, len(v))
	for i, x := range v {
		w[i] = step * (min(max(math.RoundToEven(x/step)+zero, 0), 255) - zero)
	}
	return w
}

// BenchmarkLSTMSteps goes through 20 steps in both directions.
func BenchmarkLSTMSteps(b *testing.B) {
	for _, n := range []int{128, 512} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			l := steps{p: quant.LSTMStepsParams{StateSize: n, Direction: "bidirectional"}, dirs: 2,
				steps: 20, batch: 1}
			l.draw(rand.New(rand.NewPCG(1, 5)))
			p := l.p
			in := []*nd.Array{nd.FromSlice(l.x, l.steps, 1, 8*n), nd.FromSlice(l.codes, 8*n, n),
				nd.FromSlice(l.scale, 8*n), nd.FromSlice(l.h, 2, 1, n), nd.FromSlice(l.c, 2, 1, n)}
			for b.Loop() {
				y := nd.Apply(quant.LSTMSteps, p, in...)
				if err := y.Wait(b.Context()); err != nil {
					b.Fatal(err)
				}
				y.Close()
			}
		})
	}
}
