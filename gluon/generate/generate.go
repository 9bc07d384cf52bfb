package generate

import (
	"context"
	"fmt"
	"math"

	"gomx/dtype"
	nd "gomx/ndarray"
	"gomx/op"
)

// Model is a network that continues sequences of words. Words are numbers from 0 on.
type Model interface {
	// Limits returns the number of words that there are, and the most steps of a sequence.
	Limits() (words, steps int)
	// Decoder begins n sequences of at most capacity steps.
	Decoder(n, capacity int) (Decoder, error)
}

// Decoder reads sequences of a batch in parts, and remembers the parts before.
type Decoder interface {
	// Next reads words, an array of shape (n, steps), of which the first one of sequence b has the
	// place position[b] in it, and returns scores of shape (n, words of the model): of the word that
	// follows step last[b] of the argument. Position and last are of shape (n) and type int32.
	// Steps behind position + last may be anything: the next call overwrites them.
	Next(words, position, last *nd.Array) *nd.Array
	// Close frees the memory.
	Close()
}

// Config says how sequences go on.
type Config struct {
	Most int            // words that are added to each prompt at most; at least 1
	End  op.Opt[int]    // word that ends a sequence, and is the last one of its result
	Each func(b, w int) // is called with each new word w of sequence b; nil: nothing
	Sampling
}

// Words returns the words that follow each prompt. A prompt has at least one word. The words of a
// sequence do not depend on the other prompts, but for the rounding of sums.
func Words(ctx context.Context, m Model, prompts [][]int, c Config) (out [][]int, err error) {
	defer op.Recover(&err)
	longest, err := c.check(m, prompts)
	if err != nil || len(prompts) == 0 {
		return nil, err
	}
	d, err := m.Decoder(len(prompts), longest+c.Most)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	b := newBatch(prompts, longest)
	defer b.close()
	size, _ := m.Limits()
	pickers := make([]*picker, len(prompts))
	for i := range pickers {
		pickers[i] = newPicker(c.Sampling, uint64(i))
	}
	out = make([][]int, len(prompts))
	scores := make([]float32, len(prompts)*size)
	ended := make([]bool, len(prompts))
	for left := len(prompts); ; {
		if err := ctx.Err(); err != nil {
			return out, context.Cause(ctx)
		}
		if err := b.read(ctx, d, scores); err != nil {
			return out, err
		}
		for i := range prompts {
			if ended[i] {
				continue
			}
			w, err := pickers[i].pick(scores[i*size:][:size])
			if err != nil {
				return out, fmt.Errorf("generate: sequence %d, word %d: %w", i, len(out[i]), err)
			}
			out[i] = append(out[i], w)
			if c.Each != nil {
				c.Each(i, w)
			}
			end, ends := c.End.Get()
			if len(out[i]) == c.Most || ends && w == end {
				ended[i] = true
				left--
			}
		}
		if left == 0 {
			return out, nil
		}
		b.advance(out, ended)
	}
}

// check reports settings and prompts that a model cannot take. It returns the length of the
// longest prompt.
func (c *Config) check(m Model, prompts [][]int) (longest int, err error) {
	words, steps := m.Limits()
	if c.Most < 1 {
		return 0, fmt.Errorf("generate: Most is %d, want at least 1", c.Most)
	}
	if end, ok := c.End.Get(); ok && (end < 0 || end >= words) {
		return 0, fmt.Errorf("generate: End is word %d, want one from 0 to %d", end, words-1)
	}
	if err := c.Sampling.check(); err != nil {
		return 0, err
	}
	for i, p := range prompts {
		if len(p) == 0 {
			return 0, fmt.Errorf("generate: prompt %d is empty, want at least one word", i)
		}
		for k, w := range p {
			if w < 0 || w >= words {
				return 0, fmt.Errorf("generate: word %d of prompt %d is %d, want one from 0 to %d",
					k, i, w, words-1)
			}
		}
		longest = max(longest, len(p))
	}
	if longest > steps || c.Most > steps-longest {
		return 0, fmt.Errorf("generate: a prompt of %d words and %d new ones, want at most %d "+
			"together", longest, c.Most, steps)
	}
	return longest, nil
}

// batch is the next argument of a decoder.
type batch struct {
	steps                 int
	words, position, last []int32 // the words are a matrix of steps columns
	now                   [3]*nd.Array
}

// newBatch begins with the prompts, one below the other; short ones are filled up with zeros.
func newBatch(prompts [][]int, longest int) *batch {
	n := len(prompts)
	b := &batch{steps: longest, words: make([]int32, n*longest), position: make([]int32, n),
		last: make([]int32, n)}
	for i, p := range prompts {
		for k, w := range p {
			b.words[i*longest+k] = int32(w)
		}
		b.last[i] = int32(len(p) - 1)
	}
	return b
}

// read lets the decoder read the argument, and copies its scores.
func (b *batch) read(ctx context.Context, d Decoder, scores []float32) error {
	n := len(b.last)
	b.now = [3]*nd.Array{nd.FromSlice(b.words, n, b.steps), nd.FromSlice(b.position),
		nd.FromSlice(b.last)}
	defer b.close()
	y := d.Next(b.now[0], b.now[1], b.now[2])
	defer y.Close()
	if want := (nd.Shape{n, len(scores) / n}); !y.Shape().Equal(want) {
		return fmt.Errorf("generate: the decoder's scores have the shape %v, want %v", y.Shape(),
			want)
	}
	if y.DType() != dtype.Float32 {
		wide := y.AsType(dtype.Float32)
		defer wide.Close()
		return wide.CopyTo(ctx, scores)
	}
	return y.CopyTo(ctx, scores)
}

func (b *batch) close() {
	for i, a := range b.now {
		if a != nil {
			a.Close()
		}
		b.now[i] = nil
	}
}

// advance makes the argument of the last words. Ended sequences stay where they are.
func (b *batch) advance(out [][]int, ended []bool) {
	b.words, b.steps = b.words[:len(b.last)], 1
	for i, list := range out {
		b.words[i] = int32(list[len(list)-1])
		if !ended[i] {
			b.position[i] += b.last[i] + 1
		}
		b.last[i] = 0
	}
}

// errNoScore reports scores that no word can be chosen by.
func errNoScore(v float32) error {
	if math.IsNaN(float64(v)) {
		return fmt.Errorf("a score is not a number")
	}
	return fmt.Errorf("the best score is %v", v)
}
