package symbol_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	sym "gomx/symbol"
)

func ExampleSymbol_DebugStr() {
	net := sym.FullyConnected(sym.Var("data"), sym.FullyConnectedParams{NumHidden: 3},
		sym.Name("fc"))
	fmt.Print(sym.Activation(net, sym.ActivationParams{ActType: "relu"},
		sym.Name("act")).DebugStr())
	// Output:
	// Symbol Outputs:
	// 	output[0]=act(0)
	// Variable:data
	// Variable:fc_weight
	// Variable:fc_bias
	// --------------------
	// Op:FullyConnected, Name=fc
	// Inputs:
	// 	arg[0]=data(0) version=0
	// 	arg[1]=fc_weight(0) version=0
	// 	arg[2]=fc_bias(0) version=0
	// Attrs:
	// 	num_hidden=3
	// --------------------
	// Op:Activation, Name=act
	// Inputs:
	// 	arg[0]=fc(0)
	// Attrs:
	// 	act_type=relu
}

// TestDebugStr compares with what MXNet 1.9.1 prints.
func TestDebugStr(t *testing.T) {
	parts := sym.SliceChannel(sym.Var("data"), sym.SliceChannelParams{NumOutputs: 3},
		sym.Name("sl"))
	first := sym.Exp(sym.Var("x"), sym.Name("first"))
	tests := []struct {
		name string
		s    *sym.Symbol
		want string
	}{
		{"variable", sym.Var("a"), "Variable:a\n"},
		{"one of several outputs", sym.PlusScalar(parts.At(1), sym.ScalarParams{Scalar: 1}, sym.Name("plus")), `Symbol Outputs:
	output[0]=plus(0)
Variable:data
--------------------
Op:SliceChannel, Name=sl
Inputs:
	arg[0]=data(0) version=0
Attrs:
	num_outputs=3
--------------------
Op:_plus_scalar, Name=plus
Inputs:
	arg[0]=sl(1)
Attrs:
	scalar=1
`},
		{"control dependency", sym.Negative(sym.Var("y"), sym.Name("last"), sym.After(first)), `Symbol Outputs:
	output[0]=last(0)
Variable:y
Variable:x
--------------------
Op:exp, Name=first
Inputs:
	arg[0]=x(0) version=0
--------------------
Op:negative, Name=last
Inputs:
	arg[0]=y(0) version=0
Control deps:
	cdep[0]=first
`},
	}
	for _, tt := range tests {
		if got := tt.s.DebugStr(); got != tt.want {
			t.Errorf("%s: got\n%swant\n%s", tt.name, got, tt.want)
		}
	}
}

// TestVersionsCountChanges looks at the version of auxiliary states, which two batch norms change
// one after the other.
func TestVersionsCountChanges(t *testing.T) {
	mean := sym.Var("mean")
	net := sym.BatchNorm(sym.Var("data"), sym.BatchNormParams{}, sym.Name("bn1"),
		sym.With("moving_mean", mean)).At(0)
	net = sym.BatchNorm(net, sym.BatchNormParams{}, sym.Name("bn2"), sym.With("moving_mean",
		mean)).At(0)
	for _, want := range []string{"arg[3]=mean(0) version=1", "arg[4]=bn1_moving_var(0) version=1",
		"arg[3]=mean(0) version=2"} {
		if got := net.DebugStr(); !strings.Contains(got, want) {
			t.Errorf("got\n%swant %q in it", got, want)
		}
	}
	text, err := net.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var g struct {
		Nodes []struct {
			Name   string
			Inputs [][]int
		}
	}
	if err := json.Unmarshal(text, &g); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, n := range g.Nodes {
		for _, e := range n.Inputs {
			got[n.Name] += fmt.Sprint(e[2])
		}
	}
	if got["bn1"] != "00011" || got["bn2"] != "00021" {
		t.Errorf("got versions %v, want 00011 of bn1 and 00021 of bn2", got)
	}
}
