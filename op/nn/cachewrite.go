package nn

import (
	"unsafe"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// CacheWrite writes steps into a cache of keys or values.
var CacheWrite = op.Declare[op.NoParams]("CacheWrite")

func init() {
	CacheWrite.Define(op.Spec[op.NoParams]{
		Traits: op.Traits{
			Doc: `CacheWrite writes the next steps of sequences into a cache of keys or values, in place.

Cache has shape (batch, capacity, width), data (batch, n, width) and position (batch): the steps
of sequence b become the steps from position[b] on, and all n must fit there. The output is the
cache, in the same memory: readers of the output see the new steps. Nothing else is copied,
neither by imperative programs nor by graphs in which the cache is a variable. A traced function
may write into caches from outside; it reads the new steps from the output alone. Attention with
causal, use_position and the same positions reads the steps that have been written. MXNet has no
such operator.`,
			NoGrad:   "a cache belongs to decoding, which learns nothing",
			Inplace:  [][2]int{{0, 0}},
			Identity: true,
			Update:   true,
			Mutates:  []int{0},
		},
		Inputs: func(op.NoParams) []op.Input {
			return []op.Input{{Name: "cache", Role: op.Aux, Init: `["zero", {}]`}, {Name: "data"},
				{Name: "position"}}
		},
		Infer:     inferCacheWrite,
		InferType: inferCacheWriteType,
		Ref:       cacheWriteRef,
	})
}

func inferCacheWrite(_ op.NoParams, in, out []dtype.Shape) error {
	if err := op.Same("output", &in[0], &out[0]); err != nil {
		return err
	}
	for i, name := range []string{"cache", "data"} {
		if err := op.Require(name, &in[i], unknown(3)); err != nil {
			return err
		}
	}
	for range 2 {
		batch, width := max(in[0][0], in[1][0]), max(in[0][2], in[1][2])
		if err := op.Require("position", &in[2], dtype.Shape{batch}); err != nil {
			return err
		}
		batch = in[2][0]
		for i, name := range []string{"cache", "data"} {
			if err := op.Require(name, &in[i], dtype.Shape{batch, -1, width}); err != nil {
				return err
			}
		}
	}
	if n, room := in[1][1], in[0][1]; room >= 0 && n > room {
		return op.Errorf("data", "%d steps for a cache of %d", n, room)
	}
	out[0] = in[0].Clone()
	return nil
}

func inferCacheWriteType(_ op.NoParams, in, out []dtype.Type) error {
	if err := integers("position", &in[2]); err != nil {
		return err
	}
	return op.SameType(op.NoParams{}, in[:2], out)
}

func cacheWriteRef(_ op.NoParams, c *op.Call) error {
	cache, data := c.In[0], c.In[1]
	room, n := cache.Shape[1], data.Shape[1]
	positions := loop.Ints(c.In[2])
	for b, at := range positions {
		if at < 0 || at > int64(room-n) {
			return op.Errorf("position", "%d of sequence %d, want one from 0 to %d: %d steps for a "+
				"cache of %d", at, b, room-n, n, room)
		}
	}
	step := cache.Shape[2] * cache.DType.Size()
	if step > 0 && n > 0 {
		to := unsafe.Slice((*byte)(cache.Data), len(positions)*room*step)
		from := unsafe.Slice((*byte)(data.Data), len(positions)*n*step)
		for b, at := range positions {
			copy(to[(b*room+int(at))*step:][:n*step], from[b*n*step:])
		}
	}
	if out := c.Out[0]; out.Data != nil && out.Data != cache.Data {
		loop.Move(out, cache)
	}
	return nil
}
