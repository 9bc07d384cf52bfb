package symbol_test

import (
	"fmt"
	"testing"

	"gomx/dtype"
	"gomx/op"
	sym "gomx/symbol"
)

// TestProjectedShapes infers the network that gluon's LSTM makes with a projection: the first
// matrix of every direction has an unknown input size. MXNet 1.9.1 infers the same shapes.
func TestProjectedShapes(t *testing.T) {
	for _, dirs := range []int{1, 2} {
		t.Run(fmt.Sprint(dirs), func(t *testing.T) { checkProjected(t, dirs) })
	}
}

func checkProjected(t *testing.T, dirs int) {
	const hidden, size, input = 6, 3, 4
	want := map[string]dtype.Shape{"data": {5, 2, input}}
	var flat, biases []*sym.Symbol
	add := func(list *[]*sym.Symbol, name string, known, inferred dtype.Shape) {
		v := sym.Var(name, sym.Attr("__shape__", tuple(known)))
		*list = append(*list, sym.Reshape(v, sym.ReshapeParams{Shape: []int{-1}}))
		want[name] = inferred
	}
	for layer := range 2 {
		in, known := dirs*size, dirs*size
		if layer == 0 {
			in, known = input, 0
		}
		for _, d := range []string{"l", "r"}[:dirs] {
			at := fmt.Sprintf("%s%d_", d, layer)
			add(&flat, at+"i2h_weight", dtype.Shape{4 * hidden, known}, dtype.Shape{4 * hidden, in})
			add(&flat, at+"h2h_weight", dtype.Shape{4 * hidden, size}, dtype.Shape{4 * hidden,
				size})
			add(&flat, at+"h2r_weight", dtype.Shape{size, hidden}, dtype.Shape{size, hidden})
			add(&biases, at+"i2h_bias", dtype.Shape{4 * hidden}, dtype.Shape{4 * hidden})
			add(&biases, at+"h2h_bias", dtype.Shape{4 * hidden}, dtype.Shape{4 * hidden})
		}
	}
	params := sym.RNNParamConcat(append(flat, biases...), sym.ConcatParams{Dim: op.Some(0)})
	p := sym.RNNParams{StateSize: hidden, NumLayers: 2, Mode: "lstm", Bidirectional: dirs == 2,
		ProjectionSize: op.Some(size)}
	net := sym.RNN(sym.Var("data"), p, sym.Name("rnn"), sym.With("parameters", params))
	want["rnn_state"], want["rnn_state_cell"] = dtype.Shape{2 * dirs, 2, size},
		dtype.Shape{2 * dirs, 2, hidden}
	args, outs, _, err := net.InferShape(map[string]dtype.Shape{"data": {5, 2, input}})
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range net.Arguments() {
		if !args[i].Equal(want[name]) {
			t.Errorf("%s: %v, want %v", name, args[i], want[name])
		}
	}
	if !outs[0].Equal(dtype.Shape{5, 2, dirs * size}) {
		t.Errorf("output %v, want (5, 2, %d)", outs[0], dirs*size)
	}
}

func tuple(s dtype.Shape) string {
	text := "("
	for _, d := range s {
		text += fmt.Sprint(d, ",")
	}
	return text + ")"
}

// TestSharesThatDoNotDivide gives _rnn_param_concat an output that its inputs cannot share.
func TestSharesThatDoNotDivide(t *testing.T) {
	net := sym.RNNParamConcat([]*sym.Symbol{sym.Var("a", sym.Attr("__shape__", "(0,)")),
		sym.Var("b", sym.Attr("__shape__", "(0,)"))}, sym.ConcatParams{Dim: op.Some(0)})
	net = sym.ElemwiseAdd(net, sym.Var("c"))
	if args, _, _, err := net.InferShape(map[string]dtype.Shape{"c": {7}}); err == nil {
		t.Errorf("shapes %v, want an error: 7 elements for 2 inputs", args)
	}
	args, _, _, err := net.InferShape(map[string]dtype.Shape{"c": {8}})
	if err != nil || !args[0].Equal(dtype.Shape{4}) || !args[1].Equal(dtype.Shape{4}) {
		t.Errorf("shapes %v, %v, want 4 elements each", args, err)
	}
}
