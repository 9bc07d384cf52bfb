package io

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
)

// Prefetcher prepares batches of another iterator in a goroutine of its own. It is used by one
// goroutine at a time, and must be closed.
type Prefetcher struct {
	it    Iter
	depth int
	kept  int

	out  chan prefetched // nil while no goroutine runs
	stop context.CancelFunc
	end  error // error or io.EOF that ended the epoch; Reset clears it

	// State of it before the first batch of this epoch was prepared; nil: no batch was prepared, or
	// it has no state.
	begun []byte
	taken int  // batches returned since
	moved bool // batches were returned without the goroutine
}

type prefetched struct {
	b   *Batch
	err error
}

// Prefetch returns an iterator that keeps up to depth batches of it ready (0: 2). Only the
// Prefetcher may use it from then on. It must be a Keeper, because prepared batches have to stay
// valid until they are used.
func Prefetch(it Iter, depth int) (*Prefetcher, error) {
	if _, ok := it.(Keeper); !ok {
		return nil, fmt.Errorf("io: Prefetch: %T has no Keep method, so its batches cannot be held",
			it)
	}
	if depth <= 0 {
		depth = 2
	}
	p := &Prefetcher{it: it, depth: depth}
	p.Keep(keepDefault)
	return p, nil
}

// Keep makes every batch stay valid during at least n further calls of Next. It drops batches that
// have been prepared: call it before an epoch.
func (p *Prefetcher) Keep(n int) {
	if n <= p.kept {
		return
	}
	p.halt()
	p.forget()
	p.kept = n
	// depth batches wait in the channel, and the goroutine holds one more.
	p.it.(Keeper).Keep(n + p.depth + 1)
}

// Next returns the next batch, io.EOF at the end of the epoch.
func (p *Prefetcher) Next(ctx context.Context) (*Batch, error) {
	if p.end != nil {
		return nil, p.end
	}
	p.start()
	select {
	case r := <-p.out:
		if p.taken++; r.err != nil {
			p.end = r.err
			p.halt()
			p.forget() // the goroutine has reached the end
		}
		return r.b, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *Prefetcher) start() {
	if p.out != nil {
		return
	}
	p.begin()
	ctx, stop := context.WithCancel(context.Background())
	out := make(chan prefetched, p.depth)
	p.out, p.stop = out, stop
	go func() {
		defer close(out)
		for {
			b, err := p.it.Next(ctx)
			select {
			case out <- prefetched{b, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
}

// halt stops the goroutine and waits for it.
func (p *Prefetcher) halt() {
	if p.out == nil {
		return
	}
	p.stop()
	for range p.out {
		// The channel is closed when the goroutine has returned.
	}
	p.out, p.stop = nil, nil
}

// Reset begins the next epoch. The first Next starts to prepare its batches.
func (p *Prefetcher) Reset() error {
	if p.end == nil && p.out == nil && !p.moved {
		return nil
	}
	p.halt()
	p.forget()
	p.moved = false
	if p.end != nil && !errors.Is(p.end, io.EOF) {
		return p.end
	}
	p.end = nil
	return p.it.Reset()
}

// Close stops the goroutine. After it, the underlying iterator may be used again.
func (p *Prefetcher) Close() error {
	p.halt()
	return nil
}

// Epoch begins an epoch and returns its batches for a range loop.
func (p *Prefetcher) Epoch() iter.Seq2[*Batch, error] { return Epoch(context.Background(), p) }

// ProvideData describes the arrays of Batch.Data.
func (p *Prefetcher) ProvideData() []Desc { return p.it.ProvideData() }

// ProvideLabel describes the arrays of Batch.Label.
func (p *Prefetcher) ProvideLabel() []Desc { return p.it.ProvideLabel() }

// BatchSize returns the number of samples per batch.
func (p *Prefetcher) BatchSize() int { return p.it.BatchSize() }

// Batches returns the number of batches of an epoch, 0 if the underlying iterator is no Counter.
func (p *Prefetcher) Batches() int {
	if c, ok := p.it.(Counter); ok {
		return c.Batches()
	}
	return 0
}
