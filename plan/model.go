package plan

import (
	"fmt"
	"maps"
	"slices"

	"gomx/dtype"
	"gomx/rnn"
	sym "gomx/symbol"
)

// Model is a network that plans know by name, with the shape of its data.
type Model struct {
	Name   string
	Shapes map[string]dtype.Shape // for the usual batch
	new    func() *sym.Symbol
}

// Symbol composes the network with its loss.
func (m *Model) Symbol() *sym.Symbol { return m.new() }

// models are the networks that the check measures, too.
var models = []Model{
	{"lenet", map[string]dtype.Shape{"data": {64, 1, 28, 28}}, lenet},
	{"lstm", map[string]dtype.Shape{"data": {32, lstmSteps}, "softmax_label": {32, lstmSteps}},
		lstm},
	{"resnet18-small", map[string]dtype.Shape{"data": {32, 3, 32, 32}}, resnet18},
}

// FindModel returns the network of a name.
func FindModel(name string) (*Model, bool) {
	i := slices.IndexFunc(models, func(m Model) bool { return m.Name == name })
	if i < 0 {
		return nil, false
	}
	m := models[i]
	m.Shapes = maps.Clone(m.Shapes)
	return &m, true
}

// ModelNames lists the names that FindModel knows.
func ModelNames() (list []string) {
	for _, m := range models {
		list = append(list, m.Name)
	}
	return list
}

// WithLoss returns a network that can be trained: s itself if its first output is a loss, else s
// with a softmax of its first output, whose label is softmax_label.
func WithLoss(s *sym.Symbol) *sym.Symbol {
	if e := s.Entries(); len(e) > 0 && !e[0].Node.IsVar() && e[0].Node.Op.Head {
		return s
	}
	return sym.SoftmaxOutput(s.At(0), sym.SoftmaxOutputParams{}, sym.Name("softmax"))
}

// lenet is LeNet with 431,080 parameters.
func lenet() *sym.Symbol {
	h := sym.Var("data")
	for _, filters := range []int{20, 50} {
		h = sym.Convolution(h, sym.ConvolutionParams{Kernel: []int{5, 5}, NumFilter: filters})
		h = sym.Activation(h, sym.ActivationParams{ActType: "tanh"})
		h = sym.Pooling(h, sym.PoolingParams{PoolType: "max", Kernel: []int{2, 2},
			Stride: []int{2, 2}})
	}
	h = sym.FullyConnected(sym.Flatten(h), sym.FullyConnectedParams{NumHidden: 500})
	h = sym.Activation(h, sym.ActivationParams{ActType: "tanh"})
	h = sym.FullyConnected(h, sym.FullyConnectedParams{NumHidden: 10})
	return sym.SoftmaxOutput(h, sym.SoftmaxOutputParams{}, sym.Name("softmax"))
}

// convolve is a convolution with batch norm.
func convolve(x *sym.Symbol, filters, kernel, stride int) *sym.Symbol {
	x = sym.Convolution(x, sym.ConvolutionParams{Kernel: []int{kernel, kernel},
		Stride: []int{stride, stride}, Pad: []int{kernel / 2, kernel / 2}, NumFilter: filters,
		NoBias: true})
	return sym.BatchNorm(x, sym.BatchNormParams{Eps: sym.Some(1e-5), NoFixGamma: true})
}

func relu(x *sym.Symbol) *sym.Symbol {
	return sym.Activation(x, sym.ActivationParams{ActType: "relu"})
}

// resnet18 is ResNet-18 (He et al., 2015) for 10 classes, with the first layers of the network for
// large pictures.
func resnet18() *sym.Symbol {
	x := sym.Pooling(relu(convolve(sym.Var("data"), 64, 7, 2)), sym.PoolingParams{PoolType: "max",
		Kernel: []int{3, 3}, Stride: []int{2, 2}, Pad: []int{1, 1}})
	for stage := range 4 {
		out := 64 << stage
		for i := range 2 {
			stride, shortcut := 1, x
			if stage > 0 && i == 0 {
				stride, shortcut = 2, convolve(x, out, 1, 2)
			}
			body := convolve(relu(convolve(x, out, 3, stride)), out, 3, 1)
			x = relu(sym.ElemwiseAdd(body, shortcut))
		}
	}
	x = sym.Pooling(x, sym.PoolingParams{PoolType: "avg", GlobalPool: true, Kernel: []int{1, 1}})
	x = sym.FullyConnected(sym.Flatten(x), sym.FullyConnectedParams{NumHidden: 10})
	return sym.SoftmaxOutput(x, sym.SoftmaxOutputParams{}, sym.Name("softmax"))
}

// Sizes of the language model.
const (
	lstmSteps  = 35
	lstmWords  = 2000
	lstmHidden = 200
)

// lstm is a language model: an embedding, two layers of LSTM, and a dense layer over all words. The
// label has the next word of every step.
func lstm() *sym.Symbol {
	x := sym.Embedding(sym.Var("data"), sym.EmbeddingParams{InputDim: lstmWords,
		OutputDim: lstmHidden}, sym.Name("embed"))
	y, _ := rnn.Unroll(&rnn.Fused{Hidden: lstmHidden, Layers: 2}, lstmSteps, x)
	y = sym.Reshape(y, sym.ReshapeParams{Shape: []int{-1, lstmHidden}})
	y = sym.FullyConnected(y, sym.FullyConnectedParams{NumHidden: lstmWords}, sym.Name("words"))
	label := sym.Reshape(sym.Var("softmax_label"), sym.ReshapeParams{Shape: []int{-1}})
	return sym.SoftmaxOutput(y, sym.SoftmaxOutputParams{}, sym.Name("softmax"),
		sym.With("label", label))
}

// UnknownModel is the error of a name that is neither a file nor a network.
func UnknownModel(name string) error {
	return fmt.Errorf("plan: no file and no network %q, want a -symbol.json file, a name that "+
		"gomx zoo list prints, or one of %v", name, ModelNames())
}
