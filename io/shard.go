package io

import "fmt"

// Sharder is the ability of an iterator to return only one part of the batches of every epoch, for
// one of several workers that read the data together.
type Sharder interface {
	// Shard makes the iterator return the batches part, part+parts, part+2·parts and so on, where
	// batches are numbered from 0. All parts have the same number of batches: the remainder at the
	// end is left out. Call it before the first batch of an epoch.
	Shard(part, parts int) error
	// Sharded reports whether Shard has been called.
	Sharded() bool
}

// share is the part of a Table's epochs that is read. The zero value is the whole.
type share struct {
	set         bool
	part, parts int
	// number of the next batch of the epoch, and number at which its last complete round ends
	at, end int
	running bool
}

// shareOf checks a part and its number of parts. batches is the number of batches of an epoch.
func shareOf(part, parts, batches int) (share, error) {
	if parts < 1 || part < 0 || part >= parts {
		return share{}, fmt.Errorf("io: Shard: part %d of %d, want a part below their number", part,
			parts)
	}
	if batches < parts {
		return share{}, fmt.Errorf("io: %d batches for %d workers, want at least one for each",
			batches, parts)
	}
	return share{set: true, part: part, parts: parts}, nil
}

// Shard implements Sharder.
func (t *Table) Shard(part, parts int) (err error) {
	t.share, err = shareOf(part, parts, t.ord.batches())
	return err
}

// Sharded implements Sharder.
func (t *Table) Sharded() bool { return t.share.set }

// Shard implements Sharder. The batches of one round may belong to different buckets.
func (b *BucketSentences) Shard(part, parts int) (err error) {
	b.share = share{}
	b.arrange()
	b.share, err = shareOf(part, parts, len(b.order))
	b.arrange()
	return err
}

// Sharded implements Sharder.
func (b *BucketSentences) Sharded() bool { return b.share.set }

// next returns the next batch of the part, as order.next does for the whole.
func (t *Table) next(idx []int) (pad int, ok bool) {
	s := &t.share
	if s.parts <= 1 {
		return t.ord.next(idx)
	}
	if !s.running {
		n := t.ord.batches()
		s.at, s.end, s.running = 0, n-n%s.parts, true
	}
	for {
		// Take the batches after the last round too, so that the epoch ends as it does without
		// parts.
		pad, ok = t.ord.next(idx)
		s.at++
		if !ok || s.at <= s.end && (s.at-1)%s.parts == s.part {
			return pad, ok
		}
	}
}

// Shard implements Sharder, if the underlying iterator does.
func (p *Prefetcher) Shard(part, parts int) error {
	s, ok := p.it.(Sharder)
	if !ok {
		return fmt.Errorf("io: Prefetch: %T has no Shard method", p.it)
	}
	p.halt()
	p.forget()
	return s.Shard(part, parts)
}

// Sharded implements Sharder.
func (p *Prefetcher) Sharded() bool {
	s, ok := p.it.(Sharder)
	return ok && s.Sharded()
}
