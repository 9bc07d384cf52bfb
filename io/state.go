package io

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Stateful is the ability of an iterator to be resumed by another process in the middle of an
// epoch.
type Stateful interface {
	// State describes the position between two calls of Next, and everything else that later
	// batches depend on. It also identifies the data set by its size, order and seed.
	State() ([]byte, error)
	// SetState moves an iterator of the same configuration to a position from State. A state of
	// another configuration is an error, and leaves the iterator unchanged.
	SetState(state []byte) error
}

// Skipper is the ability of an iterator to skip batches without reading them.
type Skipper interface {
	// Skip skips n batches; io.EOF means that the epoch has fewer.
	Skip(ctx context.Context, n int) error
}

// Skip skips n batches of an iterator, without reading them if it is a Skipper. It returns io.EOF
// if the epoch has fewer.
func Skip(ctx context.Context, it Iter, n int) error {
	if s, ok := it.(Skipper); ok {
		return s.Skip(ctx, n)
	}
	for range n {
		if _, err := it.Next(ctx); err != nil {
			return err
		}
	}
	return nil
}

// tableState is the state of a Table. The first group of fields is its configuration.
type tableState struct {
	Samples   int    `json:"samples"`
	BatchSize int    `json:"batch_size"`
	LastBatch string `json:"last_batch"`
	Shuffle   bool   `json:"shuffle"`
	Seed      uint64 `json:"seed"`
	Part      int    `json:"part"`
	Parts     int    `json:"parts"`

	Epoch   int   `json:"epoch"`
	At      int   `json:"at"`   // position in the permutation
	Left    []int `json:"left"` // samples left over from the previous epoch
	Skip    int   `json:"skip"`
	Used    bool  `json:"used"`
	Done    bool  `json:"done"`
	Batch   int   `json:"batch"` // number of the next batch, if the epoch has several parts
	End     int   `json:"end"`
	Running bool  `json:"running"`
	From    int   `json:"from,omitempty"` // of shares that were made anew
	Exact   bool  `json:"exact,omitempty"`
}

// state returns the configuration and the position of the table.
func (t *Table) state() tableState {
	o, s := t.ord, &t.share
	return tableState{o.n, o.batch, o.last.String(), o.shuffle, o.seed, s.part, s.parts,
		o.epoch, o.pos, slices.Clone(o.left), o.skip, o.used, o.done, s.at, s.end, s.running,
		s.from, s.exact}
}

// State implements Stateful.
func (t *Table) State() ([]byte, error) { return json.Marshal(t.state()) }

// SetState implements Stateful.
func (t *Table) SetState(state []byte) error {
	var s tableState
	if err := json.Unmarshal(state, &s); err != nil {
		return fmt.Errorf("io: state of a table: %w", err)
	}
	if got, want := s.config(), t.state().config(); got != want {
		return fmt.Errorf("io: state of a table with %s, the iterator has %s", got, want)
	}
	outside := func(i int) bool { return i < 0 || i >= s.Samples }
	if s.Epoch < 0 || s.At < 0 || s.At > s.Samples || len(s.Left) >= max(s.BatchSize, 1) ||
		slices.ContainsFunc(s.Left, outside) || outside(s.Skip) || s.Batch < 0 {
		return fmt.Errorf("io: state of a table at sample %d of %d in epoch %d, with %d samples "+
			"left over and %d to skip: no table can be there",
			s.At, s.Samples, s.Epoch, len(s.Left), s.Skip)
	}
	o := t.ord
	o.epoch, o.pos, o.left, o.skip, o.used, o.done = s.Epoch, s.At, s.Left, s.Skip, s.Used, s.Done
	t.share.at, t.share.end, t.share.running = s.Batch, s.End, s.Running
	t.share.from, t.share.exact = s.From, s.Exact
	o.arrange()
	return nil
}

// config formats the data set and its order, for comparison and for errors.
func (s tableState) config() string {
	return fmt.Sprintf("%d samples in batches of %d (%s), shuffle %v with seed %d, part %d of %d",
		s.Samples, s.BatchSize, s.LastBatch, s.Shuffle, s.Seed, s.Part, max(s.Parts, 1))
}

// Skip implements Skipper.
func (t *Table) Skip(ctx context.Context, n int) error {
	idx := make([]int, t.ord.batch)
	for range n {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, ok := t.next(idx); !ok {
			return io.EOF
		}
	}
	return nil
}

// sentenceState is the state of BucketSentences. Config identifies the sentences and their order.
type sentenceState struct {
	Config string `json:"config"`
	Epoch  int    `json:"epoch"`
	Batch  int    `json:"batch"`
}

// state returns the configuration and the position of the iterator.
func (b *BucketSentences) state() sentenceState {
	config := fmt.Sprintf("%d sentences in batches of %d, buckets %v, seed %d, part %d of %d",
		len(b.c.Sentences), b.c.BatchSize, b.lengths, b.c.Seed, b.share.part, max(b.share.parts, 1))
	return sentenceState{config, b.epoch, b.at}
}

// State implements Stateful.
func (b *BucketSentences) State() ([]byte, error) { return json.Marshal(b.state()) }

// SetState implements Stateful.
func (b *BucketSentences) SetState(state []byte) error {
	var s sentenceState
	if err := json.Unmarshal(state, &s); err != nil {
		return fmt.Errorf("io: state of BucketSentences: %w", err)
	}
	if want := b.state().Config; s.Config != want {
		return fmt.Errorf("io: state of BucketSentences with %s, the iterator has %s", s.Config,
			want)
	}
	if s.Epoch < 0 || s.Batch < 0 || s.Batch > len(b.order) {
		return fmt.Errorf("io: state of BucketSentences at batch %d of epoch %d, want 0 to %d",
			s.Batch, s.Epoch, len(b.order))
	}
	b.SetEpoch(s.Epoch)
	b.at = s.Batch
	return nil
}

// Skip implements Skipper.
func (b *BucketSentences) Skip(ctx context.Context, n int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if n > len(b.order)-b.at {
		b.at = len(b.order)
		return io.EOF
	}
	b.at += n
	return nil
}

// prefetchState is the state of a Prefetcher: the state of the underlying iterator, and the number
// of batches returned since.
type prefetchState struct {
	Behind json.RawMessage `json:"behind"`
	Taken  int             `json:"taken"`
	Ended  bool            `json:"ended"`
}

// State implements Stateful, if the underlying iterator does. Batches that are prepared but not
// returned do not count.
func (p *Prefetcher) State() ([]byte, error) {
	it, ok := p.it.(Stateful)
	switch {
	case !ok:
		return nil, fmt.Errorf("io: Prefetch: %T has no State method", p.it)
	case p.end != nil && !errors.Is(p.end, io.EOF):
		return nil, p.end
	case p.begun != nil:
		return json.Marshal(prefetchState{p.begun, p.taken, p.end != nil})
	case p.out != nil:
		return nil, fmt.Errorf("io: Prefetch: %T gave no state before batches were "+
			"prepared", p.it)
	}
	state, err := it.State()
	if err != nil {
		return nil, err
	}
	return json.Marshal(prefetchState{state, 0, p.end != nil})
}

// SetState implements Stateful, if the underlying iterator does.
func (p *Prefetcher) SetState(state []byte) error {
	it, ok := p.it.(Stateful)
	if !ok {
		return fmt.Errorf("io: Prefetch: %T has no SetState method", p.it)
	}
	var s prefetchState
	if err := json.Unmarshal(state, &s); err != nil {
		return fmt.Errorf("io: state of Prefetch: %w", err)
	}
	if s.Taken < 0 {
		return fmt.Errorf("io: state of Prefetch after %d batches, want 0 or more", s.Taken)
	}
	p.halt()
	if err := it.SetState(s.Behind); err != nil {
		return err
	}
	if p.forget(); s.Taken > 0 {
		p.begun, p.taken = s.Behind, s.Taken
		if err := Skip(context.Background(), p.it, s.Taken); err != nil {
			return fmt.Errorf("io: state of Prefetch after %d batches: %w", s.Taken, err)
		}
	}
	p.end, p.moved = nil, true
	if s.Ended {
		p.end = io.EOF
	}
	return nil
}

// Skip implements Skipper. It does not read the batches if the underlying iterator is a Skipper and
// no batch has been prepared.
func (p *Prefetcher) Skip(ctx context.Context, n int) error {
	if p.out == nil && p.end == nil {
		p.begin()
		p.moved = true
		err := Skip(ctx, p.it, n)
		switch {
		case err == nil:
			p.taken += n
		case errors.Is(err, io.EOF):
			p.end = io.EOF
			p.forget() // the underlying iterator is at the beginning of the next epoch
		}
		return err
	}
	for range n {
		if _, err := p.Next(ctx); err != nil {
			return err
		}
	}
	return nil
}

// begin stores the state of the underlying iterator before batches are prepared.
func (p *Prefetcher) begin() {
	if p.begun != nil {
		return
	}
	p.forget()
	if it, ok := p.it.(Stateful); ok {
		if state, err := it.State(); err == nil { // Prefetcher.State reports the error
			p.begun = state
		}
	}
}

// forget drops the stored state and the count of returned batches.
func (p *Prefetcher) forget() { p.begun, p.taken = nil, 0 }
