package rnn_test

import (
	"fmt"
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/rnn"
)

// gatesOf is the number of gates of each mode.
var gatesOf = map[string]int{"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}

// modes lists the modes in a fixed order.
var modes = []string{"rnn_relu", "rnn_tanh", "lstm", "gru"}

// network makes random inputs for RNN with sequences of the given numbers of steps.
func network(p rnn.RNNParams, steps, input int, lengths []float64) []op.Tensor {
	dirs, out, batch := 1, p.ProjectionSize.Or(p.StateSize), len(lengths)
	if p.Bidirectional {
		dirs = 2
	}
	size := 0
	for l := range p.NumLayers {
		in := input
		if l > 0 {
			in = dirs * out
		}
		size += dirs * gatesOf[p.Mode] * p.StateSize * (in + out + 2)
		if p.ProjectionSize.IsSet() {
			size += dirs * out * p.StateSize
		}
	}
	in := []op.Tensor{optest.Random(1, -1, 1, steps, batch, input), optest.Random(2, -0.8, 0.8, size),
		optest.Random(3, -1, 1, p.NumLayers*dirs, batch, out)}
	if p.Mode == "lstm" {
		in = append(in, optest.Random(4, -1, 1, p.NumLayers*dirs, batch, p.StateSize))
	}
	if p.UseSequenceLength {
		in = append(in, optest.Array(dtype.Int32, []int{batch}, lengths...))
	}
	return in
}

func TestRNNGradients(t *testing.T) {
	var cases []optest.Case
	for _, mode := range modes {
		for _, bi := range []bool{false, true} {
			p := rnn.RNNParams{Mode: mode, StateSize: 2, NumLayers: 2, Bidirectional: bi, StateOutputs: true}
			cases = append(cases, optest.Case{Name: fmt.Sprintf("%s/%v", mode, bi), Params: p, In: network(p, 3, 2, []float64{3, 3})})
		}
	}
	optest.Run(t, rnn.RNN.Op, cases...)
}

func TestRNNOptions(t *testing.T) {
	lengths := []float64{2, 3, 0}
	var cases []optest.Case
	add := func(name string, train bool, p rnn.RNNParams) {
		cases = append(cases, optest.Case{Name: name + " " + p.Mode, Train: train, Params: p, In: network(p, 3, 2, lengths), Seed: op.Seed{Key: 5}})
	}
	for _, mode := range modes {
		p := rnn.RNNParams{Mode: mode, StateSize: 2, NumLayers: 1}
		add("output only", true, p)
		p.NumLayers, p.P, p.StateOutputs = 2, 0.4, true
		add("dropout", true, p)
		add("dropout in inference", false, p)
		p.P, p.UseSequenceLength, p.Bidirectional = 0, true, true
		add("lengths", true, p)
	}
	for _, mode := range modes { // large enough for the steps of kernels that need some
		p := rnn.RNNParams{Mode: mode, StateSize: 19, NumLayers: 1, Bidirectional: true, StateOutputs: true}
		in := network(p, 4, 17, []float64{4, 4, 4, 4, 4})
		cases = append(cases, optest.Case{Name: "batch " + mode, Train: true, Params: p, In: in, NoDiff: true})
	}
	projected := rnn.RNNParams{Mode: "lstm", StateSize: 3, NumLayers: 2, ProjectionSize: op.Some(2), Bidirectional: true, StateOutputs: true}
	add("projection", true, projected)
	projected.UseSequenceLength = true
	add("projection with lengths", true, projected)
	optest.Run(t, rnn.RNN.Op, cases...)
}

func TestRNNValues(t *testing.T) {
	p := rnn.RNNParams{Mode: "rnn_relu", StateSize: 1, NumLayers: 1, StateOutputs: true}
	optest.Run(t, rnn.RNN.Op, optest.Case{Name: "by hand", Params: p, NoDiff: true,
		In:   []op.Tensor{optest.F([]int{3, 1, 1}, 1, 2, 3), optest.F([]int{4}, 2, 0.5, 10, 1), optest.F([]int{1, 1, 1}, 4)},
		Want: []op.Tensor{optest.F([]int{3, 1, 1}, 15, 22.5, 28.25), optest.F([]int{1, 1, 1}, 28.25)}})
	p.Mode = "gru"
	optest.Run(t, rnn.RNN.Op, optest.Case{Name: "closed update gate", Params: p, NoDiff: true, // z = 1: the state stays
		In:   []op.Tensor{optest.F([]int{2, 1, 1}, 1, 2), optest.F([]int{12}, 0, 0, 0, 0, 0, 0, 0, 100, 0, 0, 0, 0), optest.F([]int{1, 1, 1}, 4)},
		Want: []op.Tensor{optest.F([]int{2, 1, 1}, 4, 4), optest.F([]int{1, 1, 1}, 4)}})
}

// An LSTM whose projection is the identity is one without projection.
func TestRNNIdentityProjection(t *testing.T) {
	plain := rnn.RNNParams{Mode: "lstm", StateSize: 2, NumLayers: 1, StateOutputs: true}
	in := network(plain, 3, 2, []float64{3, 3})
	flat := op.Slice[float32](in[1])
	weights, biases := flat[:8*4], flat[8*4:]
	joined := append(append(append([]float32{}, weights...), 1, 0, 0, 1), biases...)
	want := apply(t, plain, in)
	projected := plain
	projected.ProjectionSize = op.Some(2)
	in[1] = op.TensorOf(joined)
	got := apply(t, projected, in)
	for i := range 3 {
		if d := optest.Diff(got[i], want[i], optest.Tolerance{}); d != "" {
			t.Errorf("output %d: %s", i, d)
		}
	}
}

func apply(t *testing.T, p rnn.RNNParams, in []op.Tensor) []op.Tensor {
	t.Helper()
	q, err := rnn.RNN.Normalize(p)
	if err != nil {
		t.Fatal(err)
	}
	out, err := optest.Runner{}.Apply(rnn.RNN.Op, q, in)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestRNNLengths compares sequences of different lengths with the same sequences run alone.
func TestRNNLengths(t *testing.T) {
	lengths := []float64{2, 4, 1}
	for _, mode := range modes {
		p := rnn.RNNParams{Mode: mode, StateSize: 3, NumLayers: 2, Bidirectional: true, StateOutputs: true, UseSequenceLength: true}
		in := network(p, 4, 2, lengths)
		all := apply(t, p, in)
		p.UseSequenceLength = false
		for seq, n := range lengths {
			alone := []op.Tensor{pick(in[0], seq, int(n)), in[1]}
			for _, s := range in[2 : len(in)-1] {
				alone = append(alone, pick(s, seq, s.Shape[0]))
			}
			one := apply(t, p, alone)
			for i := range one[:len(one)-1] {
				want := pick(all[i], seq, one[i].Shape[0])
				if d := optest.Diff(one[i], want, optest.Tolerance{}); d != "" {
					t.Errorf("%s, sequence %d, output %d: %s", mode, seq, i, d)
				}
			}
			y, width := op.Slice[float32](all[0]), all[0].Shape[2]
			for step := int(n); step < 4; step++ {
				for k, v := range y[(step*3+seq)*width:][:width] {
					if v != 0 {
						t.Errorf("%s, sequence %d, step %d, element %d: got %v after the end, want 0", mode, seq, step, k, v)
					}
				}
			}
		}
	}
}

// pick returns the first n rows of one sequence of a (steps, batch, size) array.
func pick(x op.Tensor, seq, n int) op.Tensor {
	batch, size := x.Shape[1], x.Shape[2]
	var out []float32
	for i := range n {
		out = append(out, op.Slice[float32](x)[(i*batch+seq)*size:][:size]...)
	}
	return op.TensorOf(out, n, 1, size)
}

func TestRNNInference(t *testing.T) {
	tests := []struct {
		name, attrs string
		in          []dtype.Shape
		out         []dtype.Shape
		want        string
		err         string
	}{
		{name: "from data", attrs: "mode=lstm state_size=5 num_layers=2 bidirectional=True", in: []dtype.Shape{{4, 2, 3}, nil, nil, nil},
			want: "[(4, 2, 3) (1080,) (4, 2, 5) (4, 2, 5)] [(4, 2, 10) (4, 240)]"},
		{name: "input from parameters", attrs: "mode=gru state_size=7 num_layers=1", in: []dtype.Shape{{6, -1, -1}, {231}, {1, 1, 7}},
			want: "[(6, 1, 2) (231,) (1, 1, 7)] [(6, 1, 7) (1, 210)]"},
		{name: "parameters", attrs: "mode=gru state_size=7 num_layers=1", in: []dtype.Shape{{6, 1, 2}, {230}, nil}, err: "parameters: shape (230,), want (231,)"},
		{name: "parameters that fit nothing", attrs: "mode=gru state_size=7 num_layers=1", in: []dtype.Shape{nil, {230}, nil}, err: "parameters: 230 elements, which fits no input size"},
		{name: "state", attrs: "mode=gru state_size=7 num_layers=1", in: []dtype.Shape{{6, 1, 2}, nil, {1, 2, 7}}, err: "state: shape (1, 2, 7), want (1, 1, 7)"},
		{name: "projection", attrs: "mode=gru state_size=7 num_layers=1 projection_size=2", in: []dtype.Shape{nil, nil, nil}, err: "projection_size: 2 for mode gru, want it with lstm only"},
		{name: "dropout", attrs: "mode=gru state_size=7 num_layers=1 p=1", in: []dtype.Shape{nil, nil, nil}, err: "p: 1, want less than 1"},
		{name: "clip", attrs: "mode=lstm state_size=7 num_layers=1 lstm_state_clip_min=0", in: []dtype.Shape{nil, nil, nil, nil}, err: "want to be given together"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { checkInfer(t, rnn.RNN.Op, tt.attrs, tt.in, tt.want, tt.err) })
	}
}

// TestRNNGradKernels compares the kernels of the gradient with one another.
func TestRNNGradKernels(t *testing.T) {
	var list []rnn.RNNParams
	for _, mode := range modes {
		list = append(list, rnn.RNNParams{Mode: mode, StateSize: 3, NumLayers: 1},
			rnn.RNNParams{Mode: mode, StateSize: 3, NumLayers: 3, StateOutputs: true},
			rnn.RNNParams{Mode: mode, StateSize: 2, NumLayers: 2, Bidirectional: true, P: 0.3, StateOutputs: true})
	}
	list = append(list, rnn.RNNParams{Mode: "lstm", StateSize: 4, NumLayers: 2, Bidirectional: true, StateOutputs: true, ProjectionSize: op.Some(3)})
	for i, p := range list {
		for steps, lengths := range map[int][]float64{1: {1, 1}, 4: {4, 4}, 5: {5, 5, 5, 5, 5}} { // the last: enough for packed weights
			in := network(p, steps, 5, lengths)
			out := trained(t, p, in)
			var all []op.Tensor
			for k, y := range out[:len(out)-1] {
				all = append(all, optest.Random(uint64(k+9), -1, 1, y.Shape...))
			}
			all = append(append(all, in...), out[len(out)-1])
			optest.Run(t, rnn.RNNGrad.Op, optest.Case{Name: fmt.Sprint(p.Mode, i, steps), Params: p, In: all, Train: true})
		}
	}
}

// trained runs RNN in training mode.
func trained(t *testing.T, p rnn.RNNParams, in []op.Tensor) []op.Tensor {
	t.Helper()
	q, err := rnn.RNN.Normalize(p)
	if err != nil {
		t.Fatal(err)
	}
	out, err := optest.Runner{Train: true, Seed: op.Seed{Key: 1}}.Apply(rnn.RNN.Op, q, in)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
