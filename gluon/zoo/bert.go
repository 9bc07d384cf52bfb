package zoo

import (
	"gomx/gluon"
	"gomx/gluon/nn"
	"gomx/initializer"
	nd "gomx/ndarray"
)

// BERTConfig describes a BERT network. Sizes are BERT-base's by default.
type BERTConfig struct {
	Vocab      int     // words; 30522 by default
	TokenTypes int     // kinds of segments; 2 by default
	Units      int     // size of a step; 768 by default
	Hidden     int     // size of the inner layers; 4·Units by default
	Layers     int     // 12 by default
	Heads      int     // of the attention; Units/64 by default
	MaxLength  int     // most steps of a sequence; 512 by default
	Dropout    float64 // share that is dropped in training; 0 by default, 0.1 in the paper
	Eps        float64 // is added to variances in norms over layers; 1e-12 by default

	NoTokenTypes bool // leave the embedding of the kinds of segments out
	NoPooler     bool // leave Pooler out, and Classifier
	NoClassifier bool // leave Classifier out
	NoDecoder    bool // leave Decoder out
}

// BERTBase is the configuration of BERT-base: 12 layers of 768 units, GluonNLP's bert_12_768_12.
func BERTBase() BERTConfig { return BERTConfig{}.complete() }

// BERTSmall is the configuration of BERT-small: 4 layers of 512 units.
func BERTSmall() BERTConfig { return BERTConfig{Units: 512, Layers: 4}.complete() }

// complete gives the sizes that are 0 their defaults.
func (c BERTConfig) complete() BERTConfig {
	for _, v := range []struct {
		size  *int
		other int
	}{{&c.Vocab, 30522}, {&c.TokenTypes, 2}, {&c.Units, 768}, {&c.Layers, 12},
		{&c.MaxLength, 512}} {
		if *v.size == 0 {
			*v.size = v.other
		}
	}
	if c.Hidden == 0 {
		c.Hidden = 4 * c.Units
	}
	if c.Heads == 0 {
		c.Heads = max(1, c.Units/64)
	}
	if c.Eps == 0 {
		c.Eps = 1e-12
	}
	c.NoClassifier = c.NoClassifier || c.NoPooler
	return c
}

// BERT reads sequences of words in both directions (Devlin et al., BERT: Pre-training of Deep
// Bidirectional Transformers for Language Understanding). Names follow GluonNLP's BERTModel.
type BERT struct {
	gluon.Hooks
	Encoder        *BERTEncoder
	WordEmbed      nn.Sequential
	TokenTypeEmbed nn.Sequential // nil with NoTokenTypes
	Pooler         *nn.Dense     // of the first step, for sequences as a whole; nil with NoPooler
	Classifier     *nn.Dense     // tells whether the second segment follows the first one
	Decoder        nn.Sequential // predicts masked words; its last weight is that of WordEmbed

	config BERTConfig
}

// NewBERT makes the network.
func NewBERT(c BERTConfig) *BERT {
	c = c.complete()
	embedding := &nn.Embedding{Rows: c.Vocab, Units: c.Units, WeightInit: bertInit}
	embedding.Declare()
	b := &BERT{config: c, Encoder: newBERTEncoder(c), WordEmbed: nn.Sequential{embedding}}
	if !c.NoTokenTypes {
		b.TokenTypeEmbed = nn.Sequential{&nn.Embedding{Rows: c.TokenTypes, Units: c.Units,
			WeightInit: bertInit}}
	}
	if !c.NoPooler {
		b.Pooler = bertDense(c.Units, c.Units)
		b.Pooler.Activation = "tanh"
	}
	if !c.NoClassifier {
		b.Classifier = bertDense(2, c.Units)
	}
	if !c.NoDecoder {
		words := bertDense(c.Vocab, c.Units)
		words.Weight = embedding.Weight
		b.Decoder = nn.Sequential{bertDense(c.Units, c.Units), nn.GELU{}, bertNorm(c), words}
	}
	return b
}

// bertInit is the initializer of weights.
var bertInit = initializer.Normal{Sigma: 0.02}

// bertDense is a product over the last axis.
func bertDense(units, in int) *nn.Dense {
	return &nn.Dense{Units: units, InUnits: in, KeepAxes: true, WeightInit: bertInit}
}

// bertNorm is the normalization of steps.
func bertNorm(c BERTConfig) *nn.LayerNorm {
	return &nn.LayerNorm{Channels: c.Units, Eps: nd.Some(c.Eps)}
}

// BERTInput is a batch of sequences.
type BERTInput struct {
	Words       *nd.Array // of shape (n, steps): numbers of words
	TokenTypes  *nd.Array // of shape (n, steps): numbers of segments; nil with NoTokenTypes
	ValidLength *nd.Array // of shape (n): steps of each sequence that count; nil: all
	// Masked has the shape (n, places): steps whose words Decoder predicts; nil: it predicts none.
	Masked *nd.Array
	// Positions has the shape (n, steps): the place of each step in its sequence; nil: 0, 1, 2...
	Positions *nd.Array
	// Mask is not zero where a step may read another, as of nn.Mask; nil: ValidLength alone
	// decides. With Positions, it packs several short sequences into the steps of one.
	Mask *nd.Array
}

// BERTOutput is the result for a batch. Arrays of parts that the network has not are nil.
type BERTOutput struct {
	Steps  *nd.Array // of shape (n, steps, Units)
	Pooled *nd.Array // of shape (n, Units)
	Next   *nd.Array // of shape (n, 2): scores of Classifier
	Words  *nd.Array // of shape (n, places, Vocab): scores of words for masked steps
}

// Run reads a batch.
func (b *BERT) Run(in BERTInput) BERTOutput {
	call := b.Enter(b, in.Words)
	x := b.WordEmbed.Forward(in.Words)
	if b.TokenTypeEmbed != nil {
		x = x.Add(b.TokenTypeEmbed.Forward(in.TokenTypes))
	}
	out := BERTOutput{Steps: b.Encoder.run(x, in)}
	if b.Pooler != nil {
		out.Pooled = b.Pooler.Forward(out.Steps.SliceAxis(1, 0, 1).Reshape(-1, b.config.Units))
	}
	if b.Classifier != nil {
		out.Next = b.Classifier.Forward(out.Pooled)
	}
	if b.Decoder != nil && in.Masked != nil {
		out.Words = b.Decoder.Forward(rowsAt(out.Steps, in.Masked))
	}
	call.Leave(out.Steps)
	return out
}

// rowsAt returns steps of each sequence: an array of shape (n, places, units).
func rowsAt(x, places *nd.Array) *nd.Array {
	steps, units := x.Shape()[1], x.Shape()[2]
	first := nd.ArangeLike(places, nd.ArangeLikeParams{Axis: nd.Some(0)}).MulScalar(float64(steps))
	rows := places.Add(first.ExpandDims(1).AsType(places.DType()))
	return nd.Take(x.Reshape(-1, units), rows, nd.TakeParams{})
}

// Net makes a network of it whose arguments are words, token types, lengths and masked places, in
// this order and as far as the network has the parts. Its results are the parts of BERTOutput that
// the network has.
func (b *BERT) Net() *gluon.Net {
	return gluon.Wrap(b, func(in []*nd.Array) []*nd.Array {
		next := func() (a *nd.Array) {
			if len(in) > 0 {
				a, in = in[0], in[1:]
			}
			return a
		}
		x := BERTInput{Words: next()}
		if b.TokenTypeEmbed != nil {
			x.TokenTypes = next()
		}
		x.ValidLength, x.Masked = next(), next()
		out := b.Run(x)
		var list []*nd.Array
		for _, a := range []*nd.Array{out.Steps, out.Pooled, out.Next, out.Words} {
			if a != nil {
				list = append(list, a)
			}
		}
		return list
	})
}

// Scope says how GluonNLP names the network.
func (b *BERT) Scope() gluon.Scope { return gluon.Scope{Prefix: "bertmodel", Numbered: true} }

// BERTEncoder adds codes of places to sequences and passes them through layers. Names follow
// GluonNLP's BERTEncoder.
type BERTEncoder struct {
	gluon.Hooks
	PositionWeight   *gluon.Param
	LayerNorm        *nn.LayerNorm
	TransformerCells []*BERTLayer

	config BERTConfig
}

// newBERTEncoder makes the encoder.
func newBERTEncoder(c BERTConfig) *BERTEncoder {
	e := &BERTEncoder{config: c, LayerNorm: bertNorm(c), PositionWeight: gluon.NewParam(gluon.Spec{
		Shape: nd.Shape{c.MaxLength, c.Units}, Init: bertInit})}
	for range c.Layers {
		e.TransformerCells = append(e.TransformerCells, newBERTLayer(c))
	}
	return e
}

// Run encodes sequences of shape (n, steps, Units). Steps behind the length of a sequence are not
// read, and their outputs are zero; lengths may be nil.
func (e *BERTEncoder) Run(x, lengths *nd.Array) *nd.Array {
	return e.run(x, BERTInput{ValidLength: lengths})
}

// run encodes sequences of shape (n, steps, Units) with the lengths, positions and mask of in.
func (e *BERTEncoder) run(x *nd.Array, in BERTInput) *nd.Array {
	call, steps, lengths := e.Enter(e, x), x.Shape()[1], in.ValidLength
	if steps > e.config.MaxLength && in.Positions == nil {
		panic(misuse("BERT", "sequences of %d steps, want at most %d", steps, e.config.MaxLength))
	}
	if in.Positions != nil {
		x = x.Add(nd.Embedding(in.Positions, e.PositionWeight.At(x), nd.EmbeddingParams{
			InputDim: e.config.MaxLength, OutputDim: e.config.Units}))
	} else {
		x = x.Add(e.PositionWeight.At(x).SliceAxis(0, 0, steps).ExpandDims(0))
	}
	x = e.LayerNorm.Forward(drop(x, e.config.Dropout))
	for _, l := range e.TransformerCells {
		x = l.run(x, lengths, in.Mask)
	}
	if lengths != nil {
		x = nd.SequenceMask(x, nd.SequenceMaskParams{Axis: 1, UseSequenceLength: true},
			nd.With("sequence_length", lengths))
	}
	return call.Leave(x)
}

// drop drops a share of the elements in training.
func drop(x *nd.Array, share float64) *nd.Array {
	if share == 0 {
		return x
	}
	return nd.Dropout(x, nd.DropoutParams{P: nd.Some(share)})
}

// BERTLayer is self-attention and a part that treats each step on its own, both normalized behind
// their sum with the input.
type BERTLayer struct {
	gluon.Hooks
	AttentionCell *BERTAttention
	Proj          *nn.Dense // of the attention's heads
	FFN           *BERTFeedForward
	LayerNorm     *nn.LayerNorm

	config BERTConfig
}

// BERTAttention has the projections of a self-attention.
type BERTAttention struct {
	ProjQuery, ProjKey, ProjValue *nn.Dense

	attention *nn.MultiHeadAttention // of these projections and the layer's
}

// Declare does nothing: the layer makes the parts.
func (a *BERTAttention) Declare() {}

// BERTFeedForward treats each step on its own.
type BERTFeedForward struct {
	gluon.Hooks
	FFN1      *nn.Dense `gluon:"ffn_1"`
	FFN2      *nn.Dense `gluon:"ffn_2"`
	LayerNorm *nn.LayerNorm

	dropout float64
}

// newBERTLayer makes a layer.
func newBERTLayer(c BERTConfig) *BERTLayer {
	dense := func() *nn.Dense { return bertDense(c.Units, c.Units) }
	a := &BERTAttention{ProjQuery: dense(), ProjKey: dense(), ProjValue: dense()}
	l := &BERTLayer{config: c, AttentionCell: a, Proj: dense(), LayerNorm: bertNorm(c),
		FFN: &BERTFeedForward{FFN1: bertDense(c.Hidden, c.Units),
			FFN2: bertDense(c.Units, c.Hidden), LayerNorm: bertNorm(c), dropout: c.Dropout}}
	a.attention = &nn.MultiHeadAttention{Units: c.Units, Heads: c.Heads, Dropout: c.Dropout,
		Query: a.ProjQuery, Key: a.ProjKey, Value: a.ProjValue, Out: l.Proj}
	return l
}

// Run passes sequences through the layer.
func (l *BERTLayer) Run(x, lengths *nd.Array) *nd.Array { return l.run(x, lengths, nil) }

// run passes sequences through the layer, whose steps read others as lengths and mask say.
func (l *BERTLayer) run(x, lengths, mask *nd.Array) *nd.Array {
	call := l.Enter(l, x)
	var opts []nn.AttentionOption
	if mask != nil {
		opts = append(opts, nn.Mask(mask))
	}
	if lengths != nil {
		opts = append(opts, nn.ValidLength(lengths))
	}
	y := drop(l.AttentionCell.attention.Attend(x, x, opts...), l.config.Dropout)
	return call.Leave(l.FFN.Forward(l.LayerNorm.Forward(y.Add(x))))
}

// Forward passes sequences of which all steps count through the layer.
func (l *BERTLayer) Forward(x *nd.Array) *nd.Array { return l.Run(x, nil) }

// Forward returns x and two products of it, normalized.
func (f *BERTFeedForward) Forward(x *nd.Array) *nd.Array {
	call := f.Enter(f, x)
	y := f.FFN2.Forward(nn.GELU{}.Forward(f.FFN1.Forward(x)))
	return call.Leave(f.LayerNorm.Forward(drop(y, f.dropout).Add(x)))
}

// Forward encodes sequences of which all steps count.
func (e *BERTEncoder) Forward(x *nd.Array) *nd.Array { return e.Run(x, nil) }
