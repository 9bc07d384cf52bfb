package rnn_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gomx/dtype"
	"gomx/internal/nettest"
	nd "gomx/ndarray"
	"gomx/op"
	"gomx/rnn"
	sym "gomx/symbol"
)

// cells make the cells of testdata/make.py.
var cells = map[string]struct {
	make func() rnn.Cell
	opts []rnn.Option
}{
	"rnn": {make: func() rnn.Cell { return &rnn.RNNCell{Hidden: 4, Activation: "relu"} }},
	"lstm": {func() rnn.Cell {
		return &rnn.LSTMCell{Hidden: 4, Prefix: "a_", ForgetBias: nd.Some(2.0)}
	}, []rnn.Option{rnn.TimeFirst()}},
	"gru": {make: func() rnn.Cell { return &rnn.GRUCell{Hidden: 4} }},
	"fused_lstm": {make: func() rnn.Cell {
		return &rnn.Fused{Hidden: 4, Layers: 2, KeepStates: true}
	}},
	"fused_gru_bi": {func() rnn.Cell {
		return &rnn.Fused{Mode: rnn.GRU, Hidden: 3, Layers: 2, Bidirectional: true}
	}, []rnn.Option{rnn.TimeFirst()}},
	"fused_relu": {make: func() rnn.Cell {
		return &rnn.Fused{Mode: rnn.ReLU, Hidden: 3, Layers: 2, Prefix: "f_"}
	}},
	"unfused": {make: func() rnn.Cell {
		f := rnn.Fused{Mode: rnn.GRU, Hidden: 3, Layers: 2, Bidirectional: true, Dropout: 0.5}
		return f.Unfuse()
	}},
	"stack": {make: func() rnn.Cell {
		return rnn.Stack{&rnn.LSTMCell{Hidden: 3, Prefix: "a_"}, rnn.Dropout{Rate: 0.5},
			&rnn.GRUCell{Hidden: 2, Prefix: "b_"}}
	}},
	"bidirectional": {func() rnn.Cell {
		return &rnn.Bidirectional{Left: &rnn.LSTMCell{Hidden: 3, Prefix: "l_"},
			Right: &rnn.GRUCell{Hidden: 2, Prefix: "r_"}}
	}, []rnn.Option{rnn.TimeFirst()}},
	"residual": {make: func() rnn.Cell { return &rnn.Residual{Cell: &rnn.GRUCell{Hidden: 4}} }},
	"zoneout": {make: func() rnn.Cell {
		return &rnn.Zoneout{Cell: &rnn.RNNCell{Hidden: 4}, Kept: 0.3}
	}},
	"conv_rnn": {make: func() rnn.Cell {
		return &rnn.ConvRNNCell{Conv: rnn.Conv{Input: pictures, Hidden: 2}}
	}},
	"conv_lstm": {make: func() rnn.Cell {
		return &rnn.ConvLSTMCell{Conv: rnn.Conv{Input: pictures, Hidden: 2, HKernel: []int{1, 3},
			HDilate: []int{1, 2}, Kernel: []int{2, 3}, Stride: []int{2, 1}, Pad: []int{0, 2},
			Dilate: []int{2, 1}, Init: rnn.ConvInit{I2HWeight: "ones",
				H2HWeight: `["uniform", {"scale": 0.5}]`, I2HBias: "ones",
				H2HBias: `["constant", {"value": 2}]`}, Activation: "tanh", Prefix: "c_"}}
	}},
	"conv_gru": {func() rnn.Cell {
		return &rnn.ConvGRUCell{Conv: rnn.Conv{Input: pictures, Hidden: 3, Activate: sym.Sin}}
	}, []rnn.Option{rnn.TimeFirst()}},
	"shared": {make: func() rnn.Cell {
		p := rnn.NewParams("s_")
		return rnn.Stack{&rnn.LSTMCell{Hidden: 4, Prefix: "a_", Params: p},
			&rnn.LSTMCell{Hidden: 4, Prefix: "b_", Params: p, ForgetBias: nd.Some(3.0)}}
	}},
	"shared_fused": {make: func() rnn.Cell {
		return &rnn.Fused{Hidden: 3, Prefix: "f_", Params: rnn.NewParams("p_")}
	}},
	"function": {make: func() rnn.Cell { return &rnn.RNNCell{Hidden: 4, Activate: sym.Sin} }},
}

// pictures is the shape of the input of one step of cells with convolutions.
var pictures = []int{2, 3, 5, 4}

// compose unrolls a cell over two steps.
func compose(c rnn.Cell, opts []rnn.Option) (*sym.Symbol, dtype.Shape) {
	y, states := rnn.Unroll(c, 2, sym.Var("data"), opts...)
	shape := dtype.Shape{3, 2, 4}
	switch c.(type) {
	case *rnn.ConvRNNCell, *rnn.ConvLSTMCell, *rnn.ConvGRUCell:
		shape = dtype.Shape{2, 2, 3, 5, 4}
	default:
		if len(opts) > 0 {
			shape = dtype.Shape{2, 3, 4}
		}
	}
	return sym.Group(append([]*sym.Symbol{y}, states...)...), shape
}

// compute binds a symbol with values that depend on the names, and returns its outputs in inference
// and the gradients.
func compute(t *testing.T, s *sym.Symbol, data dtype.Shape, given map[string]*nd.Array) (outs,
	grads map[string][]float32) {
	t.Helper()
	ex, err := s.SimpleBind(sym.BindConfig{Shapes: map[string]dtype.Shape{"data": data},
		Args: given, DefaultReq: op.ReqWrite})
	if err != nil {
		t.Fatal(err)
	}
	defer ex.Close()
	for name, a := range ex.Args {
		if given == nil || given[name] == nil {
			a.Set(nd.Uniform(-1, 1, a.Shape(), nd.Seed(uint64(len(name)*31+int(name[0])))))
		}
	}
	outs, grads = map[string][]float32{}, map[string][]float32{}
	if err := ex.Forward(false); err != nil {
		t.Fatal(err)
	}
	for i, y := range ex.Outputs() {
		outs[fmt.Sprint(i)] = nettest.Values(t, y)
	}
	var heads []*nd.Array
	for i, y := range ex.Outputs() {
		heads = append(heads, nd.Uniform(-1, 1, y.Shape(), nd.Seed(uint64(i))))
	}
	if err := ex.Backward(heads...); err != nil {
		t.Fatal(err)
	}
	for name, g := range ex.Grads {
		grads[name] = nettest.Values(t, g)
	}
	return outs, grads
}

func same(t *testing.T, what string, got, want map[string][]float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d arrays, want %d", what, len(got), len(want))
	}
	for name, w := range want {
		g := got[name]
		if len(g) != len(w) {
			t.Errorf("%s %s: %d values, want %d", what, name, len(g), len(w))
			continue
		}
		for i := range w {
			if d := math.Abs(float64(g[i] - w[i])); !(d <= 1e-5) {
				t.Errorf("%s %s: value %d is %v, want %v", what, name, i, g[i], w[i])
				break
			}
		}
	}
}

// nodes lists the operators of a graph with their names and parameters, but for names that are
// generated.
func nodes(s *sym.Symbol) (list []string) {
	for _, n := range s.Nodes() {
		name, kind := n.Name, "variable"
		if n.Op != nil {
			kind = n.Op.Name
		}
		if !strings.Contains(name, "_t0_") && !strings.Contains(name, "_t1_") &&
			!strings.Contains(name, "state") && n.Op != nil {
			name = ""
		}
		list = append(list, kind+" "+name+" "+s.Attr(n.Name, "__init__"))
	}
	slices.Sort(list)
	return list
}

// TestCells compares the graphs of cells with graphs that MXNet 1.9.1 composed: operators, names,
// initializers and the order of arguments, results and gradients.
func TestCells(t *testing.T) {
	for name, c := range cells {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("testdata", name+".json"))
			if err != nil {
				t.Fatal(err)
			}
			want, err := sym.Load(text)
			if err != nil {
				t.Fatal(err)
			}
			got, shape := compose(c.make(), c.opts)
			if err := got.Err(); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got.Arguments(), want.Arguments()) {
				t.Fatalf("arguments %v, want %v", got.Arguments(), want.Arguments())
			}
			if g, w := nodes(got), nodes(want); !slices.Equal(g, w) {
				t.Errorf("nodes\n%s\nwant\n%s", strings.Join(g, "\n"), strings.Join(w, "\n"))
			}
			outs, grads := compute(t, got, shape, nil)
			wantOuts, wantGrads := compute(t, want, shape, nil)
			same(t, "output", outs, wantOuts)
			same(t, "gradient of", grads, wantGrads)
		})
	}
}

// sharedParts are the parts of the cells "shared": those of one cell under the prefix of the Params.
// MXNet 1.9.1 does not divide parameters whose prefix is not the cell's.
var sharedParts = func() map[string][2]any {
	parts := map[string][2]any{}
	for i, gate := range []string{"i", "f", "c", "o"} {
		for _, of := range []string{"i2h", "h2h"} {
			parts["s_"+of+"_"+gate+"_weight"] = [2]any{[]int{4, 4}, float64(16 * i)}
			parts["s_"+of+"_"+gate+"_bias"] = [2]any{[]int{4}, float64(4 * i)}
		}
	}
	return parts
}()

// TestUnpack compares the parts of parameters with those that MXNet 1.9.1 gives: their names,
// shapes and first numbers. Pack is the inverse.
func TestUnpack(t *testing.T) {
	text, err := os.ReadFile("testdata/unpacked.json")
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]map[string][2]any
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	for name, c := range cells {
		t.Run(name, func(t *testing.T) {
			cell := c.make()
			s, shape := compose(cell, c.opts)
			shapes, _, _, err := s.InferShape(map[string]dtype.Shape{"data": shape})
			if err != nil {
				t.Fatal(err)
			}
			args := map[string]*nd.Array{}
			for i, k := range s.Arguments() {
				args[k] = nd.Arange(0, float64(shapes[i].Size()), 1).Reshape(shapes[i]...)
			}
			gates, err := rnn.Unpack(cell, args)
			if err != nil {
				t.Fatal(err)
			}
			if want[name] == nil {
				want[name] = sharedParts
			}
			if len(gates) != len(want[name])+1 || gates["data"] != args["data"] {
				t.Errorf("%d arrays, want data and %d", len(gates), len(want[name]))
			}
			for k, w := range want[name] {
				if gates[k] == nil {
					t.Fatalf("part %s is missing", k)
				}
				first := nettest.Values(t, gates[k])[0]
				if got := fmt.Sprint([]int(gates[k].Shape())); got != fmt.Sprint(w[0]) ||
					float64(first) != w[1] {
					t.Errorf("%s: shape %v, first number %v, want %v", k, got, first, w)
				}
			}
			again, err := rnn.Pack(cell, gates)
			if err != nil {
				t.Fatal(err)
			}
			for k, a := range args {
				if !slices.Equal(nettest.Values(t, again[k]), nettest.Values(t, a)) {
					t.Errorf("%s is not the same after Pack", k)
				}
			}
		})
	}
}

// TestUnfuse: the cells of a fused one give its outputs and states with its parameters.
func TestUnfuse(t *testing.T) {
	for _, f := range []rnn.Fused{{Hidden: 4, Layers: 2}, {Hidden: 3, Bidirectional: true},
		{Mode: rnn.GRU, Hidden: 3, Layers: 2, Bidirectional: true}, {Mode: rnn.Tanh, Hidden: 2},
		{Mode: rnn.ReLU, Hidden: 3, Layers: 3}} {
		t.Run(fmt.Sprint(f.Mode, f.Layers, f.Bidirectional), func(t *testing.T) {
			fused, shape := compose(&f, nil)
			shapes, _, _, err := fused.InferShape(map[string]dtype.Shape{"data": shape})
			if err != nil {
				t.Fatal(err)
			}
			args := map[string]*nd.Array{}
			for i, name := range fused.Arguments() {
				args[name] = nd.Uniform(-1, 1, shapes[i], nd.Seed(uint64(i)))
			}
			want, _ := compute(t, fused, shape, args)
			stack := f.Unfuse()
			gates, err := rnn.Unpack(&f, args)
			if err != nil {
				t.Fatal(err)
			}
			if args, err = rnn.Pack(stack, gates); err != nil {
				t.Fatal(err)
			}
			y, _ := rnn.Unroll(stack, 2, sym.Var("data"))
			got, _ := compute(t, y, shape, args)
			same(t, "output", got, want)
		})
	}
}

// TestUnrollSteps: a symbol for each step gives the steps of the whole sequence.
func TestUnrollSteps(t *testing.T) {
	for _, cell := range []func() rnn.Cell{
		func() rnn.Cell { return &rnn.Residual{Cell: &rnn.LSTMCell{Hidden: 4}} },
		func() rnn.Cell { return &rnn.Fused{Hidden: 4, Bidirectional: true} },
		func() rnn.Cell {
			return rnn.Stack{&rnn.Bidirectional{Left: &rnn.GRUCell{Hidden: 4, Prefix: "l_"},
				Right: &rnn.GRUCell{Hidden: 4, Prefix: "r_"}}, rnn.Dropout{Rate: 0.5}}
		}} {
		whole, shape := compose(cell(), nil)
		want, _ := compute(t, whole.At(0), shape, nil)
		data := sym.SliceChannel(sym.Var("data"), sym.SliceChannelParams{NumOutputs: 2,
			Axis: sym.Some(1), SqueezeAxis: true})
		steps, _ := rnn.UnrollSteps(cell(), []*sym.Symbol{data.At(0), data.At(1)})
		for i := range steps {
			steps[i] = sym.ExpandDims(steps[i], sym.ExpandDimsParams{Axis: 1})
		}
		got, _ := compute(t, sym.Concat(steps, sym.ConcatParams{Dim: sym.Some(1)}), shape, nil)
		same(t, "output", got, want)
	}
}

func TestConvErrors(t *testing.T) {
	for want, c := range map[string]rnn.Conv{
		"HKernel [2 3], want odd numbers": {Input: pictures, Hidden: 2, HKernel: []int{2, 3}},
		"an input of shape [3 5]":         {Input: []int{3, 5}, Hidden: 2},
		"[1 1 1], want two numbers":       {Input: pictures, Hidden: 2, Pad: []int{1, 1, 1}},
	} {
		var err error
		func() {
			defer op.Recover(&err)
			rnn.Unroll(&rnn.ConvGRUCell{Conv: c}, 2, sym.Var("data"))
		}()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}

func TestErrors(t *testing.T) {
	cell := &rnn.LSTMCell{Hidden: 2}
	if _, err := rnn.Unpack(cell, nil); err == nil || !strings.Contains(err.Error(),
		"parameter lstm_i2h_weight is missing") {
		t.Error(err)
	}
	if _, err := rnn.Pack(cell, nil); err == nil || !strings.Contains(err.Error(),
		"parameter lstm_i2h_i_weight is missing") {
		t.Error(err)
	}
	short := map[string]*nd.Array{"lstm_parameters": nd.Zeros(nd.Shape{7})}
	if _, err := rnn.Unpack(&rnn.Fused{Hidden: 2}, short); err == nil {
		t.Error("7 numbers are accepted as parameters")
	}
}
