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

// Resharder is a Sharder whose epoch can be shared out anew while it is under way, because workers
// have come or gone. Every batch of the epoch is then in exactly one part.
type Resharder interface {
	Sharder
	// Reshard shares out the rest of the present epoch, from a batch of the whole epoch on, counted
	// from 0, and all later epochs: the part gets the batches from+part, from+part+parts and so on.
	// No batch is left out: in the last round of an epoch some parts may have none.
	Reshard(part, parts, from int) error
}

// share is the part of a Table's epochs that is read. The zero value is the whole.
type share struct {
	set         bool
	files       bool // the files were divided: all batches are of the part
	part, parts int
	exact       bool // no batch is left out
	from        int  // batch of the whole epoch at which the present shares begin
	// number of the next batch of the epoch, and number at which its last round ends: without exact
	// its last complete one
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
	if s := t.share; s.files {
		return fmt.Errorf("io: Shard: the samples are part %d of %d of their files already", s.part,
			s.parts)
	}
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
	if s.files || s.parts <= 1 && !s.exact {
		return t.ord.next(idx)
	}
	if !s.running {
		n := t.ord.batches()
		s.at, s.from, s.end, s.running = 0, 0, n, true
		if !s.exact {
			s.end -= n % s.parts
		}
	}
	for {
		// Take the batches after the last round too, so that the epoch ends as it does without
		// parts.
		pad, ok = t.ord.next(idx)
		s.at++
		if !ok || s.at > s.from && s.at <= s.end && (s.at-1-s.from)%s.parts == s.part {
			return pad, ok
		}
	}
}

// Reshard implements Resharder.
func (t *Table) Reshard(part, parts, from int) error {
	if parts < 1 || part < 0 || part >= parts {
		return fmt.Errorf("io: Reshard: part %d of %d, want a part below their number", part, parts)
	}
	o, s := t.ord, &t.share
	if s.files {
		return fmt.Errorf("io: Reshard: the samples are part %d of %d of their files: open them "+
			"anew", s.part, s.parts)
	}
	at, whole := 0, o.batches()
	switch {
	case !o.used:
	case o.last == RollOver || o.last == Round:
		return fmt.Errorf("io: Reshard: an epoch with %v depends on the one before: share it out "+
			"anew before its first batch", o.last)
	case s.running:
		at = s.at
	default:
		at = (o.pos + o.batch - 1) / o.batch
	}
	if from < 0 || from > whole {
		return fmt.Errorf("io: Reshard: from batch %d of %d", from, whole)
	}
	if at > from { // this worker is ahead: it begins the epoch again
		o.seek(o.epoch)
		at = 0
	}
	o.used = true
	*s = share{set: true, part: part, parts: parts, exact: true, from: from, at: at, end: whole,
		running: true}
	return nil
}

// Reshard implements Resharder, if the underlying iterator does. Batches that are prepared are
// dropped.
func (p *Prefetcher) Reshard(part, parts, from int) error {
	r, ok := p.it.(Resharder)
	if !ok {
		return fmt.Errorf("io: Prefetch: %T has no Reshard method", p.it)
	}
	p.halt()
	if it, ok := p.it.(Stateful); ok && p.begun != nil {
		if err := it.SetState(p.begun); err != nil { // it may be in the next epoch already
			return err
		}
	}
	p.forget()
	p.end, p.moved = nil, true
	return r.Reshard(part, parts, from)
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
