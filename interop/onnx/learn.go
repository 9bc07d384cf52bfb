package onnx

import (
	"slices"

	"gomx/dtype"
	sym "gomx/symbol"
)

// learnRows are operators of classical machine learning.
var learnRows = map[string]row{
	"TfIdfVectorizer":                  {1, ngrams},
	"ai.onnx.ml:ArrayFeatureExtractor": {2, features},
	"ai.onnx.ml:Binarizer":             {1, binarizer},
}

// features selects elements of the last axis.
func features(c *call) []*sym.Symbol {
	v, n := c.in[0], c.in[1].size()
	if v.rank() == 0 {
		return c.fail("data of shape %v, want at least one axis", v.shape)
	}
	s := sym.Take(c.x(0), c.reshape(c.x(1), dtype.Shape{n}), sym.TakeParams{Axis: v.rank() - 1})
	if v.rank() == 1 {
		return out(c.reshape(s, dtype.Shape{1, n}))
	}
	return out(s)
}

func binarizer(c *call) []*sym.Symbol {
	c.elementwise()
	return out(sym.GreaterScalar(c.x(0), sym.ScalarParams{Scalar: c.float("threshold", 0)}))
}

// ngrams counts sequences of numbers in the rows of a matrix. Elements of a sequence may be apart
// by up to max_skip_count others, everywhere by the same number; single elements count once.
func ngrams(c *call) []*sym.Symbol {
	v := c.in[0]
	pool, starts, places := c.nums("pool_int64s"), c.nums("ngram_counts"), c.nums("ngram_indexes")
	shortest, longest := c.num("min_gram_length", 1), c.num("max_gram_length", 1)
	skips := c.num("max_skip_count", 0)
	if v.rank() < 1 || v.rank() > 2 || !v.typ.IsInt() || len(pool) == 0 || len(places) == 0 {
		return c.fail("data of shape %v and type %v, a pool of %d integers, and %d indices; want a "+
			"vector or a matrix of integers", v.shape, v.typ, len(pool), len(places))
	}
	if skips < 0 || skips > 1<<10 || slices.Min(places) < 0 || slices.Max(places) > 1<<20 {
		return c.fail("max_skip_count %d and indices from %d to %d are out of bounds", skips,
			slices.Min(places), slices.Max(places))
	}
	rows, width, size := 1, v.shape[v.rank()-1], slices.Max(places)+1
	if v.rank() == 2 {
		rows = v.shape[0]
	}
	data := c.reshape(cast(c.x(0), dtype.Int64), dtype.Shape{rows, width})
	total := c.filled(dtype.Shape{rows, size}, 0, dtype.Float32)
	next := 0 // number of the grams of shorter sizes
	for i := range starts {
		n, end := i+1, len(pool)
		if i+1 < len(starts) {
			end = starts[i+1]
		}
		if starts[i] < 0 || end < starts[i] || end > len(pool) || (end-starts[i])%n != 0 {
			return c.fail("ngram_counts %v for a pool of %d integers", starts, len(pool))
		}
		grams := pool[starts[i]:end]
		if next+len(grams)/n > len(places) {
			return c.fail("%d ngram_indexes, want one for each sequence of the pool", len(places))
		}
		at := places[next : next+len(grams)/n]
		next += len(at)
		if n < shortest || n > longest || len(at) == 0 {
			continue
		}
		for skip := range skips + 1 {
			if n == 1 && skip > 0 {
				break
			}
			if s := occurrences(c, data, grams, n, skip+1); s != nil {
				total = sym.ElemwiseAdd(total, moved(c, s, at, size))
			}
		}
	}
	return out(c.reshape(weigh(c, total), append(v.shape[:v.rank()-1].Clone(), size)))
}

// occurrences counts the sequences of n numbers in the rows of data, whose elements are step apart.
// The result has shape (rows, sequences) and type float32; it is nil if rows are too short.
func occurrences(c *call, data *sym.Symbol, grams []int, n, step int) *sym.Symbol {
	shape := c.shapeOf(data)
	windows := shape[len(shape)-1] - (n-1)*step
	if c.err != nil || windows < 1 {
		return nil
	}
	var all *sym.Symbol
	for k := range n {
		var list []int
		for i := k; i < len(grams); i += n {
			list = append(list, grams[i])
		}
		part := cut(data, 1, k*step, k*step+windows)
		same := sym.BroadcastEqual(c.reshape(part, dtype.Shape{shape[0], 1, windows}),
			c.indices(list, 1, len(list), 1))
		if all == nil {
			all = same
		} else {
			all = sym.ElemwiseMul(all, same)
		}
	}
	return sym.Sum(cast(all, dtype.Float32), sym.ReduceParams{Axis: []int{2}})
}

// moved moves column i of a matrix to column at[i] of a wider one; columns with the same place are
// added.
func moved(c *call, s *sym.Symbol, at []int, size int) *sym.Symbol {
	if !c.spend(4 * len(at) * size) {
		return s
	}
	m := make([]float64, len(at)*size)
	for i, k := range at {
		m[i*size+k]++
	}
	return sym.Dot(s, c.numbers(dtype.Float32, m, len(at), size), sym.DotParams{})
}

// weigh makes counts to the result that the attribute mode asks for.
func weigh(c *call, counts *sym.Symbol) *sym.Symbol {
	k := c.shapeOf(counts)
	mode, weights := c.text("mode", ""), c.floats("weights")
	switch mode {
	case "TF":
		return counts
	case "IDF":
		counts = sym.GreaterScalar(counts, sym.ScalarParams{})
	case "TFIDF":
	default:
		c.fail("mode %q, want TF, IDF or TFIDF", mode)
		return counts
	}
	if weights == nil || c.err != nil {
		return counts
	}
	if len(weights) != k[1] {
		c.fail("%d weights, want %d", len(weights), k[1])
		return counts
	}
	return sym.BroadcastMul(counts, c.numbers(dtype.Float32, weights, 1, k[1]))
}
