package autograd_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gomx/autograd"
	"gomx/dtype"
	nd "gomx/ndarray"
	"gomx/op"
)

// sincos returns the sine of x times y, and the cosine of x.
var sincos = autograd.Function{
	Name: "sincos",
	Forward: func(in []*nd.Array) []*nd.Array {
		return []*nd.Array{nd.Sin(in[0]).Mul(in[1]), nd.Cos(in[0])}
	},
	Backward: func(in, out, grad []*nd.Array) []*nd.Array {
		dx := grad[0].Mul(in[1]).Mul(nd.Cos(in[0])).Sub(grad[1].Mul(nd.Sin(in[0])))
		return []*nd.Array{dx, grad[0].Mul(nd.Sin(in[0]))}
	},
}

func TestFunctionAgainstDifferences(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	x, y := positive(r, 2, 3), positive(r, 2, 3)
	value := func() *nd.Array {
		tape := autograd.Train()
		out := sincos.Apply(tape.Watch(x).Square(), tape.Watch(y))
		return weighted(out[0].Mul(out[0]).Add(out[1]))
	}
	value().Backward()
	for i, a := range []*nd.Array{x, y} {
		differences(t, i, a, func() float64 { return values(t, value())[0] })
	}
	if out := sincos.Apply(x, y); out[0].Recorded() ||
		!slices.Equal(values(t, out[1]), values(t, nd.Cos(x))) {
		t.Error("without a tape a function is recorded or wrong")
	}
}

func TestSecondOrderOfFunction(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	x, y := positive(r, 4), positive(r, 4)
	slope := func(opts ...autograd.Option) *nd.Array {
		tape := autograd.Train()
		out := sincos.Apply(tape.Watch(x).Square(), tape.Watch(y))
		g, err := autograd.Grad(out, []*nd.Array{x, y}, opts...)
		if err != nil {
			t.Fatal(err)
		}
		return weighted(g[0].Square().Add(g[1]))
	}
	slope(autograd.CreateGraph()).Backward()
	for i, a := range []*nd.Array{x, y} {
		differences(t, i, a, func() float64 { return values(t, slope())[0] })
	}
}

// A function that stops some gradients, passes others on as they are, and keeps what it computed.
func TestFunctionsKeepState(t *testing.T) {
	x, y := nd.FromSlice([]float64{1, 2}), nd.FromSlice([]float64{3, 4})
	x.AttachGrad()
	y.AttachGrad(nd.GradAdd)
	for range 2 {
		var kept *nd.Array
		f := autograd.Function{
			Forward: func(in []*nd.Array) []*nd.Array {
				kept = in[0].MulScalar(10)
				return []*nd.Array{in[0], kept.Add(in[1])}
			},
			Backward: func(_, _, grad []*nd.Array) []*nd.Array {
				return []*nd.Array{nil, grad[1].Mul(kept)}
			},
		}
		tape := autograd.Train()
		out := f.Apply(tape.Watch(x), tape.Watch(y))
		if err := autograd.Backward(out, autograd.Retain()); err != nil {
			t.Fatal(err)
		}
	}
	if got := values(t, x.Grad()); !slices.Equal(got, []float64{0, 0}) {
		t.Errorf("got %v, want zeros", got)
	}
	if got := values(t, y.Grad()); !slices.Equal(got, []float64{20, 40}) {
		t.Errorf("got %v, want two times the values kept", got)
	}
}

func TestFunctionMisuse(t *testing.T) {
	x := nd.FromSlice([]float64{1, 2})
	x.AttachGrad()
	same := func(in []*nd.Array) []*nd.Array { return in }
	backward := func(g ...*nd.Array) func(in, out, grad []*nd.Array) []*nd.Array {
		return func(_, _, _ []*nd.Array) []*nd.Array { return g }
	}
	for _, c := range []struct {
		name string
		f    autograd.Function
		want string
	}{
		{"none", autograd.Function{Forward: func([]*nd.Array) []*nd.Array { return nil }},
			"Function (function_test.go:"},
		{"nil", autograd.Function{Name: "f",
			Forward: func([]*nd.Array) []*nd.Array { return []*nd.Array{nil} }},
			"output 0 of Forward is nil"},
		{"count", autograd.Function{Name: "f", Forward: same, Backward: backward()},
			"f (function_test.go:"},
		{"gradients", autograd.Function{Name: "f", Forward: same, Backward: backward()},
			"Backward returned 0 gradients for 1 inputs"},
		{"shape", autograd.Function{Name: "f", Forward: same,
			Backward: backward(nd.Zeros(nd.Shape{3}, nd.As(dtype.Float64)))},
			"Backward returned float64 (3,) as gradient of input 0, want float64 (2,)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := func() (err error) {
				defer op.Recover(&err)
				c.f.Apply(autograd.Train().Watch(x))[0].Backward()
				return nil
			}()
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
