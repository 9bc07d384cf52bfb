package data

import (
	"context"
	"fmt"
	"io"
	"sync"

	"gomx/op"
)

// slot is the memory of one batch, and the way of the batch from the loop to a worker and back.
type slot struct {
	index []int // samples of the batch
	parts []*Part
	batch Batch
	done  chan error // the worker's answer; has room for one
}

// run loads the batches of one loop. The goroutine of the loop calls its methods and gives out the
// work; each worker loads one batch at a time.
type run struct {
	l      *Loader
	ctx    context.Context
	cancel context.CancelFunc
	plan   [][]int    // samples of the batches that are left
	given  int        // batches of the plan that have been given to workers
	taken  int        // batches of the plan that the loop has received
	work   chan *slot // has room for all batches on the way
	wg     sync.WaitGroup
	own    *worker // loads batches on the goroutine of the loop, if there are no workers
}

// start begins to load batches.
func (l *Loader) start(ctx context.Context, plan [][]int) *run {
	c := &l.config
	for len(l.ring) < c.prefetch+c.hold {
		l.ring = append(l.ring, &slot{done: make(chan error, 1)})
	}
	r := &run{l: l, plan: plan, work: make(chan *slot, c.prefetch)}
	r.ctx, r.cancel = context.WithCancel(ctx)
	if c.workers == 0 {
		r.own = l.worker()
		return r
	}
	for range min(c.workers, len(plan)) {
		w := l.worker()
		r.wg.Go(func() {
			for s := range r.work {
				s.done <- w.load(r.ctx, s)
			}
		})
	}
	return r
}

// next returns the next batch, io.EOF after the last.
func (r *run) next() (*Batch, error) {
	if err := r.ctx.Err(); err != nil {
		return nil, err
	}
	if r.taken == len(r.plan) {
		return nil, io.EOF
	}
	for r.given < len(r.plan) && r.given-r.taken < cap(r.work) {
		s := r.slot(r.given)
		s.index = r.plan[r.given]
		r.given++
		if r.own != nil {
			s.done <- r.own.load(r.ctx, s)
			break
		}
		r.work <- s
	}
	s := r.slot(r.taken)
	select {
	case err := <-s.done:
		r.taken++
		if err != nil {
			return nil, err
		}
		return &s.batch, nil
	case <-r.ctx.Done():
		return nil, r.ctx.Err()
	}
}

// slot returns the memory of batch k of the plan. The loop has received taken batches of it.
func (r *run) slot(k int) *slot {
	ring := r.l.ring
	return ring[(r.l.turns-r.taken+k)%len(ring)]
}

// stop ends the workers, and waits for them and for the samples that they are computing.
func (r *run) stop() {
	r.cancel()
	close(r.work)
	r.wg.Wait()
	for _, s := range r.l.ring {
		select {
		case <-s.done:
		default:
		}
	}
}

// worker loads one batch after the other.
type worker struct {
	l       *Loader
	epoch   int
	random  stream
	samples []Sample
	column  []Tensor
}

func (l *Loader) worker() *worker { return &worker{l: l, epoch: l.epoch} }

// load loads the batch of a slot.
func (w *worker) load(ctx context.Context, s *slot) (err error) {
	defer op.Recover(&err)
	w.samples = w.samples[:0]
	for _, i := range s.index {
		if err := ctx.Err(); err != nil {
			return err
		}
		x, err := w.sample(ctx, i)
		if err != nil {
			return err
		}
		w.samples = append(w.samples, x)
	}
	return w.combine(s)
}

// sample computes one sample. The error names it, also where the program has used operators
// wrongly.
func (w *worker) sample(ctx context.Context, i int) (s Sample, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("data: sample %d: %w", i, err)
		}
	}()
	defer op.Recover(&err)
	if s, err = w.l.data.at(ctx, i, w.random.of(w.l.config.seed, w.epoch, i)); err != nil {
		return nil, err
	}
	for k, t := range s {
		if err := t.check(); err != nil {
			return nil, fmt.Errorf("part %d: %w", k, err)
		}
	}
	if len(w.samples) > 0 && len(s) != len(w.samples[0]) {
		return nil, fmt.Errorf("%d parts, the sample before has %d", len(s), len(w.samples[0]))
	}
	return s, nil
}

// combine makes the batch of the samples.
func (w *worker) combine(s *slot) error {
	c := &w.l.config
	s.batch = Batch{Size: len(s.index), Index: s.index, Parts: s.batch.Parts[:0]}
	if len(w.samples) == 0 {
		return nil
	}
	n := len(w.samples[0])
	if c.parts != nil && len(c.parts) != n {
		return fmt.Errorf("data: sample %d: %d parts, Group has %d", s.index[0], n, len(c.parts))
	}
	for k := range n {
		if k == len(s.parts) {
			s.parts = append(s.parts, &Part{dev: c.dev})
		}
		p := s.parts[k]
		p.arrays = p.arrays[:0]
		w.column = w.column[:0]
		for _, x := range w.samples {
			w.column = append(w.column, x[k])
		}
		var f Batchify = Stack{}
		if c.parts != nil {
			f = c.parts[k]
		}
		if err := f.Combine(w.column, p); err != nil {
			return fmt.Errorf("data: part %d of samples %v: %w", k, s.index, err)
		}
		s.batch.Parts = append(s.batch.Parts, p.arrays)
	}
	s.batch.Data, s.batch.Label = s.batch.single(0), s.batch.single(1)
	return nil
}
