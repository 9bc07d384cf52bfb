package export

import (
	"math"

	"gomx/dtype"
	"gomx/op/contrib"
	"gomx/op/nn"
)

// attentionRules are the parts of transformers that ONNX has no operators for.
var attentionRules = rules{
	nn.Attention.Op: on(attention), nn.RotaryEmbedding.Op: on(rotary),
	nn.CacheWrite.Op:     cacheWrite,
	contrib.SelfAttQK.Op: on(selfScores), contrib.SelfAttValAtt.Op: on(selfValues),
	contrib.EncDecQK.Op: on(crossScores), contrib.EncDecValAtt.Op: on(crossValues),
}

// heads takes one of several interleaved parts of (steps, batch, heads·parts·size) and makes
// matrices (batch·heads, steps, size) of it.
func (c *call) heads(x value, heads, parts, part int) value {
	steps, batch := x.shape[0], x.shape[1]
	size := x.shape[2] / (heads * parts)
	x = c.reshape(x, dtype.Shape{steps, batch * heads, parts, size})
	x = c.reshape(c.slice(x, 2, part, part+1, 1), dtype.Shape{steps, batch * heads, size})
	return c.transpose(x, 1, 0, 2)
}

// scores are scaled products of queries and keys.
func scores(c *call, q, k value) []value {
	q = c.scaled(q, 1/math.Sqrt(float64(q.shape[2])))
	return one(c.matmul(q, c.swapLast(k)))
}

// mixed are the values under weights, as (steps, batch, heads·size).
func mixed(c *call, weights, v value) []value {
	return one(c.reshape(c.transpose(c.matmul(weights, v), 1, 0, 2), c.out(0).shape))
}

func selfScores(c *call, p contrib.AttentionParams) []value {
	x := c.x(0)
	return scores(c, c.heads(x, p.Heads, 3, 0), c.heads(x, p.Heads, 3, 1))
}

func selfValues(c *call, p contrib.AttentionParams) []value {
	return mixed(c, c.x(1), c.heads(c.x(0), p.Heads, 3, 2))
}

func crossScores(c *call, p contrib.AttentionParams) []value {
	return scores(c, c.heads(c.x(0), p.Heads, 1, 0), c.heads(c.x(1), p.Heads, 2, 0))
}

func crossValues(c *call, p contrib.AttentionParams) []value {
	return mixed(c, c.x(1), c.heads(c.x(0), p.Heads, 2, 1))
}

// attention is composed of products and a softmax. The scores of keys that are not read are very
// low, and the weights of queries that read none are zero.
func attention(c *call, p nn.ScaledAttentionParams) []value {
	if p.Dropout > 0 && c.ex.config.training {
		return c.fail("weights that are dropped")
	}
	q, k, v := c.x(0), c.x(1), c.x(2)
	batch, n, keys := q.shape[0], q.shape[1], k.shape[1]
	groups := p.KVHeads
	if groups == 0 {
		groups = p.Heads
	}
	size, share := q.shape[2]/p.Heads, p.Heads/groups
	split := func(x value, heads int) value { // (batch, heads, steps, size)
		x = c.reshape(x, dtype.Shape{batch, x.shape[1], heads, x.shape[2] / heads})
		return c.transpose(x, 0, 2, 1, 3)
	}
	shared := func(x value) value { // (batch, groups, 1, steps, size), or as it is
		if share == 1 {
			return x
		}
		wide := dtype.Shape{batch, groups, share, keys, x.shape[3]}
		x = c.expand(c.reshape(x, dtype.Shape{batch, groups, 1, keys, x.shape[3]}), wide)
		return c.reshape(x, dtype.Shape{batch, p.Heads, keys, x.shape[4]})
	}
	q = c.scaled(split(q, p.Heads), p.Scale.Or(1/math.Sqrt(float64(size))))
	s := c.matmul(q, c.swapLast(shared(split(k, groups))))
	at := 3
	var reads []value // whether keys are read
	if p.UseMask {
		mask := c.x(at)
		at++
		if mask.typ == dtype.Bool {
			reads = append(reads, mask)
		} else {
			s = c.plus(s, c.cast(mask, s.typ))
		}
	}
	places := c.along(dtype.Int64, 3, 4, counting(keys)...)
	if p.UseLength {
		lengths := c.reshape(c.cast(c.x(at), dtype.Int64), dtype.Shape{batch, 1, 1, 1})
		reads = append(reads, c.test("Less", places, lengths))
		at++
	}
	if p.Causal {
		last := c.along(dtype.Int64, 2, 4, counting(n)...)
		if p.UsePosition {
			last = c.plus(last, c.reshape(c.cast(c.x(at), dtype.Int64),
				dtype.Shape{batch, 1, 1, 1}))
		}
		reads = append(reads, c.test("LessOrEqual", places, last))
	}
	y := c.matmul(c.weights(s, reads), shared(split(v, groups)))
	y = c.transpose(y, 0, 2, 1, 3)
	return one(c.reshape(y, c.out(0).shape))
}

// weights are the softmax of scores over the keys that are read.
func (c *call) weights(s value, reads []value) value {
	if len(reads) == 0 {
		return c.unary("Softmax", s, num("axis", 3))
	}
	read := reads[0]
	for _, r := range reads[1:] {
		read = c.test("And", read, r)
	}
	low := -1e30
	if s.typ == dtype.Float16 {
		low = -60000
	}
	w := c.unary("Softmax", c.where(read, s, c.like(s, low)), num("axis", 3))
	return c.where(read, w, c.like(w, 0))
}

// rotary turns pairs by angles, which are constants unless positions are an input.
func rotary(c *call, p nn.RotaryEmbeddingParams) []value {
	x := c.x(0)
	rank := len(x.shape)
	steps, width := x.shape[rank-2], x.shape[rank-1]
	size := p.Size
	if size == 0 {
		size = width
	}
	half := size / 2
	lead := x.shape[:rank-2].Size()
	rates, angles := make([]float64, half), make([]float64, 0, steps*half)
	for i := range rates {
		rates[i] = math.Pow(p.Base.Value(), -2*float64(i)/float64(size))
	}
	for t := range steps {
		for i := range half {
			angles = append(angles, float64(p.Offset+t)*rates[i])
		}
	}
	var cos, sin value // (lead or 1, steps, 1, half)
	if p.UsePosition {
		at := c.reshape(c.cast(c.x(1), x.typ), dtype.Shape{x.shape[0], 1, 1, 1})
		at = c.expand(at, dtype.Shape{x.shape[0], lead / max(1, x.shape[0]), 1, 1})
		at = c.reshape(at, dtype.Shape{lead, 1, 1, 1})
		at = c.plus(at, c.along(x.typ, 1, 4, counting(steps)...))
		at = c.plus(at, c.like(x, float64(p.Offset)))
		angle := c.times(at, c.along(x.typ, 3, 4, rates...))
		cos, sin = c.unary("Cos", angle), c.unary("Sin", angle)
	} else {
		table := func(f func(float64) float64) value {
			list := make([]float64, len(angles))
			for i, a := range angles {
				list[i] = f(a)
			}
			return c.constant(x.typ, dtype.Shape{1, steps, 1, half}, list...)
		}
		cos, sin = table(math.Cos), table(math.Sin)
	}
	y := c.turn(c.reshape(x, dtype.Shape{lead, steps, width / size, size}), cos, sin,
		p.Interleaved)
	return one(c.reshape(y, x.shape))
}

// turn rotates the pairs of (lead, steps, heads, size).
func (c *call) turn(x, cos, sin value, interleaved bool) value {
	half := x.shape[3] / 2
	var a, b value
	pairs := append(x.shape[:3:3], half, 2)
	if interleaved {
		two := c.split(c.reshape(x, pairs), 4, 1, 1)
		a, b = c.reshape(two[0], pairs[:4]), c.reshape(two[1], pairs[:4])
	} else {
		two := c.split(x, 3, half, half)
		a, b = two[0], two[1]
	}
	first := c.minus(c.times(a, cos), c.times(b, sin))
	second := c.plus(c.times(a, sin), c.times(b, cos))
	if !interleaved {
		return c.concat(3, first, second)
	}
	wide := append(pairs[:4:4], 1)
	return c.reshape(c.concat(4, c.reshape(first, wide), c.reshape(second, wide)), x.shape)
}

// cacheWrite takes each step of the cache from the data where it lies there.
func cacheWrite(c *call) []value {
	cache, data, at := c.x(0), c.x(1), c.cast(c.x(2), dtype.Int64)
	batch, room, n := cache.shape[0], cache.shape[1], data.shape[1]
	from := c.minus(c.along(dtype.Int64, 1, 2, counting(room)...),
		c.reshape(at, dtype.Shape{batch, 1}))
	in := c.test("And", c.test("GreaterOrEqual", from, c.scalar(dtype.Int64, 0)),
		c.test("Less", from, c.scalar(dtype.Int64, float64(n))))
	ids := c.expand(c.reshape(c.within(from, n, "clip"), dtype.Shape{batch, room, 1}), cache.shape)
	moved := c.elements(data, ids, 1)
	return one(c.where(c.reshape(in, dtype.Shape{batch, room, 1}), moved, cache))
}
