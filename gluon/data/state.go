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
	Batch  int    `json:"batch"` // number of batches of the share that the epoch has returned
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
	return json.Marshal(state{l.describe(), l.epoch, l.at})
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
	if n := l.config.order.Len(max(0, s.Epoch)) / l.config.of; s.Epoch < 0 || s.Batch < 0 ||
		s.Batch > n {
		return fmt.Errorf("data: state of a loader at batch %d of epoch %d, want 0 to %d", s.Batch,
			s.Epoch, n)
	}
	l.move(s.Epoch, s.Batch)
	return nil
}

// SetEpoch makes the next loop read an epoch from its beginning.
func (l *Loader) SetEpoch(epoch int) { l.move(epoch, 0) }

func (l *Loader) move(epoch, at int) {
	l.epoch, l.at, l.left, l.moved = epoch, at, false, true
}

// Skip leaves out n batches of the epoch that the next loop reads, without computing them; io.EOF
// means that it has fewer.
func (l *Loader) Skip(_ context.Context, n int) error {
	if l.err != nil {
		return l.err
	}
	epoch, at := l.Epoch(), l.at
	if l.left {
		at = 0
	}
	if rest := l.Len() - at; n > rest {
		l.move(epoch, at+rest)
		return io.EOF
	}
	l.move(epoch, at+n)
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

// Sharded implements io.Sharder. It reports whether Shard, Share or InJob has said the share.
func (l *Loader) Sharded() bool { return l.config.shared }
