package symbol_test

import (
	"testing"

	"gomx/internal/hostile"
	"gomx/internal/nettest"
	sym "gomx/symbol"
)

// TestHostileSymbols loads damaged networks and infers shapes of those that load. The seeds are a
// file of MXNet 0.8, and networks whose operators have counts, lists and shapes among their
// parameters.
func TestHostileSymbols(t *testing.T) {
	seeds := [][]byte{[]byte(oldFile)}
	x := sym.Var("data")
	parts := sym.SliceChannel(sym.Convolution(x, sym.ConvolutionParams{NumFilter: 4,
		Kernel: []int{3, 3}, Pad: []int{1, 1}}), sym.SliceChannelParams{NumOutputs: 2})
	wide := sym.Concat([]*sym.Symbol{parts.At(0), sym.Reshape(parts.At(1),
		sym.ReshapeParams{Shape: []int{0, 2, 4, 4}})}, sym.ConcatParams{})
	for _, s := range []*sym.Symbol{nettest.MLP(), wide, nested(), countdown()} {
		text, err := s.JSON()
		if err != nil {
			t.Fatal(err)
		}
		seeds = append(seeds, text)
	}
	hostile.Kind{Name: "symbol", Seeds: seeds, Text: true, Decode: decodeSymbol}.Run(t)
}

// countdown is a loop with a condition.
func countdown() *sym.Symbol {
	outs, last := sym.WhileLoop(func(v []*sym.Symbol) *sym.Symbol {
		return sym.GreaterScalar(v[0], sym.ScalarParams{Scalar: 0.5})
	}, func(v []*sym.Symbol) (outs, states []*sym.Symbol) {
		return v[1:], []*sym.Symbol{sym.PlusScalar(v[0], sym.ScalarParams{Scalar: -1}),
			sym.ElemwiseMul(v[1], sym.Var("w"))}
	}, []*sym.Symbol{sym.Var("n", sym.Shape(1)), sym.Var("x", sym.Shape(2, 3))}, 4)
	return sym.Group(append(outs, last...)...)
}

// decodeSymbol loads a network, infers its shapes as far as it says, and writes it.
func decodeSymbol(b []byte) error {
	s, err := sym.Load(b)
	if err != nil {
		return err
	}
	if _, _, _, err := s.InferShapePartial(nil); err != nil {
		return nil // the file is a network; which shapes it wants is its user's business
	}
	_, err = s.JSON()
	return err
}

// middleFile is a network as MXNet 0.9 to 0.12 wrote it: parameters and hints are both in attr.
const middleFile = `{"nodes": [
{"op": "null", "name": "data", "inputs": [], "attr": {"__ctx_group__": "x", "__shape__": "(2, 3, 8, 8)"}},
{"op": "null", "name": "conv_weight", "inputs": [], "attr": {"__lr_mult__": "2.0", "num_filter": "4"}},
{"op": "null", "name": "conv_bias", "inputs": [], "attr": {"num_filter": "4"}},
{"op": "Convolution", "name": "conv", "inputs": [[0, 0, 0], [1, 0, 0], [2, 0, 0]],
 "attr": {"kernel": "(3, 3)", "num_filter": "4", "pad": "(1, 1)", "stride": "(2, 2)"}},
{"op": "Pooling", "name": "pool", "inputs": [[3, 0, 0]], "attr": {"kernel": "(2, 2)", "pool_type": "avg"}},
{"op": "Reshape", "name": "flat", "inputs": [[4, 0, 0]], "attr": {"target_shape": "(0, 16)", "shape": "(0, -1)"}}],
"arg_nodes": [0, 1, 2], "node_row_ptr": [0, 1, 2, 3, 4, 5, 6], "heads": [[5, 0, 0]],
"attrs": {"mxnet_version": ["int", 905]}}`

// TestHostileOldSymbols loads damaged networks in the spellings of old versions.
func TestHostileOldSymbols(t *testing.T) {
	for name, file := range map[string]string{"symbol of MXNet 0.8": oldFile,
		"symbol of MXNet 0.9": middleFile} {
		hostile.Kind{Name: name, Seeds: [][]byte{[]byte(file)}, Text: true,
			Decode: decodeSymbol}.Run(t)
	}
}
