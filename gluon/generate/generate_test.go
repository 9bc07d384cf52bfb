package generate_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"

	"gomx/gluon/generate"
	nd "gomx/ndarray"
	"gomx/op"
)

// chain is a model whose scores depend on the last word and its place alone.
type chain struct {
	words, steps int
	score        func(place, word, next int) float32
	decoders     int // open ones
	n, capacity  int // of the last decoder
}

func (c *chain) Limits() (words, steps int) { return c.words, c.steps }

func (c *chain) Decoder(n, capacity int) (generate.Decoder, error) {
	c.decoders++
	c.n, c.capacity = n, capacity
	return &chainDecoder{c}, nil
}

type chainDecoder struct{ *chain }

func (d *chainDecoder) Close() { d.decoders-- }

func (d *chainDecoder) Next(words, position, last *nd.Array) *nd.Array {
	read := func(a *nd.Array) []int32 {
		list := make([]int32, a.Size())
		if err := a.CopyTo(context.Background(), list); err != nil {
			panic(err)
		}
		return list
	}
	w, p, l := read(words), read(position), read(last)
	y := make([]float32, 0, d.n*d.words)
	for b := range d.n {
		for next := range d.words {
			y = append(y, d.score(int(p[b]+l[b]), int(w[b*words.Shape()[1]+int(l[b])]), next))
		}
	}
	return nd.FromSlice(y, d.n, d.words)
}

// successor prefers the next number, and 0 from place 5 on.
func successor(place, word, next int) float32 {
	if next == word+1 || place >= 5 && next == 0 {
		return float32(2 + place)
	}
	return 0
}

func TestWordsFollowTheirPrompts(t *testing.T) {
	m := &chain{words: 12, steps: 9, score: successor}
	var said [][2]int
	got, err := generate.Words(t.Context(), m, [][]int{{3}, {7, 5, 1}, {2, 2}}, generate.Config{
		Most: 6, End: op.Some(0), Each: func(b, w int) { said = append(said, [2]int{b, w}) }})
	if err != nil {
		t.Fatal(err)
	}
	want := [][]int{{4, 5, 6, 7, 8, 0}, {2, 3, 4, 0}, {3, 4, 5, 6, 0}}
	if !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("words %v, want %v", got, want)
	}
	if len(said) != 15 || said[0] != [2]int{0, 4} || said[14] != [2]int{0, 0} {
		t.Errorf("words one by one: %v", said)
	}
	if m.n != 3 || m.capacity != 9 || m.decoders != 0 {
		t.Errorf("a decoder of %d sequences and %d steps, %d left open", m.n, m.capacity, m.decoders)
	}
}

func TestErrors(t *testing.T) {
	m := &chain{words: 4, steps: 5, score: successor}
	one := [][]int{{1}}
	for _, c := range []struct {
		prompts [][]int
		config  generate.Config
		want    string
	}{
		{one, generate.Config{}, "Most is 0"},
		{[][]int{{1}, {}}, generate.Config{Most: 1}, "prompt 1 is empty"},
		{[][]int{{1, 4}}, generate.Config{Most: 1}, "word 1 of prompt 0 is 4, want one from 0 to 3"},
		{one, generate.Config{Most: 5}, "want at most 5 together"},
		{one, generate.Config{Most: math.MaxInt}, "want at most 5 together"},
		{one, generate.Config{Most: 1, End: op.Some(4)}, "End is word 4"},
		{one, generate.Config{Most: 1, Sampling: generate.Sampling{Temperature: math.NaN()}},
			"Temperature is NaN"},
		{one, generate.Config{Most: 1, Sampling: generate.Sampling{TopK: -1}}, "TopK is -1"},
		{one, generate.Config{Most: 1, Sampling: generate.Sampling{TopP: 1.5}}, "TopP is 1.5"},
		{one, generate.Config{Most: 1, Sampling: generate.Sampling{TopK: 2}}, "want a Temperature"},
	} {
		_, err := generate.Words(t.Context(), m, c.prompts, c.config)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v %+v: error %v, want %q", c.prompts, c.config, err, c.want)
		}
	}
	if m.decoders != 0 {
		t.Errorf("%d decoders left open", m.decoders)
	}
	bad := &chain{words: 4, steps: 5, score: func(int, int, int) float32 {
		return float32(math.NaN())
	}}
	_, err := generate.Words(t.Context(), bad, one, generate.Config{Most: 1})
	if err == nil || !strings.Contains(err.Error(), "sequence 0, word 0: a score is not a number") {
		t.Errorf("error %v for scores that are no numbers", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("enough")
	got, err := generate.Words(ctx, m, one, generate.Config{Most: 4, Each: func(_, _ int) {
		cancel(stop)
	}})
	if !errors.Is(err, stop) || len(got[0]) != 1 {
		t.Errorf("words %v and error %v of a call that is stopped", got, err)
	}
}

// shares returns the probabilities of a sampling, computed by sorting all words.
func shares(s generate.Sampling, scores []float64) []float64 {
	order := make([]int, len(scores))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(i, k int) bool { return scores[order[i]] > scores[order[k]] })
	if s.TopK > 0 {
		order = order[:min(s.TopK, len(order))]
	}
	p, total := make([]float64, len(scores)), 0.0
	for _, i := range order {
		p[i] = math.Exp(scores[i] / s.Temperature)
		total += p[i]
	}
	sum, kept := 0.0, 0.0
	for _, i := range order {
		if s.TopP > 0 && sum >= s.TopP*total {
			p[i] = 0
		}
		sum += p[i]
		kept += p[i]
	}
	for i := range p {
		p[i] /= kept
	}
	return p
}

// Draws have the probabilities of their sampling: chi-squared of many words is not far off, and words
// that are excluded never come.
func TestDrawsHaveTheirProbabilities(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	scores := make([]float64, 9)
	for i := range scores {
		scores[i] = float64(float32(rng.NormFloat64() * 1.5))
	}
	m := &chain{words: len(scores), steps: 5001,
		score: func(_, _, next int) float32 { return float32(scores[next]) }}
	for _, s := range []generate.Sampling{{Temperature: 1}, {Temperature: .5}, {Temperature: 2, TopK: 4},
		{Temperature: 1, TopP: .8}, {Temperature: 1.3, TopK: 6, TopP: .7}, {Temperature: 1, TopP: 1},
		{Temperature: 1, TopK: 40}, {Temperature: 1, TopK: 1}, {Temperature: 1, TopP: 1e-9}} {
		s.Seed = seed
		c := generate.Config{Most: 5000, Sampling: s}
		got, err := generate.Words(t.Context(), m, [][]int{{0}, {0}}, c)
		if err != nil {
			t.Fatal(err)
		}
		again, err := generate.Words(t.Context(), m, [][]int{{0}, {0}}, c)
		if err != nil || !slices.EqualFunc(got, again, slices.Equal) {
			t.Errorf("%+v: other words the second time, error %v", s, err)
		}
		want, count := shares(s, scores), make([]float64, len(scores))
		several := 0
		for _, list := range got {
			for _, w := range list {
				count[w]++
			}
		}
		chi := 0.0
		for i, p := range want {
			if p == 0 {
				if count[i] > 0 {
					t.Errorf("%+v: word %d came %v times, want never", s, i, count[i])
				}
				continue
			}
			several++
			e := p * 10000
			chi += (count[i] - e) * (count[i] - e) / e
		}
		if chi > 60 { // of at most 8 degrees of freedom: once in 2·10^9
			t.Errorf("%+v: chi-squared %v: counts %v, probabilities %v", s, chi, count, want)
		}
		if several > 1 && slices.Equal(got[0], got[1]) {
			t.Errorf("%+v: two sequences have the same draws", s)
		}
	}
}
