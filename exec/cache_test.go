package exec_test

import (
	"math/rand/v2"
	"testing"

	"gomx/dtype"
	"gomx/internal/nettest"
	nd "gomx/ndarray"
	sym "gomx/symbol"
)

// Steps of decoding with a cache give the rows of attention over the whole sequence, and the planned
// memory does not hold the cache.
func TestDecodingCopiesNoCache(t *testing.T) {
	const capacity, steps, size = 512, 6, 8
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	nd.SetSeed(seed)
	p := nd.ScaledAttentionParams{Heads: 2, Causal: true, UsePosition: true}
	at := sym.Var("position")
	cached := func(name string) *sym.Symbol {
		return sym.CacheWrite(sym.Var(name), at, sym.With("cache", sym.Var(name+"s")))
	}
	y := sym.Attention(sym.Var("query"), cached("key"), cached("value"), p,
		sym.With("position", at))
	one := dtype.Shape{1, 1, size}
	ex, err := y.SimpleBind(sym.BindConfig{Shapes: map[string]dtype.Shape{"query": one, "key": one,
		"keys": {1, capacity, size}, "value": one}})
	if err != nil {
		t.Fatal(err)
	}
	use, err := ex.MemoryUse(false)
	if err != nil {
		t.Fatal(err)
	}
	if cache := int64(4 * capacity * size); use.Values+use.Kept+use.Outputs >= cache {
		t.Errorf("memory %+v, want less than one cache of %d bytes", use, cache)
	}
	all := map[string]*nd.Array{}
	for _, name := range []string{"query", "key", "value"} {
		all[name] = nd.Normal(0, 1, nd.Shape{1, steps, size})
	}
	eager := map[string]*nd.Array{"key": nd.Zeros(nd.Shape{1, capacity, size}),
		"value": nd.Zeros(nd.Shape{1, capacity, size})}
	want := nd.Attention(all["query"], all["key"], all["value"], nd.ScaledAttentionParams{Heads: 2,
		Causal: true})
	for i := range steps {
		position := nd.Full(float64(i), nd.Shape{1}, nd.As(dtype.Int32))
		position.CopyInto(ex.Args["position"])
		for name, a := range all {
			a.SliceAxis(1, i, i+1).CopyInto(ex.Args[name])
		}
		for name, cache := range eager {
			if got := nd.CacheWrite(cache, all[name].SliceAxis(1, i, i+1), position); got != cache {
				t.Fatal("CacheWrite returns another array than the cache")
			}
		}
		if err := ex.Forward(false); err != nil {
			t.Fatal(err)
		}
		row := nettest.Values(t, want.SliceAxis(1, i, i+1))
		nettest.Near(t, "executor", nettest.Values(t, ex.Outputs()[0]), row)
		now := nd.Attention(all["query"].SliceAxis(1, i, i+1), eager["key"], eager["value"], p,
			nd.With("position", position))
		nettest.Near(t, "arrays", nettest.Values(t, now), row)
	}
	nettest.Near(t, "cache", nettest.Values(t, ex.Aux["keys"].SliceAxis(1, 0, steps)),
		nettest.Values(t, all["key"]))
}
