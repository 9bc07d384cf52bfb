package prim_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"gomx/device"
	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/prim"
)

// geluChain is x · ½ · (1 + erf(x · 0.7)) + y with y along the last axis.
func geluChain() *prim.Chain {
	scalar := func(h op.Handle[prim.ScalarParams], s float64, arg int) prim.ChainStep {
		return prim.ChainStep{Op: h.Op, Params: prim.ScalarParams{Scalar: s}, Args: []int{arg}}
	}
	return &prim.Chain{Inputs: 2, Outs: []int{5, 7}, Steps: []prim.ChainStep{
		scalar(prim.MulScalar, 0.7, 0),
		{Op: prim.Erf.Op, Params: op.NoParams{}, Args: []int{2}},
		scalar(prim.PlusScalar, 1, 3),
		{Op: prim.ElemwiseMul.Op, Params: op.NoParams{}, Args: []int{0, 4}},
		scalar(prim.MulScalar, 0.5, 5),
		{Op: prim.BroadcastAdd.Op, Params: op.NoParams{}, Args: []int{6, 1}},
	}}
}

func TestChainCode(t *testing.T) {
	code := geluChain().Code()
	want := "in 2; _mul_scalar 0 scalar=0.7; erf 2; _plus_scalar 3 scalar=1; elemwise_mul 0 4; " +
		"_mul_scalar 5 scalar=0.5; broadcast_add 6 1; out 5 7"
	if code != want {
		t.Errorf("got %s, want %s", code, want)
	}
	back, err := prim.ParseChain(code)
	if err != nil {
		t.Fatal(err)
	}
	if got := back.Code(); got != want {
		t.Errorf("after parsing: got %s, want %s", got, want)
	}
}

func TestChainCodeErrors(t *testing.T) {
	for _, tt := range []struct{ code, want string }{
		{"", "parts"}, {"in 1; out 0", "parts"}, {"in -1; exp 0; out 1", "begins"},
		{"in x; exp 0; out 1", "begins"},
		{"in 1; dot 0 0; out 1", "pointwise"}, {"in 1; exp 1; out 1", "value 1"},
		{"in 1; exp 0 0; out 1", "operands"},
		{"in 1; exp 0; out 0", "output 0"}, {"in 1; exp 0; out 2", "output 2"},
		{"in 1; _mul_scalar 0 scalar=x; out 1", "scalar"}, {"in 1; exp 0 a=b; out 1", "unknown"},
	} {
		if _, err := prim.ParseChain(tt.code); err == nil ||
			!strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: got %v, want an error that mentions %q", tt.code, err, tt.want)
		}
	}
}

func FuzzParseChain(f *testing.F) {
	f.Add(geluChain().Code())
	f.Fuzz(func(t *testing.T, code string) {
		c, err := prim.ParseChain(code)
		if err != nil {
			return
		}
		if _, err := prim.ParseChain(c.Code()); err != nil {
			t.Errorf("%q: written as %q, which is not read: %v", code, c.Code(), err)
		}
	})
}

func TestRepeats(t *testing.T) {
	for _, tt := range []struct {
		in, out    dtype.Shape
		each, size int
		ok         bool
	}{
		{dtype.Shape{2, 3}, dtype.Shape{2, 3}, 1, 0, true}, {dtype.Shape{3}, dtype.Shape{2, 3}, 1,
			3, true},
		{dtype.Shape{2, 1}, dtype.Shape{2, 3}, 3, 2, true}, {dtype.Shape{1}, dtype.Shape{2, 3}, 6,
			1, true},
		{dtype.Shape{1, 4, 1, 1}, dtype.Shape{2, 4, 5, 6}, 30, 4, true}, {dtype.Shape{2, 1, 5},
			dtype.Shape{2, 4, 5}, 0, 0, false},
		{dtype.Shape{4, 1, 1}, dtype.Shape{2, 4, 1, 6}, 6, 4, true}, {dtype.Shape{2, 3, 1},
			dtype.Shape{3, 1}, 0, 0, false},
		{dtype.Shape{1, 2, 3}, dtype.Shape{2, 3}, 0, 0, false},
	} {
		each, size, ok := prim.Repeats(tt.in, tt.out)
		if ok != tt.ok || ok && (each != tt.each || size != tt.size) {
			t.Errorf("%v in %v: got %d, %d, %v, want %d, %d, %v", tt.in, tt.out, each, size, ok,
				tt.each, tt.size, tt.ok)
		}
	}
}

// stepByStep returns the inputs of a chain and what each of its steps computes as an operator of
// its own.
func stepByStep(t *testing.T, r optest.Runner, c *prim.Chain, in []op.Tensor) []op.Tensor {
	t.Helper()
	values := append([]op.Tensor{}, in...)
	for _, s := range c.Steps {
		var args []op.Tensor
		for _, a := range s.Args {
			args = append(args, values[a])
		}
		y, err := r.Apply(s.Op, s.Params, args)
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, y[0])
	}
	return values
}

// TestFusedPointwiseIsItsSteps compares every tier with the operators one by one on that tier, to
// the bit.
func TestFusedPointwiseIsItsSteps(t *testing.T) {
	c := geluChain()
	for _, tier := range []device.Tier{device.TierRef, device.TierGo, device.TierC} {
		for _, n := range []int{1, 5, 1024, 1025, 4100} {
			rng := rand.New(rand.NewPCG(uint64(n), 1))
			in := []op.Tensor{optest.New(dtype.Float32, n, 3), optest.New(dtype.Float32, 3)}
			for _, x := range in {
				for i := range op.Slice[float32](x) {
					op.Slice[float32](x)[i] = rng.Float32()*4 - 2
				}
			}
			r := optest.Runner{Tier: tier}
			values := stepByStep(t, r, c, in)
			got, err := r.Apply(prim.FusedPointwise.Op, c.Params(), in)
			if err != nil {
				t.Fatal(err)
			}
			for k, v := range c.Outs {
				if g, w := fmt.Sprint(op.Slice[float32](got[k])),
					fmt.Sprint(op.Slice[float32](values[v])); g != w {
					t.Errorf("tier %v, %d rows, output %d: got %.200s, want %.200s", tier, n, k, g,
						w)
				}
			}
		}
	}
}
