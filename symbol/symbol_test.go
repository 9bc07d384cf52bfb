package symbol_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gomx/dtype"
	"gomx/internal/nettest"
	"gomx/op"
	sym "gomx/symbol"
)

func TestComposeNamesWhatItCreates(t *testing.T) {
	got := strings.Join(nettest.MLP().Arguments(), " ")
	if want := "data fc1_weight fc1_bias fc2_weight fc2_bias softmax_label"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := nettest.MLP().Outputs()[0], "softmax_output"; got != want {
		t.Errorf("got output %s, want %s", got, want)
	}
}

func TestUnnamedNodesAreCountedPerOperator(t *testing.T) {
	x := sym.Var("x")
	for range 2 {
		x = sym.Activation(sym.FullyConnected(x, sym.FullyConnectedParams{NumHidden: 2}),
			sym.ActivationParams{ActType: "relu"})
	}
	got := strings.Join(x.Arguments(), " ")
	if want := "x fullyconnected0_weight fullyconnected0_bias fullyconnected1_weight " +
		"fullyconnected1_bias"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestInferShape(t *testing.T) {
	args, outs, _, err := nettest.MLP().InferShape(map[string]dtype.Shape{"data": {5, 7}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(args), "[(5, 7) (8, 7) (8,) (3, 8) (3,) (5,)]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := outs[0].String(), "(5, 3)"; got != want {
		t.Errorf("got output %s, want %s", got, want)
	}
}

func TestErrorsNameTheThing(t *testing.T) {
	tests := []struct {
		name string
		run  func() error
		want []string
	}{
		{"shapes that do not fit", func() error {
			_, _, _, err := nettest.MLP().InferShape(map[string]dtype.Shape{"data": {5, 7},
				"fc1_weight": {8, 9}})
			return err
		}, []string{"FullyConnected fc1", "symbol_test.go:", "weight", "(8, 9)", "7"}},
		{"nothing known", func() error {
			_, _, _, err := nettest.MLP().InferShape(nil)
			return err
		}, []string{"data", "fc1_weight"}},
		{"unknown variable", func() error {
			_, _, _, err := nettest.MLP().InferShape(map[string]dtype.Shape{"date": {1}})
			return err
		}, []string{`"date"`, "softmax_label"}},
		{"missing parameter", func() error {
			return sym.FullyConnected(sym.Var("x"), sym.FullyConnectedParams{},
				sym.Name("fc")).Err()
		}, []string{"FullyConnected fc", "num_hidden"}},
		{"two outputs for one input", func() error {
			parts := sym.SliceChannel(sym.Var("x"), sym.SliceChannelParams{NumOutputs: 2})
			return sym.Sigmoid(parts).Err()
		}, []string{"sigmoid", "2 outputs"}},
		{"first mistake is kept", func() error {
			x := sym.FullyConnected(sym.Var("x"), sym.FullyConnectedParams{NumHidden: -1},
				sym.Name("first"))
			_, err := sym.Sigmoid(x).SimpleBind(sym.BindConfig{})
			return err
		}, []string{"first", "num_hidden", "-1"}},
		{"two variables of a name", func() error {
			_, err := sym.ElemwiseAdd(sym.Var("x"), sym.Var("x")).JSON()
			return err
		}, []string{"Var x", "second variable", "symbol_test.go:"}},
		{"backward without forward", func() error {
			ex, err := nettest.MLP().SimpleBind(
				sym.BindConfig{Shapes: map[string]dtype.Shape{"data": {5, 7}}})
			if err != nil {
				return err
			}
			return ex.Backward()
		}, []string{"wants a Forward"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.run()
			if err == nil {
				t.Fatal("got no error")
			}
			for _, w := range tt.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("got %q, want it to mention %q", err, w)
				}
			}
		})
	}
}

func TestJSONRoundTrip(t *testing.T) {
	s := nettest.MLP()
	text, err := s.JSON()
	if err != nil {
		t.Fatal(err)
	}
	back, err := sym.Load(text)
	if err != nil {
		t.Fatal(err)
	}
	again, err := back.JSON()
	if err != nil || string(again) != string(text) {
		t.Errorf("got %s\n%v\nwant %s", again, err, text)
	}
	if !slices.Equal(back.Arguments(), s.Arguments()) {
		t.Errorf("got arguments %v, want %v", back.Arguments(), s.Arguments())
	}
}

// oldFile is spelled as MXNet 0.8 did: param and attr, no auxiliary states, two-element entries.
const oldFile = `{"nodes": [
{"op": "null", "param": {}, "name": "data", "inputs": [], "backward_source_id": -1, "attr": {"ctx_group": "x"}},
{"op": "null", "param": {}, "name": "bn_gamma", "inputs": [], "backward_source_id": -1},
{"op": "null", "param": {}, "name": "bn_beta", "inputs": [], "backward_source_id": -1},
{"op": "BatchNorm", "param": {"fix_gamma": "True"}, "name": "bn", "inputs": [[0, 0], [1, 0], [2, 0]],
 "backward_source_id": -1, "attr": {"wd_mult": "0.3", "gamma_lr_mult": "2"}}],
"arg_nodes": [0, 1, 2], "heads": [[3, 0]]}`

func TestLoadUpgradesOldFiles(t *testing.T) {
	s, err := sym.Load([]byte(oldFile))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(s.AuxStates(), " "), "bn_moving_mean bn_moving_var"; got != want {
		t.Errorf("got auxiliary states %s, want %s", got, want)
	}
	for _, tt := range []struct{ node, key, want string }{
		{"data", "__ctx_group__", "x"}, {"bn", "__wd_mult__", "0.3"}, {"bn_gamma", "__lr_mult__",
			"2"},
		{"bn_moving_var", "__init__", `["one", {}]`},
	} {
		if got := s.Attr(tt.node, tt.key); got != tt.want {
			t.Errorf("%s %s: got %q, want %q", tt.node, tt.key, got, tt.want)
		}
	}
}

func TestLoadErrors(t *testing.T) {
	for name, text := range map[string]string{
		"no json":          `[`,
		"unknown operator": `{"nodes": [{"op": "Nope", "name": "n", "inputs": []}], "arg_nodes": [], "heads": [[0, 0, 0]]}`,
		"forward input":    `{"nodes": [{"op": "sigmoid", "name": "n", "inputs": [[0, 0, 0]]}], "arg_nodes": [], "heads": [[0, 0, 0]]}`,
		"bad output":       `{"nodes": [{"op": "null", "name": "n", "inputs": []}], "arg_nodes": [0], "heads": [[0, 3, 0]]}`,
		"no heads":         `{"nodes": [{"op": "null", "name": "n", "inputs": []}], "arg_nodes": [0], "heads": []}`,
		"bad attribute":    `{"nodes": [{"op": "null", "name": "n", "inputs": []}, {"op": "Activation", "name": "a", "attrs": {"act_type": "no"}, "inputs": [[0,0,0]]}], "arg_nodes": [0], "heads": [[1, 0, 0]]}`,
		"unknown field":    `{"nodes": [], "extra": 1}`,
	} {
		if _, err := sym.Load([]byte(text)); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(oldFile))
	for _, s := range []*sym.Symbol{nettest.MLP(), nested(), countdown()} {
		if text, err := s.JSON(); err == nil {
			f.Add(text)
		}
	}
	f.Add([]byte(strings.Replace(customFile, "ATTRS", `"op_type": "test_scaled"`, 1)))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := sym.Load(data)
		if err != nil {
			return
		}
		if _, _, _, err := s.InferShapePartial(nil); err != nil {
			return
		}
		if _, err := s.JSON(); err != nil {
			t.Errorf("loaded but not written: %v", err)
		}
	})
}

func ExampleSymbol_InferShape() {
	net := sym.FullyConnected(sym.Var("data"), sym.FullyConnectedParams{NumHidden: 10},
		sym.Name("fc"))
	args, outs, _, err := net.InferShape(map[string]dtype.Shape{"data": {32, 784}})
	if err != nil {
		panic(err)
	}
	fmt.Println(net.Arguments(), args, outs)
	// Output: [data fc_weight fc_bias] [(32, 784) (10, 784) (10,)] [(32, 10)]
}

// TestUnknownAttributesOfFilesAreNoted: they are passed over, and said once.
func TestUnknownAttributesOfFilesAreNoted(t *testing.T) {
	var said []string
	old := op.NoticesTo(func(text string) { said = append(said, text) })
	defer func() { op.NoticesTo(old) }()
	const file = `{"nodes": [{"op": "null", "name": "x", "inputs": []},
		{"op": "Activation", "name": "a", "attrs": {"act_type": "relu", "speed": "9"}, "inputs": [[0, 0, 0]]},
		{"op": "Activation", "name": "b", "attrs": {"act_type": "tanh", "speed": "9"}, "inputs": [[1, 0, 0]]}],
		"arg_nodes": [0], "heads": [[2, 0, 0]], "attrs": {"mxnet_version": ["int", 10901]}}`
	s, err := sym.Load([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := s.Outputs(), []string{"b_output"}; !slices.Equal(got, want) {
		t.Errorf("outputs %q, want %q", got, want)
	}
	if len(said) != 1 || !strings.Contains(said[0], "attribute speed of operator Activation") {
		t.Errorf("notices %q, want one of the attribute", said)
	}
}
