package zoo

import (
	"math"

	"gomx/gluon"
	"gomx/gluon/nn"
	"gomx/initializer"
	nd "gomx/ndarray"
)

// GPT2Config describes a GPT-2 network. Sizes are GPT-2 small's by default.
type GPT2Config struct {
	Vocab     int     // words; 50257 by default
	Units     int     // size of a step; 768 by default
	Layers    int     // 12 by default
	Heads     int     // of the attention; Units/64 by default
	MaxLength int     // most steps of a sequence; 1024 by default
	Dropout   float64 // share of the attention's weights that is dropped in training
}

// GPT2Small is the configuration of GPT-2 small, GluonNLP's gpt2_117m.
func GPT2Small() GPT2Config { return GPT2Config{}.complete() }

// complete gives the sizes that are 0 their defaults.
func (c GPT2Config) complete() GPT2Config {
	for _, v := range []struct {
		size  *int
		other int
	}{{&c.Vocab, 50257}, {&c.Units, 768}, {&c.Layers, 12}, {&c.MaxLength, 1024}} {
		if *v.size == 0 {
			*v.size = v.other
		}
	}
	if c.Heads == 0 {
		c.Heads = max(1, c.Units/64)
	}
	return c
}

// GPT2 predicts the next word of each step of a sequence (Radford et al., Language Models are
// Unsupervised Multitask Learners). Names follow GluonNLP's GPT2Model.
type GPT2 struct {
	gluon.Hooks
	PosEmbed        *nn.Embedding      `gluon:"_pos_embed"`
	Embed           *nn.Embedding      `gluon:"_embed"`
	LogitsProj      *nn.Dense          `gluon:"_logits_proj"` // its weight is that of Embed
	AttentionLayers []*GPT2Attention   `gluon:"_self_attention_layers"`
	FFNLayers       []*GPT2FeedForward `gluon:"_ffn_layers"`
	AttentionNorms  []*nn.LayerNorm    `gluon:"_attn_ln"`
	FFNNorms        []*nn.LayerNorm    `gluon:"_ffn_ln"`
	FinalNorm       *nn.LayerNorm      `gluon:"_final_ln"`

	config GPT2Config
}

// NewGPT2 makes the network.
func NewGPT2(c GPT2Config) *GPT2 {
	c = c.complete()
	norm := func() *nn.LayerNorm { return &nn.LayerNorm{Channels: c.Units} }
	g := &GPT2{config: c, FinalNorm: norm(),
		PosEmbed: &nn.Embedding{Rows: c.MaxLength, Units: c.Units,
			WeightInit: initializer.Normal{Sigma: 0.01}},
		Embed:      &nn.Embedding{Rows: c.Vocab, Units: c.Units, WeightInit: bertInit},
		LogitsProj: &nn.Dense{Units: c.Vocab, InUnits: c.Units, KeepAxes: true, NoBias: true}}
	g.Embed.Declare()
	g.LogitsProj.Weight = g.Embed.Weight
	for range c.Layers {
		g.AttentionLayers = append(g.AttentionLayers, &GPT2Attention{heads: c.Heads,
			dropout: c.Dropout, QKVProj: bertDense(3*c.Units, c.Units),
			OutProj: bertDense(c.Units, c.Units)})
		g.FFNLayers = append(g.FFNLayers, &GPT2FeedForward{
			HiddenMap: bertDense(4*c.Units, c.Units), OutMap: bertDense(c.Units, 4*c.Units)})
		g.AttentionNorms, g.FFNNorms = append(g.AttentionNorms, norm()), append(g.FFNNorms, norm())
	}
	return g
}

// Forward returns the scores of the next word for each step, of shape (n, steps, Vocab), for words
// of shape (n, steps).
func (g *GPT2) Forward(words *nd.Array) *nd.Array {
	scores, _ := g.Run(words, nil)
	return scores
}

// Run continues sequences: past is nil, or the second result of the call for the steps before. It
// has the keys and the values of each layer, of shape (n, steps, Units).
func (g *GPT2) Run(words *nd.Array, past []*nd.Array) (scores *nd.Array, now []*nd.Array) {
	call, before, steps := g.Enter(g, words), 0, words.Shape()[1]
	if past != nil {
		if len(past) != 2*len(g.AttentionLayers) {
			panic(misuse("GPT2", "a past of %d arrays, want %d", len(past),
				2*len(g.AttentionLayers)))
		}
		before = past[0].Shape()[1]
	}
	if before+steps > g.config.MaxLength {
		panic(misuse("GPT2", "sequences of %d steps, want at most %d", before+steps,
			g.config.MaxLength))
	}
	places := nd.ArangeLike(words, nd.ArangeLikeParams{Axis: nd.Some(1), Start: float64(before)})
	x := g.Embed.Forward(words).Add(g.PosEmbed.Forward(places).ExpandDims(0))
	for i, a := range g.AttentionLayers {
		var key, value *nd.Array
		if past != nil {
			key, value = past[2*i], past[2*i+1]
		}
		y, key, value := a.Run(g.AttentionNorms[i].Forward(x), key, value)
		now = append(now, key, value)
		x = x.Add(y)
		x = x.Add(g.FFNLayers[i].Forward(g.FFNNorms[i].Forward(x)))
	}
	scores = call.Leave(g.LogitsProj.Forward(g.FinalNorm.Forward(x)))
	return scores, now
}

// Scope says how GluonNLP names the network.
func (g *GPT2) Scope() gluon.Scope { return gluon.Scope{Prefix: "gpt2model", Numbered: true} }

// GPT2Attention lets each step read itself and the steps before it.
type GPT2Attention struct {
	gluon.Hooks
	QKVProj *nn.Dense `gluon:"_multi_head_qkv_proj"`
	OutProj *nn.Dense `gluon:"_out_proj"`

	heads   int
	dropout float64
}

// Forward reads whole sequences.
func (a *GPT2Attention) Forward(x *nd.Array) *nd.Array {
	y, _, _ := a.Run(x, nil, nil)
	return y
}

// Run reads sequences that continue the steps of which key and value are; nil: they begin. It
// returns the keys and values of all steps, too.
func (a *GPT2Attention) Run(x, key, value *nd.Array) (y, keys, values *nd.Array) {
	call := a.Enter(a, x)
	query, keys, values := a.project(x)
	if key != nil {
		keys = nd.Concat([]*nd.Array{key, keys}, nd.ConcatParams{Dim: nd.Some(1)})
		values = nd.Concat([]*nd.Array{value, values}, nd.ConcatParams{Dim: nd.Some(1)})
	}
	y = nn.Attention(query, keys, values, a.heads, a.dropout, nn.Causal())
	return call.Leave(a.OutProj.Forward(y)), keys, values
}

// project returns queries, keys and values, of shape (n, steps, units) each.
func (a *GPT2Attention) project(x *nd.Array) (query, key, value *nd.Array) {
	parts := nd.SliceChannel(a.QKVProj.Forward(x), nd.SliceChannelParams{NumOutputs: 3,
		Axis: nd.Some(2)})
	return parts[0], parts[1], parts[2]
}

// GPT2FeedForward treats each step on its own.
type GPT2FeedForward struct {
	gluon.Hooks
	HiddenMap *nn.Dense `gluon:"_hidden_map"`
	OutMap    *nn.Dense `gluon:"_out_map"`
}

// Forward returns two products of x with GELU between them, in the form with tanh.
func (f *GPT2FeedForward) Forward(x *nd.Array) *nd.Array {
	call := f.Enter(f, x)
	y := f.HiddenMap.Forward(x)
	inner := y.Add(y.Mul(y).Mul(y).MulScalar(0.044715)).MulScalar(math.Sqrt(2 / math.Pi))
	y = y.Mul(inner.Tanh().AddScalar(1)).MulScalar(0.5)
	return call.Leave(f.OutMap.Forward(y))
}
