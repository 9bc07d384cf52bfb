package symbol_test

import (
	"bytes"
	"strings"
	"testing"

	"gomx/dtype"
	nd "gomx/ndarray"
	"gomx/op"
	"gomx/op/prim"
	sym "gomx/symbol"
)

// scaledParams are the parameters of scaled.
type scaledParams struct {
	Factor float64 `op:"factor" doc:"the factor"`
}

// scaled is an operator of a program: x·factor + y.
var scaled = op.Declare[scaledParams]("test_scaled")

func init() {
	scaled.Define(op.Spec[scaledParams]{
		Traits: op.Traits{Doc: "It is x·factor + y."},
		Inputs: func(scaledParams) []op.Input { return []op.Input{{Name: "x"}, {Name: "y"}} },
		Infer:  op.SameShape[scaledParams],
		Grad: func(g *op.Grad, p scaledParams) []op.Entry {
			return []op.Entry{prim.MulScalar.Apply(prim.ScalarParams{Scalar: p.Factor}, g.Head(0)),
				g.Head(0)}
		},
		Ref: func(p scaledParams, c *op.Call) error {
			x, y, z := op.Slice[float32](c.In[0]), op.Slice[float32](c.In[1]),
				op.Slice[float32](c.Out[0])
			for i := range z {
				z[i] = x[i]*float32(p.Factor) + y[i]
			}
			return nil
		},
	})
}

// customFile is a file with a custom operator, whose attributes are the text %s.
const customFile = `{"nodes": [{"op": "null", "name": "x", "inputs": []}, {"op": "null", "name": "y", "inputs": []},
{"op": "Custom", "name": "layer7", "attrs": {ATTRS}, "inputs": [[0, 0, 0], [1, 0, 0]]}],
"arg_nodes": [0, 1], "heads": [[2, 0, 0]], "attrs": {"mxnet_version": ["int", 10901]}}`

// TestCustomOperators runs a custom operator of a file by an operator that the program declares,
// and writes it as a custom one again.
func TestCustomOperators(t *testing.T) {
	file := strings.Replace(customFile, "ATTRS", `"op_type": "test_scaled", "factor": "3"`, 1)
	s, err := sym.Load([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	text, err := s.JSON()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"op": "Custom"`, `"op_type": "test_scaled"`, `"factor": "3"`} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("written without %s: %s", want, text)
		}
	}
	again, err := sym.Load(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*sym.Symbol{s, again} {
		outs, grads := graphRun(t, s, sym.BindConfig{Args: map[string]*nd.Array{
			"x": nd.FromSlice([]float32{1, 2}), "y": nd.FromSlice([]float32{10, 20})}})
		agree(t, "output", outs[0], nd.FromSlice([]float32{13, 26}), 0)
		agree(t, "gradient", grads["x"], nd.FromSlice([]float32{3, 3}), 0)
	}
	direct, err := sym.Apply(scaled, scaledParams{Factor: 3}, sym.Var("x"), sym.Var("y")).JSON()
	if err != nil || !bytes.Contains(direct, []byte(`"op": "test_scaled"`)) {
		t.Errorf("a composed operator is written as %s, %v, want its name", direct, err)
	}
	asked, err := sym.ApplyWith(scaled, scaledParams{Factor: 3}, []sym.Option{sym.Attr("op_type",
		"test_scaled")}, sym.Var("x"), sym.Var("y")).JSON()
	if err != nil || !bytes.Contains(asked, []byte(`"op": "Custom"`)) {
		t.Errorf("a composed operator with op_type is written as %s, %v, want Custom", asked, err)
	}
}

// TestUnknownCustomOperators loads files whose custom operators nothing declares.
func TestUnknownCustomOperators(t *testing.T) {
	for attrs, want := range map[string][]string{
		`"op_type": "mystery"`:                    {"found none of this name", "test_scaled"},
		`"op_type": "softmax"`:                    {"the operator softmax of gomx", "op.Declare"},
		`"op_type": ""`:                           {"without the attribute op_type"},
		`"factor": "3"`:                           {"without the attribute op_type"},
		`"op_type": "test_scaled", "factor": "x"`: {"factor", "not a number"},
	} {
		_, err := sym.Load([]byte(strings.Replace(customFile, "ATTRS", attrs, 1)))
		if err == nil {
			t.Errorf("%s is accepted", attrs)
			continue
		}
		for _, text := range append(want, "layer7") {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("%s: error %q, want %q in it", attrs, err, text)
			}
		}
	}
}

// loopFile is a file with a loop whose attributes and subgraphs are the texts ATTRS and GRAPHS.
const loopFile = `{"nodes": [{"op": "null", "name": "x", "inputs": []}, {"op": "null", "name": "s", "inputs": []},
{"op": "_foreach", "name": "loop7", "attrs": {ATTRS}, "inputs": [[0, 0, 0], [1, 0, 0]], "subgraphs": [GRAPHS]}],
"arg_nodes": [0, 1], "heads": [[2, 0, 0]], "attrs": {"mxnet_version": ["int", 10901]}}`

// loopAttrs and loopBody make loopFile a sum over rows.
const (
	loopAttrs = `"num_args": "3", "num_outputs": "1", "num_out_data": "0", ` +
		`"in_data_locs": "[0]", "in_state_locs": "[1]", "remain_locs": "[]"`
	loopBody = `{"nodes": [{"op": "null", "name": "r", "inputs": []}, {"op": "null", "name": "t", "inputs": []}, ` +
		`{"op": "elemwise_add", "name": "sum", "inputs": [[0, 0, 0], [1, 0, 0]]}], ` +
		`"arg_nodes": [0, 1], "node_row_ptr": [0, 1, 2, 3], "heads": [[2, 0, 0]]}`
)

// loadLoop loads loopFile and infers its shapes.
func loadLoop(attrs, graphs string) error {
	s, err := sym.Load([]byte(strings.NewReplacer("ATTRS", attrs, "GRAPHS",
		graphs).Replace(loopFile)))
	if err != nil {
		return err
	}
	_, _, _, err = s.InferShape(map[string]dtype.Shape{"x": {4, 3}, "s": {3}})
	return err
}

// TestMalformedLoops loads loops whose attributes and graphs contradict each other: errors name
// the node and the fault.
func TestMalformedLoops(t *testing.T) {
	if err := loadLoop(loopAttrs, loopBody); err != nil {
		t.Fatal(err)
	}
	attr := func(old, new string) string { return strings.Replace(loopAttrs, old, new, 1) }
	body := func(old, new string) string { return strings.Replace(loopBody, old, new, 1) }
	deep := loopBody
	for range 20 {
		deep = strings.NewReplacer(`"elemwise_add", "name": "sum"`, `"_foreach", "name": "sum", `+
			`"attrs": {`+loopAttrs+`}, "subgraphs": [`+deep+`]`).Replace(loopBody)
	}
	for _, tt := range []struct{ name, attrs, graphs, want string }{
		{"no graph", loopAttrs, "", "0 graphs, want 1"},
		{"two graphs", loopAttrs, loopBody + "," + loopBody, "2 graphs, want 1"},
		{"place out of range", attr(`"[0]"`, `"[5]"`), loopBody, "input 5 of the body, which has 2"},
		{"place below zero", attr(`"[0]"`, `"[-1]"`), loopBody, "input -1 of the body"},
		{"place twice", attr(`"[0]"`, `"[1]"`), loopBody, "a second time"},
		{"no data", attr(`"in_data_locs": "[0]", "in_state_locs": "[1]", "remain_locs": "[]"`,
			`"in_data_locs": "[]", "in_state_locs": "[1]", "remain_locs": "[0]"`), loopBody,
			"no data"},
		{"missing place", attr(`"in_state_locs": "[1]"`, `"in_state_locs": "[]"`), loopBody,
			"no value for input 1"},
		{"count of arguments", attr(`"num_args": "3"`, `"num_args": "9"`), loopBody, "num_args"},
		{"huge count", attr(`"num_args": "3"`, `"num_args": "2000000000"`), loopBody, "at most"},
		{"count of outputs", attr(`"num_outputs": "1"`, `"num_outputs": "2"`), loopBody,
			"num_outputs"},
		{"head out of range", loopAttrs, body(`[[2, 0, 0]]`, `[[7, 0, 0]]`), "node 7"},
		{"cycle", loopAttrs, body(`[[0, 0, 0], [1, 0, 0]]`, `[[2, 0, 0], [1, 0, 0]]`), "node 2"},
		{"no heads", loopAttrs, body(`[[2, 0, 0]]`, `[]`), "no heads"},
		{"unknown operator", loopAttrs, body("elemwise_add", "nope"), "unknown operator"},
		{"equal names", loopAttrs, body(`"name": "t"`, `"name": "r"`), "two inputs are called"},
		{"depth", loopAttrs, deep, "at most 16"},
		{"shapes", loopAttrs, body("elemwise_add", "dot"), "loop7"},
	} {
		err := loadLoop(tt.attrs, tt.graphs)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q in it", tt.name, err, tt.want)
		} else if !strings.Contains(err.Error(), "loop7") && !strings.Contains(err.Error(), "sum") {
			t.Errorf("%s: error %v names no node", tt.name, err)
		}
	}
}
