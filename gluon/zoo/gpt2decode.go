package zoo

import (
	"fmt"

	"gomx/gluon"
	"gomx/gluon/generate"
	"gomx/gluon/nn"
	nd "gomx/ndarray"
	"gomx/op"
)

// Limits returns the number of words and the most steps of a sequence.
func (g *GPT2) Limits() (words, steps int) { return g.config.Vocab, g.config.MaxLength }

// Decoder begins n sequences of at most capacity steps, whose keys and values it keeps: in memory of
// 2·Layers·n·capacity·Units elements of the parameters' type, once for all steps. The network is
// compiled for each number of steps that it reads at once, and works on the processor. Parameters
// have values.
func (g *GPT2) Decoder(n, capacity int) (_ generate.Decoder, err error) {
	defer op.Recover(&err)
	weight := g.Embed.Weight.Data()
	switch {
	case n < 1:
		return nil, fmt.Errorf("zoo: a decoder of %d sequences, want at least 1", n)
	case capacity < 1 || capacity > g.config.MaxLength:
		return nil, fmt.Errorf("zoo: a decoder of %d steps, want 1 to %d", capacity,
			g.config.MaxLength)
	}
	d := &gpt2Decoder{g: g}
	for range g.AttentionLayers {
		d.caches = append(d.caches, nn.NewKVCache(n, capacity, g.config.Units,
			nd.As(weight.DType()), nd.Using(weight.Engine())))
	}
	d.net = gluon.Wrap(g, func(in []*nd.Array) []*nd.Array {
		return []*nd.Array{d.next(in[0], in[1], in[2])}
	})
	d.net.Hybridize()
	return d, nil
}

// gpt2Decoder is a batch of sequences that GPT2 reads.
type gpt2Decoder struct {
	g      *GPT2
	caches []*nn.KVCache // by layer
	net    *gluon.Net    // next, compiled
}

// Next reads words; see generate.Decoder.
func (d *gpt2Decoder) Next(words, position, last *nd.Array) *nd.Array {
	return d.net.Call(words, position, last)[0]
}

// next is Next before compilation.
func (d *gpt2Decoder) next(words, position, last *nd.Array) *nd.Array {
	g := d.g
	steps := nd.ArangeLike(words, nd.ArangeLikeParams{Axis: nd.Some(1)}).AsType(position.DType())
	places := nd.BroadcastAdd(position.ExpandDims(1), steps.ExpandDims(0))
	x := g.Embed.Forward(words).Add(g.PosEmbed.Forward(places))
	for i, a := range g.AttentionLayers {
		q, k, v := a.project(g.AttentionNorms[i].Forward(x))
		y := d.caches[i].Attend(q, k, v, position, a.heads)
		x = x.Add(a.OutProj.Forward(y))
		x = x.Add(g.FFNLayers[i].Forward(g.FFNNorms[i].Forward(x)))
	}
	x = rowsAt(x, last.ExpandDims(1)).Reshape(-1, g.config.Units)
	return g.LogitsProj.Forward(g.FinalNorm.Forward(x))
}

// Close frees the caches.
func (d *gpt2Decoder) Close() {
	d.net.Unhybridize()
	for _, c := range d.caches {
		c.Close()
	}
}
