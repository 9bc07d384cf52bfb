//go:build cuda

package prim_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"gomx/device"
	"gomx/device/cuda"
	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/prim"
)

// randomChain makes a chain of steps that a GPU joins, over inputs of three shapes.
func randomChain(rng *rand.Rand, steps int) *prim.Chain {
	c := &prim.Chain{Inputs: 3}
	unary := []op.Handle[op.NoParams]{prim.Exp, prim.Tanh, prim.Relu, prim.Square, prim.Negative,
		prim.Sigmoid}
	binary := []op.Handle[op.NoParams]{prim.BroadcastAdd, prim.BroadcastSub, prim.BroadcastMul,
		prim.BroadcastMaximum, prim.BroadcastLesser}
	full := []int{0} // values of the shape of the output
	for i := range steps {
		s := prim.ChainStep{Params: op.NoParams{}, Args: []int{full[rng.IntN(len(full))]}}
		switch rng.IntN(4) {
		case 0:
			s.Op, s.Params = prim.MulScalar.Op, prim.ScalarParams{Scalar: rng.Float64()*2 - 1}
		case 1:
			s.Op = unary[rng.IntN(len(unary))].Op
		case 2:
			s.Op, s.Args = binary[rng.IntN(len(binary))].Op, append(s.Args, rng.IntN(c.Inputs))
		default:
			n := 2 + rng.IntN(2)
			s.Op, s.Params = prim.AddN.Op, prim.AddNParams{NumArgs: n}
			for len(s.Args) < n {
				s.Args = append(s.Args, full[rng.IntN(len(full))])
			}
		}
		c.Steps = append(c.Steps, s)
		full = append(full, c.Inputs+i)
	}
	c.Outs = []int{full[len(full)-1]}
	if other := full[1+rng.IntN(len(full)-1)]; other != c.Outs[0] {
		c.Outs = append(c.Outs, other)
	}
	return c
}

// chainShapes returns shapes of the inputs of a chain: broadcast inputs that change within a pack of
// elements, between packs, and with their elements side by side.
func chainShapes(rng *rand.Rand, kind int) []dtype.Shape {
	switch rows := 2 + rng.IntN(9); kind % 3 {
	case 1:
		return []dtype.Shape{{rows, 3, 8 * (1 + rng.IntN(5))}, {3, 1}, {1}}
	case 2:
		return []dtype.Shape{{rows, 3, 16}, {16}, {3, 16}}
	default:
		return []dtype.Shape{{rows, 3, 1 + rng.IntN(40)}, {3, 1}, {1}}
	}
}

// TestCUDAChain compares generated kernels with the operators one by one on the same device, to the
// bit.
func TestCUDAChain(t *testing.T) {
	if device.Count(device.KindCUDA) == 0 {
		t.Skip("no devices: ", cuda.Missing())
	}
	for seed, dt := range slices.Repeat(cuda.Floats(), 3) {
		rng := rand.New(rand.NewPCG(uint64(seed), 2))
		c, r := randomChain(rng, 2+rng.IntN(6)), optest.Runner{Device: device.CUDA(0)}
		shapes := chainShapes(rng, int(seed))
		values := make([]op.Tensor, len(shapes))
		for i, s := range shapes {
			x := optest.New(dtype.Float32, s...)
			for k := range op.Slice[float32](x) {
				op.Slice[float32](x)[k] = rng.Float32()*4 - 2
			}
			y, err := r.Apply(prim.Cast.Op, prim.CastParams{DType: dt}, []op.Tensor{x})
			if err != nil {
				t.Fatal(err)
			}
			values[i] = y[0]
		}
		got, err := r.Apply(prim.FusedPointwise.Op, c.Params(), values)
		if err != nil {
			t.Fatalf("seed %d: %s: %v", seed, c.Code(), err)
		}
		values = stepByStep(t, r, c, values)
		for k, v := range c.Outs {
			if !slices.Equal(raw(got[k]), raw(values[v])) {
				t.Errorf("seed %d, %v, output %d of %s: got %s, want %s", seed, dt, k, c.Code(),
					fmt.Sprint(got[k]), fmt.Sprint(values[v]))
			}
		}
	}
}

// castingChain makes a chain that goes from one type of mixed precision to another and back, over
// inputs of different types.
func castingChain(rng *rand.Rand, types []dtype.Type, in []dtype.Type) *prim.Chain {
	c := &prim.Chain{Inputs: len(in)}
	value, t := 0, in[0] // a value of the shape of the output, and its type
	add := func(o *op.Op, params any, to dtype.Type, args ...int) {
		c.Steps = append(c.Steps, prim.ChainStep{Op: o, Params: params, Args: args})
		value, t = c.Inputs+len(c.Steps)-1, to
	}
	for range 3 + rng.IntN(4) {
		switch k := rng.IntN(c.Inputs); {
		case rng.IntN(3) == 0:
			add(prim.Exp.Op, op.NoParams{}, t, value)
		case in[k] == t:
			add(prim.BroadcastMul.Op, op.NoParams{}, t, value, k)
		default:
			to := types[rng.IntN(len(types))]
			add([]op.Handle[prim.CastParams]{prim.Cast, prim.AmpCast}[rng.IntN(2)].Op,
				prim.CastParams{DType: to}, to, value)
			add(prim.MulScalar.Op, prim.ScalarParams{Scalar: 0.3}, t, value)
		}
		if rng.IntN(3) == 0 && len(c.Outs) < 3 {
			c.Outs = append(c.Outs, value)
		}
	}
	if len(c.Outs) == 0 || c.Outs[len(c.Outs)-1] != value {
		c.Outs = append(c.Outs, value)
	}
	return c
}

// TestCUDAChainCasts compares generated kernels whose values have several types with the operators
// one by one, to the bit, and the reference of the chain with both.
func TestCUDAChainCasts(t *testing.T) {
	if device.Count(device.KindCUDA) == 0 {
		t.Skip("no devices: ", cuda.Missing())
	}
	types := []dtype.Type{dtype.Float32, dtype.Float16, dtype.BFloat16}
	for seed := range uint64(9) {
		rng := rand.New(rand.NewPCG(seed, 5))
		in := []dtype.Type{types[seed%3], types[rng.IntN(3)], dtype.Float32}
		c, gpu := castingChain(rng, types, in), optest.Runner{Device: device.CUDA(0)}
		shapes := chainShapes(rng, int(seed))
		a := &op.Args{Threads: 1}
		values, host := make([]op.Tensor, len(shapes)), make([]op.Tensor, len(shapes))
		for i, s := range shapes {
			x := optest.New(dtype.Float32, s...)
			for k := range op.Slice[float32](x) {
				op.Slice[float32](x)[k] = rng.Float32()*4 - 2
			}
			for r, list := range map[optest.Runner][]op.Tensor{gpu: values, {}: host} {
				y, err := r.Apply(prim.Cast.Op, prim.CastParams{DType: in[i]}, []op.Tensor{x})
				if err != nil {
					t.Fatal(err)
				}
				list[i] = y[0]
			}
			a.In = append(a.In, op.Plain(in[i], s))
		}
		want := stepByStep(t, gpu, c, slices.Clone(values))
		for _, v := range c.Outs {
			a.Out = append(a.Out, want[v].Desc)
		}
		if !prim.FusedPointwise.Op.Serves(device.CUDA(0), device.TierRef, c.Params(), a) {
			t.Fatalf("seed %d: no kernel for %s of %v", seed, c.Code(), in)
		}
		got, err := gpu.Apply(prim.FusedPointwise.Op, c.Params(), values)
		if err != nil {
			t.Fatalf("seed %d: %s: %v", seed, c.Code(), err)
		}
		slow, err := optest.Runner{}.Apply(prim.FusedPointwise.Op, c.Params(), host)
		if err != nil {
			t.Fatalf("seed %d: %s: reference: %v", seed, c.Code(), err)
		}
		steps := stepByStep(t, optest.Runner{}, c, slices.Clone(host))
		for k, v := range c.Outs {
			if !slices.Equal(raw(got[k]), raw(want[v])) || got[k].DType != want[v].DType {
				t.Errorf("seed %d, output %d of %s: got %s, want %s", seed, k, c.Code(),
					fmt.Sprint(got[k]), fmt.Sprint(want[v]))
			}
			if !slices.Equal(raw(slow[k]), raw(steps[v])) {
				t.Errorf("seed %d, output %d of %s: the reference has %s, want %s", seed, k,
					c.Code(), fmt.Sprint(slow[k]), fmt.Sprint(steps[v]))
			}
		}
	}
}

// TestCUDAChainIsFused makes sure that the GPU, not the reference, computes chains.
func TestCUDAChainIsFused(t *testing.T) {
	c := geluChain()
	x, y := op.Plain(dtype.BFloat16, dtype.Shape{4, 3}), op.Plain(dtype.BFloat16, dtype.Shape{3})
	a := &op.Args{Threads: 1, In: []op.Desc{x, y}, Out: []op.Desc{x, x}}
	if !prim.FusedPointwise.Op.Serves(device.CUDA(0), device.TierRef, c.Params(), a) {
		t.Error("no kernel for a chain of five steps")
	}
}

func raw(t op.Tensor) []byte { return unsafe.Slice((*byte)(t.Data), t.Bytes) }
