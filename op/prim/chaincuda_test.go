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
	unary := []op.Handle[op.NoParams]{prim.Exp, prim.Tanh, prim.Relu, prim.Square, prim.Negative, prim.Sigmoid}
	binary := []op.Handle[op.NoParams]{prim.BroadcastAdd, prim.BroadcastSub, prim.BroadcastMul, prim.BroadcastMaximum, prim.BroadcastLesser}
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

// TestCUDAChain compares generated kernels with the operators one by one on the same device, to the bit.
func TestCUDAChain(t *testing.T) {
	if device.Count(device.KindCUDA) == 0 {
		t.Skip("no devices: ", cuda.Missing())
	}
	for seed, dt := range slices.Concat(cuda.Floats(), cuda.Floats()) {
		rng := rand.New(rand.NewPCG(uint64(seed), 2))
		c, r := randomChain(rng, 2+rng.IntN(6)), optest.Runner{Device: device.CUDA(0)}
		shapes := []dtype.Shape{{2 + rng.IntN(9), 3, 1 + rng.IntN(40)}, {3, 1}, {1}}
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
				t.Errorf("seed %d, %v, output %d of %s: got %s, want %s", seed, dt, k, c.Code(), fmt.Sprint(got[k]), fmt.Sprint(values[v]))
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
