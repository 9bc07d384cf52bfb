package module_test

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gomx/initializer"
	dataio "gomx/io"
	"gomx/module"
	nd "gomx/ndarray"
	"gomx/op"
	"gomx/optimizer"
	sym "gomx/symbol"
)

// sequences are n sequences of 4 steps, labelled by whether their sum is positive.
func sequences(t *testing.T, n int) dataio.Iter {
	t.Helper()
	r := rand.New(rand.NewPCG(7, 0))
	data, label := make([]float32, 4*n), make([]float32, n)
	for i := range label {
		sum := float32(0)
		for k := range 4 {
			data[4*i+k] = float32(r.Float64()*2 - 1)
			sum += data[4*i+k]
		}
		if sum > 0 {
			label[i] = 1
		}
	}
	it, err := dataio.NDArrayIter(dataio.NDArrayConfig{Data: []*nd.Array{nd.FromSlice(data, n, 4,
		1)},
		Label: []*nd.Array{nd.FromSlice(label)}, BatchSize: 20})
	if err != nil {
		t.Fatal(err)
	}
	return it
}

// recurrent classifies sequences by the last output of an RNN; parameters are the variable's or,
// nil, made for the operator.
func recurrent(p sym.RNNParams, parameters *sym.Symbol) *sym.Symbol {
	steps := sym.SwapAxis(sym.Var("data"), sym.SwapAxisParams{Dim1: 0, Dim2: 1})
	opts := []sym.Option{sym.Name("rnn")}
	if parameters != nil {
		opts = append(opts, sym.With("parameters", parameters))
	}
	x := sym.SequenceLast(sym.RNN(steps, p, opts...), sym.SequenceParams{})
	x = sym.FullyConnected(x, sym.FullyConnectedParams{NumHidden: 2}, sym.Name("fc"))
	return sym.SoftmaxOutput(x, sym.SoftmaxOutputParams{}, sym.Name("softmax"))
}

// TestFitRecurrent trains networks with the operator RNN whose parameters have no initializer of
// their own, the one of MXNet's FusedRNNCell, or come from a file without any.
func TestFitRecurrent(t *testing.T) {
	plain := recurrent(sym.RNNParams{StateSize: 8, NumLayers: 1, Mode: "lstm"}, nil)
	text, err := plain.JSON()
	if err != nil {
		t.Fatal(err)
	}
	bare := strings.NewReplacer(`"__init__"`, `"__note__"`).Replace(string(text))
	file, err := sym.Load([]byte(bare))
	if err != nil {
		t.Fatal(err)
	}
	fused := recurrent(sym.RNNParams{StateSize: 8, NumLayers: 1, Mode: "lstm"},
		sym.Var("lstm_parameters", sym.Attr("__init__",
			`["fusedrnn", {"init": null, "num_hidden": 8, "num_layers": 1, "mode": "lstm", "bidirectional": false, "forget_bias": 1.0}]`)))
	for name, net := range map[string]*sym.Symbol{
		"plain": plain, "fused": fused, "file": file,
		"gru": recurrent(sym.RNNParams{StateSize: 6, NumLayers: 2, Mode: "gru",
			Bidirectional: true}, nil),
		"projection": recurrent(sym.RNNParams{StateSize: 8, NumLayers: 1, Mode: "lstm",
			ProjectionSize: op.Some(4)}, nil),
	} {
		t.Run(name, func(t *testing.T) {
			mod := module.New(net, module.Seed(5))
			it := sequences(t, 400)
			if err := mod.Fit(context.Background(), it, module.Init(initializer.Xavier{}),
				module.Epochs(8),
				module.Optimize(optimizer.Adam{LR: 0.02})); err != nil {
				t.Fatal(err)
			}
			h := mod.History().Epochs
			if v, ok := h[len(h)-1].Train.Get("accuracy"); !ok || v < 0.9 {
				t.Errorf("%v after 8 epochs, want an accuracy of at least 0.9", h[len(h)-1].Train)
			}
			for name, v := range values(t, mod) {
				if math.IsNaN(float64(v[0])) {
					t.Errorf("%s is NaN", name)
				}
			}
		})
	}
}
