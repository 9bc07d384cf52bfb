package zoo_test

import (
	"testing"

	"gomx/gluon"
	"gomx/gluon/nn"
	"gomx/gluon/zoo"
	"gomx/initializer"
	nd "gomx/ndarray"
	sym "gomx/symbol"
)

// TestAttentionIsFound counts the attention that compilation finds in graphs of training and of
// inference.
func TestAttentionIsFound(t *testing.T) {
	given := map[string]nd.Shape{"x": {2, 7, 16}, "memory": {2, 9, 16}, "lengths": {2},
		"words": {2, 7}}
	inputs := func(names ...string) (list []gluon.ExportOption) {
		for _, n := range names {
			list = append(list, gluon.Input(n, given[n]...))
		}
		return list
	}
	c := nn.TransformerConfig{Units: 16, Heads: 4, Dropout: 0.1}
	decoder := &nn.TransformerDecoder{TransformerConfig: c, Depth: 2}
	bert := smallBERT
	bert.Dropout, bert.NoDecoder, bert.NoTokenTypes = 0.1, true, true
	for name, test := range map[string]struct {
		net    *gluon.Net
		inputs []gluon.ExportOption
		want   int
	}{
		"BERT":    {zoo.NewBERT(bert).Net(), inputs("words", "lengths"), 2},
		"GPT-2":   {gluon.New(zoo.NewGPT2(smallGPT2)), inputs("words"), 2},
		"encoder": {gluon.New(&nn.TransformerEncoder{TransformerConfig: c, Depth: 3}), inputs("x"), 3},
		"decoder": {gluon.Wrap(decoder, func(in []*nd.Array) []*nd.Array {
			return []*nd.Array{decoder.Run(in[0], in[1], nn.Causal(), nn.MemoryLength(in[2]))}
		}), inputs("x", "memory", "lengths"), 4},
	} {
		t.Run(name, func(t *testing.T) {
			ok(t, test.net.Init(initializer.Normal{Sigma: 0.02}))
			s, err := test.net.Symbol(test.inputs...)
			ok(t, err)
			shapes := map[string]nd.Shape{}
			for _, p := range test.net.Params().All() {
				shapes[p.Name()] = p.Shape
			}
			for _, name := range s.Arguments() {
				if shape, ok := given[name]; ok {
					shapes[name] = shape
				}
			}
			for _, train := range []bool{true, false} {
				e, err := sym.Explain(s, sym.BindConfig{Shapes: shapes}, train)
				ok(t, err)
				for _, p := range e.Passes {
					if p.Pass == "fuse-attention" && len(p.Changes) != test.want {
						t.Errorf("train %v: %d operators Attention, want %d", train,
							len(p.Changes), test.want)
					}
				}
			}
		})
	}
}
