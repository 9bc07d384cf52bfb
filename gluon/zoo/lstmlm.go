package zoo

import (
	"gomx/gluon"
	"gomx/gluon/nn"
	"gomx/gluon/rnn"
	"gomx/initializer"
	nd "gomx/ndarray"
)

// wikiText2 is the number of words of WikiText-2.
const wikiText2 = 33278

// LSTMLMConfig describes a language model of recurrent layers.
type LSTMLMConfig struct {
	Mode    string  // kind of the layers, see rnn.Layer; LSTM by default
	Vocab   int     // words; 33278 by default, the words of WikiText-2
	Embed   int     // size of the code of a word; Hidden by default
	Hidden  int     // hidden units; 200 by default
	Layers  int     // 2 by default
	Dropout float64 // share that is dropped in training
	Untied  bool    // the decoder has a weight of its own, not the embedding's
}

// StandardLSTM is the configuration of GluonNLP's standard_lstm_lm_200, _650 or _1500.
func StandardLSTM(units int) LSTMLMConfig {
	share, ok := map[int]float64{200: 0.2, 650: 0.5, 1500: 0.65}[units]
	if !ok {
		panic(misuse("StandardLSTM", "%d units, want 200, 650 or 1500", units))
	}
	return LSTMLMConfig{Hidden: units, Dropout: share}
}

// LSTMLM predicts the next word of each step of a text. Names follow GluonNLP's StandardRNN.
type LSTMLM struct {
	gluon.Hooks
	Embedding nn.Sequential
	Encoder   *rnn.Layer
	Decoder   nn.Sequential // its weight is that of Embedding, unless Untied

	dropout float64
}

// NewLSTMLM makes the network.
func NewLSTMLM(c LSTMLMConfig) *LSTMLM {
	for _, v := range []struct {
		size  *int
		other int
	}{{&c.Vocab, wikiText2}, {&c.Hidden, 200}, {&c.Layers, 2}} {
		if *v.size == 0 {
			*v.size = v.other
		}
	}
	if c.Embed == 0 {
		c.Embed = c.Hidden
	}
	if !c.Untied && c.Embed != c.Hidden {
		panic(misuse("LSTMLM", "codes of size %d and %d hidden units, want the same number or "+
			"Untied", c.Embed, c.Hidden))
	}
	table := &nn.Embedding{Rows: c.Vocab, Units: c.Embed,
		WeightInit: initializer.Uniform{Scale: 0.1}}
	words := &nn.Dense{Units: c.Vocab, InUnits: c.Hidden, KeepAxes: true}
	if !c.Untied {
		table.Declare()
		words.Weight = table.Weight
	}
	m := &LSTMLM{dropout: c.Dropout, Embedding: nn.Sequential{table}, Decoder: nn.Sequential{words},
		Encoder: &rnn.Layer{Mode: c.Mode, Hidden: c.Hidden, Layers: c.Layers, Dropout: c.Dropout,
			InSize: c.Embed}}
	if c.Dropout > 0 {
		m.Embedding = append(m.Embedding, &nn.Dropout{Rate: c.Dropout, Axes: []int{0}})
	}
	return m
}

// Forward returns the scores of the next word for each step, of shape (steps, n, Vocab), for words
// of shape (steps, n) of texts that begin.
func (m *LSTMLM) Forward(words *nd.Array) *nd.Array {
	scores, _ := m.Run(words)
	return scores
}

// Run returns the scores, and the states that the next call gives on by rnn.Begin.
func (m *LSTMLM) Run(words *nd.Array, opts ...rnn.Option) (scores *nd.Array, states []*nd.Array) {
	call := m.Enter(m, words)
	x, states := m.Encoder.Run(m.Embedding.Forward(words), opts...)
	if m.dropout > 0 {
		x = nd.Dropout(x, nd.DropoutParams{P: nd.Some(m.dropout), Axes: []int{0}})
	}
	return call.Leave(m.Decoder.Forward(x)), states
}

// Scope says how GluonNLP names the network.
func (m *LSTMLM) Scope() gluon.Scope { return gluon.Scope{Prefix: "standardrnn", Numbered: true} }
