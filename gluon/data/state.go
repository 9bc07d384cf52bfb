package data

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
)

// state is the position of a loader, and the configuration that the position belongs to. The random
// streams of samples and their order follow from the seeds in Config and from Epoch.
type state struct {
	Config string `json:"config"`
	Epoch  int    `json:"epoch"`
	Batch  int    `json:"batch"`          // number of batches of the share that the epoch has returned
	From   int    `json:"from,omitempty"` // number of batches of the whole epoch before the share
}

// describe identifies the samples, their order, their seed and the share.
func (l *Loader) describe() string {
	c := &l.config
	return fmt.Sprintf("%d samples: %s; seed %d, share %d of %d", l.data.n, textOf(c.order), c.seed,
		c.rank, c.of)
}

// State implements io.Stateful. In the body of a loop it is the position after the present batch.
// The number of workers, the prefetching and the device do not belong to it.
func (l *Loader) State() ([]byte, error) {
	if l.err != nil {
		return nil, l.err
	}
	return json.Marshal(state{l.describe(), l.epoch, l.at, l.from})
}

// SetState implements io.Stateful. The next loop reads the rest of the epoch of the state, which is
// empty if the state was taken after the last batch. A running loop continues as if nothing had
// happened.
func (l *Loader) SetState(text []byte) error {
	if l.err != nil {
		return l.err
	}
	var s state
	if err := json.Unmarshal(text, &s); err != nil {
		return fmt.Errorf("data: state of a loader: %w", err)
	}
	if want := l.describe(); s.Config != want {
		return fmt.Errorf("data: state of a loader with %s, this one has %s", s.Config, want)
	}
	whole := l.config.order.Len(max(0, s.Epoch))
	if s.From < 0 || s.From > whole {
		return fmt.Errorf("data: state of a loader whose share begins with batch %d of epoch %d, "+
			"want 0 to %d", s.From, s.Epoch, whole)
	}
	if n := l.share(max(0, s.Epoch), s.From); s.Epoch < 0 || s.Batch < 0 || s.Batch > n {
		return fmt.Errorf("data: state of a loader at batch %d of epoch %d, want 0 to %d", s.Batch,
			s.Epoch, n)
	}
	l.move(s.Epoch, s.From, s.Batch)
	return nil
}

// SetEpoch makes the next loop read an epoch from its beginning.
func (l *Loader) SetEpoch(epoch int) { l.move(epoch, 0, 0) }

func (l *Loader) move(epoch, from, at int) {
	l.epoch, l.from, l.at, l.left, l.moved = epoch, from, at, false, true
}

// Skip leaves out n batches of the epoch that the next loop reads, without computing them; io.EOF
// means that it has fewer.
func (l *Loader) Skip(_ context.Context, n int) error {
	if l.err != nil {
		return l.err
	}
	epoch, from, at := l.Epoch(), l.from, l.at
	if l.left {
		from, at = 0, 0
	}
	if rest := l.Len() - at; n > rest {
		l.move(epoch, from, at+rest)
		return io.EOF
	}
	l.move(epoch, from, at+n)
	return nil
}

// Shard implements io.Sharder: it is the option Share for a loader of which no batch has been read.
func (l *Loader) Shard(part, parts int) error {
	switch {
	case l.err != nil:
		return l.err
	case parts < 1 || part < 0 || part >= parts:
		return fmt.Errorf("data: Shard(%d, %d), want a part below the number of parts", part, parts)
	case l.turns > 0 || l.at > 0:
		return fmt.Errorf("data: Shard(%d, %d) of a loader whose batches have been read", part, parts)
	}
	l.config.rank, l.config.of, l.config.shared = part, parts, true
	return nil
}

// ShareRest shares out the rest of the epoch of State, from a batch of the whole epoch on, counted
// from 0, and all later epochs: the next loop returns the batches from+part, from+part+parts and so
// on. As with Share all parts have the same number of batches, and the remainder of an epoch is
// left out. The workers of a job whose number changes call it (gluon.Elastic).
func (l *Loader) ShareRest(part, parts, from int) error {
	if l.err != nil {
		return l.err
	}
	switch whole := l.config.order.Len(l.epoch); {
	case parts < 1 || part < 0 || part >= parts:
		return fmt.Errorf("data: ShareRest(%d, %d, %d), want a part below the number of parts", part,
			parts, from)
	case from < 0 || from > whole:
		return fmt.Errorf("data: ShareRest(%d, %d, %d), want 0 to %d batches before", part, parts,
			from, whole)
	}
	l.config.rank, l.config.of, l.config.shared = part, parts, true
	l.move(l.epoch, from, 0)
	return nil
}

// Position returns the epoch of State, and the number of batches of the whole epoch that all shares have
// returned together when each has returned as many as this one: all of them at the end of a share.
func (l *Loader) Position() (epoch, from int) {
	if l.err != nil {
		return 0, 0
	}
	if l.at >= l.share(l.epoch, l.from) {
		return l.epoch, l.config.order.Len(l.epoch)
	}
	return l.epoch, l.from + l.at*l.config.of
}

// Sharded implements io.Sharder. It reports whether Shard, Share or InJob has said the share.
func (l *Loader) Sharded() bool { return l.config.shared }
