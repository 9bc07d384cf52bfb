package symbol_test

import (
	"fmt"
	"strings"
	"testing"

	"gomx/device"
	nd "gomx/ndarray"
	sym "gomx/symbol"
)

func ExampleSymbol_Eval() {
	a, b := sym.Var("a"), sym.Var("b")
	c := sym.ElemwiseAdd(a, sym.MulScalar(b, sym.ScalarParams{Scalar: 10}))
	outs, err := c.Eval(device.CPU(), map[string]*nd.Array{
		"a": nd.FromSlice([]float32{1, 2, 3}),
		"b": nd.Ones(nd.Shape{3}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(outs[0].Float32s())
	// Output: [11 12 13] <nil>
}

func TestEval(t *testing.T) {
	x := sym.Var("x")
	norm := sym.BatchNorm(x, sym.BatchNormParams{Eps: sym.Some(1e-3)}, sym.Name("bn")).At(0)
	values := map[string]*nd.Array{"x": nd.FromSlice([]float32{1, 2}, 1, 2),
		"bn_gamma": nd.Ones(nd.Shape{2}), "bn_beta": nd.Zeros(nd.Shape{2}),
		"bn_moving_mean": nd.FromSlice([]float32{1, 1}),
		"bn_moving_var":  nd.FromSlice([]float32{1 - 1e-3, 1 - 1e-3})}
	without := func(name string) map[string]*nd.Array {
		m := map[string]*nd.Array{}
		for k, v := range values {
			if k != name {
				m[k] = v
			}
		}
		return m
	}
	extra := without("")
	extra["y"] = values["x"]
	tests := []struct {
		name    string
		s       *sym.Symbol
		values  map[string]*nd.Array
		want    string
		wantErr []string
	}{
		{"auxiliary states and several outputs", sym.Group(norm, sym.Negative(x)), values,
			"[0 1] [-1 -2]", nil},
		{"a variable", x, map[string]*nd.Array{"x": values["x"]}, "[1 2]", nil},
		{"without arguments", sym.Eye(sym.EyeParams{N: 2}), nil, "[1 0 0 1]", nil},
		{"argument missing", norm, without("bn_beta"), "", []string{"Eval", "bn_beta"}},
		{"state missing", norm, without("bn_moving_mean"), "", []string{"Eval", "bn_moving_mean"}},
		{"unknown name", norm, extra, "", []string{`"y"`, "bn_gamma"}},
		{"mistake in composition", sym.FullyConnected(x, sym.FullyConnectedParams{}), values, "",
			[]string{"num_hidden"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			outs, err := tt.s.Eval(device.CPU(), tt.values)
			if tt.wantErr != nil {
				for _, want := range tt.wantErr {
					if err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("got error %v, want one with %q", err, want)
					}
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := valuesOf(t, outs); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// valuesOf prints the values of arrays.
func valuesOf(t *testing.T, list []*nd.Array) string {
	t.Helper()
	var text []string
	for _, a := range list {
		v, err := a.Float32s()
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, fmt.Sprint(v))
	}
	return strings.Join(text, " ")
}
