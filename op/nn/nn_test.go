package nn_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/loop"
)

// random returns a float32 operand with distinct values in [-1, 1), the same for the same seed.
func random(seed uint64, shape ...int) op.Tensor {
	t := optest.New(dtype.Float32, shape...)
	rng := rand.New(rand.NewPCG(seed, 1))
	loop.Generate(t, func(int) float64 { return 2*rng.Float64() - 1 })
	return t
}

// positive is random with values in [0.5, 1.5).
func positive(seed uint64, shape ...int) op.Tensor {
	t := random(seed, shape...)
	loop.Map(loop.Func1{F: func(x float64) float64 { return 1 + x/2 }}, t, t)
	return t
}

// values returns a float32 operand.
func values(shape dtype.Shape, v ...float32) op.Tensor { return op.TensorOf(v, shape...) }

// vec returns a float32 vector.
func vec(v ...float32) op.Tensor { return op.TensorOf(v) }

// count returns 0, 1, 2, ... in a shape.
func count(shape ...int) op.Tensor {
	t := optest.New(dtype.Float32, shape...)
	loop.Generate(t, func(i int) float64 { return float64(i) })
	return t
}

// half converts an operand to float16.
func half(t op.Tensor) op.Tensor {
	h := optest.New(dtype.Float16, t.Shape...)
	loop.Store(h, 0, loop.Floats(t))
	return h
}

// inferCase is one inference of shapes that must fail, with what the message says, or give shapes.
type inferCase struct {
	name    string
	op      *op.Op
	attrs   string // "key=value key=value"
	in, out []dtype.Shape
	wantIn  []dtype.Shape
	wantOut []dtype.Shape
	err     string
}

func runInfer(t *testing.T, cases []inferCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.op.Name+"/"+c.name, func(t *testing.T) {
			attrs := map[string]string{}
			for _, kv := range strings.Fields(c.attrs) {
				k, v, _ := strings.Cut(kv, "=")
				attrs[k] = v
			}
			p, err := c.op.ParseParams(attrs)
			if err != nil {
				t.Fatal(err)
			}
			err = c.op.InferShape(p, c.in, c.out)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("got error %v, want one with %q", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			compareShapes(t, "input", c.in, c.wantIn)
			compareShapes(t, "output", c.out, c.wantOut)
		})
	}
}

func compareShapes(t *testing.T, what string, got, want []dtype.Shape) {
	t.Helper()
	for i, w := range want {
		if !got[i].Equal(w) {
			t.Errorf("%s %d: got %v, want %v", what, i, got[i], w)
		}
	}
}
