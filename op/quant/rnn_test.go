package quant_test

import (
	"math"
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/quant"
	"gomx/op/rnn"
)

// TestRNNIsNearRNN: quantized layers give what the layers of real numbers give, but for a few steps
// of quantization. MXNet 1.9.1 itself fails on this operator where oneDNN cannot convert the
// weights.
func TestRNNIsNearRNN(t *testing.T) {
	for _, both := range []bool{false, true} {
		p := rnn.RNNParams{StateSize: 5, NumLayers: 2, Mode: "lstm", StateOutputs: true,
			Bidirectional: both}
		dirs := 1
		if both {
			dirs = 2
		}
		shapes := []dtype.Shape{{4, 3, 6}, nil, nil, nil}
		if err := rnn.RNN.InferShape(p, shapes, make([]dtype.Shape, 4)); err != nil {
			t.Fatal(err)
		}
		in := make([]op.Tensor, 4)
		for i, s := range shapes {
			in[i] = optest.Random(uint64(i), -0.9, 0.9, s...)
		}
		want := apply(t, rnn.RNN.Op, p, in...)
		q := apply(t, quant.QuantizeAsym.Op, quant.QuantizeAsymParams{MinCalibRange: op.Some(-1.0),
			MaxCalibRange: op.Some(1.0)}, in[0])
		got := apply(t, quant.RNN.Op, p, q[0], in[1], in[2], in[3], q[1], q[2])
		for i := range got {
			a, b := loop.Floats(got[i]), loop.Floats(want[i])
			for k := range a {
				if d := math.Abs(a[k] - b[k]); d > 0.04 {
					t.Errorf("%d directions, output %d, element %d: got %v, want %v", dirs, i, k, a[k],
						b[k])
				}
			}
		}
		optest.Run(t, quant.RNN.Op, optest.Case{Params: p, In: []op.Tensor{q[0], in[1], in[2], in[3],
			q[1], q[2]}})
	}
}

// apply runs an operator.
func apply(t *testing.T, o *op.Op, p any, in ...op.Tensor) []op.Tensor {
	t.Helper()
	params, err := o.Normalize(p)
	if err != nil {
		t.Fatal(err)
	}
	out, err := optest.Runner{}.Apply(o, params, in)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestParametersThatAreRefused: what MXNet does not quantize is an error that names it.
func TestParametersThatAreRefused(t *testing.T) {
	for name, attrs := range map[*op.Op]map[string]string{
		quant.Activation.Op: {"act_type": "tanh"},
		quant.Pooling.Op:    {"pool_type": "sum", "kernel": "(2, 2)"},
		quant.RNN.Op:        {"mode": "gru", "state_size": "2", "num_layers": "1"},
	} {
		if _, err := name.ParseParams(attrs); err == nil {
			t.Errorf("%s takes %v", name.Name, attrs)
		}
	}
}
