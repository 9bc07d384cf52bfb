package symbol_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gomx/device"
	nd "gomx/ndarray"
	sym "gomx/symbol"
)

func ExampleSymbol_Compose() {
	body := sym.Activation(sym.FullyConnected(sym.Var("data"),
		sym.FullyConnectedParams{NumHidden: 8}, sym.Name("fc1")),
		sym.ActivationParams{ActType: "relu"}, sym.Name("act"))
	head := sym.FullyConnected(sym.Var("features"), sym.FullyConnectedParams{NumHidden: 3},
		sym.Name("fc2"))
	net := head.Compose(map[string]*sym.Symbol{"features": body})
	fmt.Println(net.Arguments())
	fmt.Println(head.Arguments())
	// Output:
	// [data fc1_weight fc1_bias fc2_weight fc2_bias]
	// [features fc2_weight fc2_bias]
}

func TestCompose(t *testing.T) {
	a, b := sym.Var("a"), sym.Var("b")
	first := sym.Square(a, sym.Name("first"))
	s := sym.Group(sym.ElemwiseSub(first, b, sym.Name("sub"), sym.After(first)), a,
		sym.Negative(b, sym.Name("neg")))
	tests := []struct {
		name   string
		inputs map[string]*sym.Symbol
		want   string // the values of all outputs, for a = 3, b = 2, c = 5
	}{
		{"nothing", nil, "[7] [3] [-2]"},
		{"one", map[string]*sym.Symbol{"a": sym.Var("c")}, "[23] [5] [-2]"},
		{"swapped", map[string]*sym.Symbol{"a": b, "b": a}, "[1] [2] [-3]"},
		{"by something that reads it", map[string]*sym.Symbol{"b": sym.Negative(b, sym.Name("n"))},
			"[11] [3] [2]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := s.Compose(tt.inputs)
			values := map[string]*nd.Array{}
			for _, name := range r.Inputs() {
				values[name] = nd.FromSlice([]float32{map[string]float32{"a": 3, "b": 2,
					"c": 5}[name]})
			}
			outs, err := r.Eval(device.CPU(), values)
			if err != nil {
				t.Fatal(err)
			}
			if got := valuesOf(t, outs); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
	if got := s.Compose(map[string]*sym.Symbol{"a": b}).Nodes(); slices.Contains(got,
		first.Entries()[0].Node) {
		t.Error("the original square is part of the composed graph, also through a control " +
			"dependency")
	}
}

func TestComposeErrors(t *testing.T) {
	s := sym.Negative(sym.Var("a"))
	bad := sym.FullyConnected(s, sym.FullyConnectedParams{})
	for name, tt := range map[string]struct {
		inputs map[string]*sym.Symbol
		want   string
	}{
		"unknown":     {map[string]*sym.Symbol{"c": s}, `no variable "c"`},
		"nil":         {map[string]*sym.Symbol{"a": nil}, "nil"},
		"two":         {map[string]*sym.Symbol{"a": sym.Group(s, s)}, "2 outputs"},
		"their fault": {map[string]*sym.Symbol{"a": bad}, "num_hidden"},
	} {
		if err := s.Compose(tt.inputs).Err(); err == nil ||
			!strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got error %v, want one with %q", name, err, tt.want)
		}
	}
	if err := bad.Compose(nil).Err(); err == nil {
		t.Error("a mistake in the symbol itself is lost")
	}
}

func TestInputsListsStatesToo(t *testing.T) {
	s := sym.BatchNorm(sym.Var("data"), sym.BatchNormParams{}, sym.Name("bn"))
	if got, want := strings.Join(s.Inputs(), " "),
		"data bn_gamma bn_beta bn_moving_mean bn_moving_var"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
