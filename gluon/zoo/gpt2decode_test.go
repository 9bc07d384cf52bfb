package zoo_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"gomx/device"
	"gomx/gluon"
	"gomx/gluon/generate"
	"gomx/gluon/zoo"
	"gomx/initializer"
	"gomx/internal/nettest"
	nd "gomx/ndarray"
)

// randomGPT2 makes a network with weights that make its scores differ.
func randomGPT2(t *testing.T, c zoo.GPT2Config, seed uint64) *zoo.GPT2 {
	t.Helper()
	g := zoo.NewGPT2(c)
	net := gluon.New(g)
	net.Params().SetInit(initializer.Normal{Sigma: 0.4})
	ok(t, net.Init(nil, gluon.Seed(seed)))
	return g
}

// plainNext returns the scores behind a sequence, of a network that reads all of it.
func plainNext(t *testing.T, g *zoo.GPT2, words []int) []float32 {
	t.Helper()
	x := make([]float32, len(words))
	for i, w := range words {
		x[i] = float32(w)
	}
	y := nettest.Values(t, g.Forward(nd.FromSlice(x, 1, len(x))))
	return y[len(y)-len(y)/len(words):]
}

// Sequences of different lengths that are read in parts of several steps have the scores of the same
// sequences that are read at once and alone.
func TestDecoderHasTheScoresOfWholeSequences(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	g := randomGPT2(t, zoo.GPT2Config{Vocab: 40, Units: 24, Layers: 3, Heads: 4, MaxLength: 32}, seed)
	const n = 3
	d, err := g.Decoder(n, 30)
	ok(t, err)
	defer d.Close()
	var read [n][]int
	for _, steps := range []int{5, 1, 1, 4, 1, 7, 1, 1} {
		words, position, last := make([]int32, n*steps), make([]int32, n), make([]int32, n)
		for b := range n {
			position[b], last[b] = int32(len(read[b])), int32(rng.IntN(steps))
			for i := range steps {
				words[b*steps+i] = int32(rng.IntN(40)) // those behind last are never read
				if i <= int(last[b]) {
					read[b] = append(read[b], int(words[b*steps+i]))
				}
			}
		}
		y := nettest.Values(t, d.Next(nd.FromSlice(words, n, steps), nd.FromSlice(position),
			nd.FromSlice(last)))
		for b := range n {
			nettest.Near(t, fmt.Sprintf("sequence %d of %d words", b, len(read[b])),
				y[b*40:][:40], plainNext(t, g, read[b]))
		}
	}
}

// Greedy words are those of a loop that reads the whole sequence for each word.
func TestGreedyWords(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	g := randomGPT2(t, zoo.GPT2Config{Vocab: 30, Units: 16, Layers: 2, Heads: 2, MaxLength: 24}, seed)
	prompts := [][]int{{4, 9, 2, 11}, {7}, {1, 2, 3, 4, 5, 6, 29}}
	got, err := generate.Words(t.Context(), g, prompts, generate.Config{Most: 17})
	ok(t, err)
	for i, p := range prompts {
		all := slices.Clone(p)
		for range 17 {
			scores := plainNext(t, g, all)
			all = append(all, slices.Index(scores, slices.Max(scores)))
		}
		if want := all[len(p):]; !slices.Equal(got[i], want) {
			t.Errorf("prompt %d goes on with %v, want %v", i, got[i], want)
		}
	}
}

// A word takes no memory beyond that of the decoder, which holds the caches and the values of one
// step.
func TestWordsTakeNoMemory(t *testing.T) {
	const units, layers, length = 32, 2, 400
	g := randomGPT2(t, zoo.GPT2Config{Vocab: 20, Units: units, Layers: layers, Heads: 2,
		MaxLength: length}, 1)
	pool, err := device.PoolOf(device.CPU())
	ok(t, err)
	used := make([]int64, 0, length)
	_, err = generate.Words(t.Context(), g, [][]int{{1, 2, 3}, {4}}, generate.Config{Most: length - 3,
		Each: func(b, _ int) {
			if b == 1 {
				used = append(used, pool.Usage().Reserved)
			}
		}})
	ok(t, err)
	if first, last := used[10], used[len(used)-1]; last > first {
		t.Errorf("%d bytes are reserved at word 10, and %d at word %d", first, last, len(used))
	}
	for _, bad := range [][2]int{{0, 5}, {1, 0}, {1, length + 1}} {
		if _, err := g.Decoder(bad[0], bad[1]); err == nil {
			t.Errorf("no error for a decoder of %d sequences and %d steps", bad[0], bad[1])
		}
	}
	if _, err := zoo.NewGPT2(smallGPT2).Decoder(1, 3); err == nil {
		t.Error("no error for a network without values")
	}
}
