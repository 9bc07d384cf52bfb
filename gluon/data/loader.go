package data

import (
	"context"
	"fmt"
	"io"
	"iter"
	"sync/atomic"

	"gomx/device"
	dataio "gomx/io"
)

// Loader returns the batches of a data set, epoch by epoch. One loop reads it at a time; its other
// methods are for the goroutine of this loop.
//
// MXNet: gluon.data.DataLoader.
type Loader struct {
	data   Dataset[Sample]
	batch  int
	config config
	err    error // wrong configuration

	busy  atomic.Bool // a loop is running
	ring  []*slot     // memory of the batches
	turns int         // batches that loops have received; batch number n lies in ring[n%len(ring)]

	epoch int  // epoch of the position
	from  int  // batches of the whole epoch before the share, see ShareRest
	at    int  // number of batches of the share that the epoch has returned
	left  bool // a loop of this process has left the epoch before its end
	moved bool // SetState, SetEpoch or Skip has changed the position while a loop runs
}

var (
	_ dataio.Stateful = (*Loader)(nil)
	_ dataio.Skipper  = (*Loader)(nil)
	_ dataio.Sharder  = (*Loader)(nil)
)

// NewLoader returns a loader of batches of a size. An error of the data set or of the options is
// the error of Err, and of the first step of a loop.
func NewLoader(d Dataset[Sample], batch int, opts ...Option) *Loader {
	l := &Loader{data: d, batch: batch,
		config: config{workers: 1, hold: 2, of: 1, dev: device.CPU()}}
	for _, o := range opts {
		o(&l.config)
	}
	if l.err = d.err; l.err == nil {
		l.err = l.config.validate(d.n, batch)
	}
	return l
}

// Err returns the error of the data set or of the options.
func (l *Loader) Err() error { return l.err }

// Epoch returns the number of the epoch that the running loop reads, or the next loop.
func (l *Loader) Epoch() int {
	if l.left {
		return l.epoch + 1
	}
	return l.epoch
}

// Len returns the number of batches of Epoch, or of this share of it; after ShareRest, of this share
// of the rest.
func (l *Loader) Len() int {
	if l.err != nil {
		return 0
	}
	from := l.from
	if l.left {
		from = 0
	}
	return l.share(l.Epoch(), from)
}

// share returns the number of batches of this share of an epoch, of which so many batches come
// before the shares.
func (l *Loader) share(epoch, from int) int {
	return (l.config.order.Len(epoch) - from) / l.config.of
}

// BatchSize returns the size that the loader was made with. The last batch of an epoch may be
// smaller, and ChooseBatches may choose other sizes.
func (l *Loader) BatchSize() int { return l.batch }

// Batches returns the rest of an epoch for a range loop: the next epoch, or from SetState on the
// rest of the epoch of the state. After an error the loop ends; the error of a sample names it.
// When the loop ends, also by break or by the end of ctx, all workers have ended too. A loop that
// is left early leaves the epoch: the next loop reads the next one.
func (l *Loader) Batches(ctx context.Context) iter.Seq2[*Batch, error] {
	return func(yield func(*Batch, error) bool) {
		if !l.busy.CompareAndSwap(false, true) {
			yield(nil, fmt.Errorf("data: the loader is in use by another loop"))
			return
		}
		defer l.busy.Store(false)
		plan, err := l.begin()
		if err != nil {
			yield(nil, err)
			return
		}
		complete := false
		defer func() { l.end(complete) }()
		run := l.start(ctx, plan[min(l.at, len(plan)):])
		defer run.stop()
		for {
			b, err := run.next()
			if err == io.EOF {
				complete = true
				return
			}
			if err == nil {
				l.turns++
				if !l.moved {
					l.at++
				}
			}
			if !yield(b, err) || err != nil {
				return
			}
		}
	}
}

// begin moves to the epoch that a loop reads, and returns its batches.
func (l *Loader) begin() ([][]int, error) {
	if l.err != nil {
		return nil, l.err
	}
	if l.left {
		l.epoch, l.from, l.at = l.epoch+1, 0, 0
	}
	l.left, l.moved = false, false
	c := &l.config
	var plan [][]int
	n := c.order.Len(l.epoch)
	end := l.from + l.share(l.epoch, l.from)*c.of
	k := 0
	for b := range c.order.Batches(l.epoch) {
		for _, i := range b {
			if i < 0 || i >= l.data.n {
				return nil, fmt.Errorf("data: %s: batch %d has sample %d of %d", textOf(c.order), k,
					i, l.data.n)
			}
		}
		if k >= l.from && k < end && (k-l.from)%c.of == c.rank {
			plan = append(plan, b)
		}
		k++
	}
	if k < n-n%c.of {
		return nil, fmt.Errorf("data: %s: epoch %d has %d batches, want %d as Len says",
			textOf(c.order), l.epoch, k, n)
	}
	return plan, nil
}

// end moves on after a loop.
func (l *Loader) end(complete bool) {
	switch {
	case l.moved:
	case complete:
		l.epoch, l.from, l.at = l.epoch+1, 0, 0
	default:
		l.left = true
	}
}
