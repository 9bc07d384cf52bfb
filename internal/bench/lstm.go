package bench

import (
	"context"
	"fmt"
	"time"

	nd "gomx/ndarray"
	"gomx/op"
	sym "gomx/symbol"
)

// The language models of peers/local.py: an embedding, two layers of LSTM and a dense layer over
// 10,000 words.
const (
	lstmWords  = 10000
	lstmSteps  = 35
	lstmLayers = 2
)

// languageModel measures words per second of forward and backward of a language model, without an
// update, as the peers' script does: the best of four runs after one to warm up.
func languageModel(hidden, batch int) Workload {
	run := func(ctx context.Context) (float64, error) {
		ex, err := languageExecutor(hidden, batch)
		if err != nil {
			return 0, err
		}
		defer ex.Close()
		least := 0.0
		for i := range 5 {
			start := time.Now()
			if err := languageStep(ctx, ex); err != nil {
				return 0, err
			}
			if s := time.Since(start).Seconds(); i > 0 && (least == 0 || s < least) {
				least = s
			}
		}
		return float64(batch*lstmSteps) / least, nil
	}
	return Workload{Name: fmt.Sprintf("local.lstm_fused.h%d.bs%d", hidden, batch), Unit: "words/s",
		Run: run}
}

// languageStep runs the network forward and backward, and waits.
func languageStep(ctx context.Context, ex *sym.Executor) error {
	if err := ex.Forward(true); err != nil {
		return err
	}
	if err := ex.Backward(); err != nil {
		return err
	}
	return nd.WaitAll(ctx)
}

func languageExecutor(hidden, batch int) (*sym.Executor, error) {
	e := sym.Embedding(sym.Var("data"), sym.EmbeddingParams{InputDim: lstmWords, OutputDim: hidden})
	swap := sym.TransposeParams{Axes: []int{1, 0, 2}}
	r := sym.RNN(sym.Transpose(e, swap), sym.RNNParams{StateSize: hidden, NumLayers: lstmLayers,
		Mode: "lstm"}, sym.Name("rnn"))
	o := sym.Reshape(sym.Transpose(r, swap), sym.ReshapeParams{Shape: []int{-1, hidden}})
	o = sym.FullyConnected(o, sym.FullyConnectedParams{NumHidden: lstmWords})
	label := sym.Reshape(sym.Var("softmax_label"), sym.ReshapeParams{Shape: []int{-1}})
	o = sym.SoftmaxOutput(o, sym.SoftmaxOutputParams{}, sym.Name("softmax"),
		sym.With("label", label))
	state := nd.Shape{lstmLayers, batch, hidden}
	ex, err := o.SimpleBind(sym.BindConfig{
		Shapes: map[string]nd.Shape{"data": {batch, lstmSteps}, "softmax_label": {batch, lstmSteps},
			"rnn_state": state, "rnn_state_cell": state},
		GradReq: map[string]op.Req{"data": op.ReqNull, "softmax_label": op.ReqNull},
	})
	if err != nil {
		return nil, err
	}
	for name, a := range ex.Args {
		if name != "data" && name != "softmax_label" {
			a.Set(nd.Uniform(-0.1, 0.1, a.Shape()))
		}
	}
	return ex, nil
}
