package symbol_test

import (
	"testing"

	"gomx/internal/hostile"
	sym "gomx/symbol"
)

// TestHostileSymbols loads damaged networks and infers shapes of those that load. The seeds are a file of MXNet 0.8, and
// networks whose operators have counts, lists and shapes among their parameters.
func TestHostileSymbols(t *testing.T) {
	seeds := [][]byte{[]byte(oldFile)}
	x := sym.Var("data")
	parts := sym.SliceChannel(sym.Convolution(x, sym.ConvolutionParams{NumFilter: 4, Kernel: []int{3, 3}, Pad: []int{1, 1}}),
		sym.SliceChannelParams{NumOutputs: 2})
	wide := sym.Concat([]*sym.Symbol{parts.At(0), sym.Reshape(parts.At(1), sym.ReshapeParams{Shape: []int{0, 2, 4, 4}})}, sym.ConcatParams{})
	for _, s := range []*sym.Symbol{mlp(), wide} {
		text, err := s.JSON()
		if err != nil {
			t.Fatal(err)
		}
		seeds = append(seeds, text)
	}
	hostile.Kind{Name: "symbol", Seeds: seeds, Text: true, Decode: func(b []byte) error {
		s, err := sym.Load(b)
		if err != nil {
			return err
		}
		if _, _, _, err := s.InferShapePartial(nil); err != nil {
			return nil // the file is a network; which shapes it wants is its user's business
		}
		_, err = s.JSON()
		return err
	}}.Run(t)
}
