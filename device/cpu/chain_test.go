//go:build cgo

package cpu_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"gomx/device/cpu"
)

// chainCase is a random chain over n elements with its inputs.
type chainCase struct {
	n     int
	in    []cpu.Repeat
	data  [][]float32
	steps []cpu.ChainStep
	outs  []int
}

func newChainCase(rng *rand.Rand) *chainCase {
	c := &chainCase{n: []int{1, 7, 500, 3000, 5000}[rng.IntN(5)] + rng.IntN(20)}
	for range 1 + rng.IntN(4) {
		r := cpu.Repeat{}
		switch rng.IntN(4) {
		case 0:
			r = cpu.Repeat{Each: 1, Size: 1}
		case 1:
			r = cpu.Repeat{Each: 1 + rng.IntN(70), Size: 1 + rng.IntN(40)}
		case 2:
			r = cpu.Repeat{Each: 1, Size: 1 + rng.IntN(3000)}
		}
		size := r.Size
		if size == 0 {
			size = c.n
		}
		x := make([]float32, size)
		for i := range x {
			x[i] = rng.Float32()*4 - 2
		}
		c.in, c.data = append(c.in, r), append(c.data, x)
	}
	zips := []cpu.ZipOp{cpu.Add, cpu.Sub, cpu.Mul, cpu.Max, cpu.SigmoidGrad, cpu.TanhGrad,
		cpu.AXPBY}
	maps := []cpu.MapOp{cpu.Neg, cpu.Square, cpu.Sigmoid, cpu.Tanh, cpu.Exp, cpu.Erf, cpu.ReLU,
		cpu.MulS, cpu.AddS}
	for i := range 1 + rng.IntN(14) {
		value := func() int { return rng.IntN(len(c.in) + i) }
		switch rng.IntN(5) {
		case 0:
			args := []int{value()}
			for range rng.IntN(4) {
				args = append(args, value())
			}
			c.steps = append(c.steps, cpu.ChainStep{Do: cpu.AddUp{}, Args: args})
		case 1, 2:
			c.steps = append(c.steps, cpu.ChainStep{Do: cpu.Zip{Op: zips[rng.IntN(len(zips))],
				S: 0.5, T: 0.25}, Args: []int{value(), value()}})
		default:
			c.steps = append(c.steps, cpu.ChainStep{Do: cpu.Map{Op: maps[rng.IntN(len(maps))],
				S: 0.5, T: 0.25}, Args: []int{value()}})
		}
	}
	for i := range c.steps {
		if len(c.outs) < 8 && (i == len(c.steps)-1 || rng.IntN(4) == 0) {
			c.outs = append(c.outs, len(c.in)+i)
		}
	}
	return c
}

// want computes the steps one after the other over whole arrays.
func (c *chainCase) want() [][]float32 {
	var values [][]float32
	for i, r := range c.in {
		x := make([]float32, c.n)
		for e := range x {
			if r.Size == 0 {
				x[e] = c.data[i][e]
			} else {
				x[e] = c.data[i][e/r.Each%r.Size]
			}
		}
		values = append(values, x)
	}
	at := func(x []float32) unsafe.Pointer { return unsafe.Pointer(&x[0]) }
	for _, s := range c.steps {
		y := make([]float32, c.n)
		switch do := s.Do.(type) {
		case cpu.Map:
			do.Run(at(y), at(values[s.Args[0]]), c.n)
		case cpu.Zip:
			do.Run(at(y), at(values[s.Args[0]]), at(values[s.Args[1]]), c.n)
		case cpu.AddUp:
			copy(y, values[s.Args[0]])
			for _, a := range s.Args[1:] {
				cpu.Zip{}.Run(at(y), at(y), at(values[a]), c.n)
			}
		}
		values = append(values, y)
	}
	return values
}

// TestChainIsItsStepsToTheBit compares random chains, also with outputs in the place of inputs,
// with their steps.
func TestChainIsItsStepsToTheBit(t *testing.T) {
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 9))
		c := newChainCase(rng)
		want := c.want()
		k, ok := cpu.NewChain(c.in, c.steps, c.outs, 1+rng.IntN(2))
		if !ok {
			t.Fatalf("seed %d: %d steps are refused", seed, len(c.steps))
		}
		var in, out []unsafe.Pointer
		free := map[int]bool{}
		for i, r := range c.in {
			in = append(in, unsafe.Pointer(&c.data[i][0]))
			free[i] = r.Size == 0
		}
		made := make([][]float32, len(c.outs))
		for o := range c.outs {
			made[o] = make([]float32, c.n)
			for i := range c.in {
				if free[i] && rng.IntN(2) == 0 {
					made[o], free[i] = c.data[i], false
					break
				}
			}
			out = append(out, unsafe.Pointer(&made[o][0]))
		}
		k.Run(out, in, c.n)
		for o, v := range c.outs {
			for e := range made[o] {
				if math.Float32bits(made[o][e]) != math.Float32bits(want[v][e]) &&
					(made[o][e] == made[o][e] || want[v][e] == want[v][e]) {
					t.Fatalf("seed %d: output %d (step %d) of %d elements: got %v at %d, want %v",
						seed, o, v-len(c.in), c.n, made[o][e], e, want[v][e])
				}
			}
		}
	}
}

func TestChainRefusesTooMuch(t *testing.T) {
	if _, ok := cpu.NewChain(make([]cpu.Repeat, 17), nil, nil, 1); ok {
		t.Error("17 inputs are accepted")
	}
	steps := make([]cpu.ChainStep, 65)
	for i := range steps {
		steps[i] = cpu.ChainStep{Do: cpu.Map{Op: cpu.Neg}, Args: []int{i}}
	}
	if _, ok := cpu.NewChain(make([]cpu.Repeat, 1), steps, []int{65}, 1); ok {
		t.Error("65 steps are accepted")
	}
	if _, ok := cpu.NewChain(make([]cpu.Repeat, 1), steps[:64], []int{64}, 1); !ok {
		t.Error("64 steps are refused")
	}
}
