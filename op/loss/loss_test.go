package loss_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/loop"
)

// values returns a float32 operand.
func values(shape dtype.Shape, v ...float32) op.Tensor { return op.TensorOf(v, shape...) }

// vec returns a float32 vector.
func vec(v ...float32) op.Tensor { return op.TensorOf(v) }

// random returns a float32 operand with values in [-1, 1), the same for the same seed.
func random(seed uint64, shape ...int) op.Tensor {
	t := optest.New(dtype.Float32, shape...)
	rng := rand.New(rand.NewPCG(seed, 1))
	loop.Generate(t, func(int) float64 { return 2*rng.Float64() - 1 })
	return t
}

// half converts an operand to float16.
func half(t op.Tensor) op.Tensor {
	h := optest.New(dtype.Float16, t.Shape...)
	loop.Store(h, 0, loop.Floats(t))
	return h
}

// checkGrad compares the gradient by input 0 of an operator whose inference has defaults that a
// case does not follow, so that optest.Run would object.
func checkGrad(t *testing.T, o *op.Op, params any, in []op.Tensor, want op.Tensor) {
	t.Helper()
	var entries []op.Entry
	feeds := map[*op.Node]op.Tensor{}
	for i, v := range in {
		n := op.Var(string(rune('a' + i)))
		feeds[n], entries = v, append(entries, n.Entry(0))
	}
	n, err := op.NewNode(o, "loss", params, entries...)
	if err != nil {
		t.Fatal(err)
	}
	grads, err := op.Gradient(n, []op.Entry{{}}, []bool{true, false})
	if err != nil {
		t.Fatal(err)
	}
	got, err := optest.Eval(grads[:1], feeds)
	if err != nil {
		t.Fatal(err)
	}
	if d := optest.Diff(got[0], want, optest.Tolerance{}); d != "" {
		t.Error(d)
	}
}

// inferCase is one inference of shapes that must fail, with what the message says, or give shapes.
type inferCase struct {
	name    string
	params  any
	in, out []dtype.Shape
	want    []dtype.Shape // of the inputs
	err     string
}

func runInfer(t *testing.T, o *op.Op, cases ...inferCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(o.Name+"/"+c.name, func(t *testing.T) {
			p, err := o.Normalize(c.params)
			if err != nil {
				t.Fatal(err)
			}
			if c.out == nil {
				c.out = make([]dtype.Shape, 1)
			}
			err = o.InferShape(p, c.in, c.out)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("got error %v, want one with %q", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for i, w := range c.want {
				if !c.in[i].Equal(w) {
					t.Errorf("input %d: got %v, want %v", i, c.in[i], w)
				}
			}
		})
	}
}
