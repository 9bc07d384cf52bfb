package kvstore_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gomx/engine"
	"gomx/internal/cluster"
	"gomx/kvstore"
	"gomx/kvstore/wire"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

// elasticJob is a job whose size changes, and the pushes that its workers know to be acknowledged.
type elasticJob struct {
	*cluster.Cluster
	addr  atomic.Value // of the scheduler's pages
	wg    sync.WaitGroup
	mu    sync.Mutex
	acked int64   // sum of the numbers pushed to the key with rounds
	ticks int64   // steps of the table
	round []int   // round that each worker has begun last
	stop  int     // number of rounds; 0: not known yet
	sizes []int   // of the groups that worker 0 has seen
	errs  []error // of workers
	final int64
	rows  float32
}

// last ends the training some rounds behind the furthest worker.
func (j *elasticJob) last() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.stop = slices.Max(j.round) + 30
}

// goesOn reports whether there is a round, and notes that a worker begins it.
func (j *elasticJob) goesOn(rank, round int) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.round[rank] = max(j.round[rank], round)
	return j.stop == 0 || round < j.stop
}

// worker trains until the last round, or until it is to leave.
func (j *elasticJob) worker(ctx context.Context, rank int) error {
	job, err := kvstore.Join(ctx, j.Worker(rank))
	if err != nil {
		return err
	}
	ctx = kvstore.WithJob(ctx, job)
	s, err := kvstore.Open(ctx, "dist_sync", kvstore.Timeout(20*time.Second))
	if err != nil {
		return err
	}
	err = j.train(ctx, s)
	if errors.Is(err, kvstore.ErrLeft) {
		err = nil
	}
	return errors.Join(err, s.Close(), job.Close(ctx))
}

func (j *elasticJob) train(ctx context.Context, s *kvstore.KV) error {
	if err := s.SetOptimizer(ctx, optimizer.SGD{LR: 0.1}); err != nil {
		return err
	}
	if err := s.Init(ctx, "sum", nd.FromSlice(make([]int64, 3))); err != nil {
		return err
	}
	table, err := s.Table(ctx, "rows", nd.Shape{2, 1})
	if err != nil {
		return err
	}
	size := -1
	for round := int(s.Resumed()); j.goesOn(s.Rank(), round); round++ {
		g, _, err := s.Regroup(ctx, fmt.Append(nil, round))
		if err != nil {
			return err
		}
		if g.Part(s.Rank()) < 0 {
			return kvstore.ErrLeft
		}
		if g.Number > 0 && int(g.Round) > round {
			return fmt.Errorf("round %d of a group that began after round %d", round, g.Round)
		}
		j.mu.Lock()
		if len(g.Ranks) != size && s.Rank() == 0 {
			size = len(g.Ranks)
			j.sizes = append(j.sizes, size)
		}
		j.mu.Unlock()
		n := int64(round*7+s.Rank()) % 11
		out := nd.FromSlice(make([]int64, 3))
		if err := s.PushPull("sum", 0, []*nd.Array{nd.FromSlice([]int64{n, 1, 1 << 40})},
			[]*nd.Array{out}); err != nil {
			return err
		}
		if err := out.Wait(ctx); err != nil {
			return err
		}
		if err := table.Inc(1, []float32{1}); err != nil {
			return err
		}
		if err := s.Clock(ctx); err != nil {
			return err
		}
		j.mu.Lock()
		j.acked += n
		j.ticks++
		j.mu.Unlock()
	}
	return j.look(ctx, s, table)
}

// look reads the results when all workers have ended their last round.
func (j *elasticJob) look(ctx context.Context, s *kvstore.KV, table *kvstore.Table) error {
	if err := s.Barrier(ctx); err != nil {
		return err
	}
	out := nd.FromSlice(make([]int64, 3))
	if err := s.Pull("sum", 0, out); err != nil {
		return err
	}
	b := make([]byte, 24)
	if err := out.ReadBytes(ctx, b); err != nil {
		return err
	}
	var v [3]int64
	for i := range v {
		v[i] = int64(binary.LittleEndian.Uint64(b[8*i:]))
	}
	row, err := table.Get(ctx, 1)
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.final, j.rows = v[0], row[0]; v[1] != j.ticks || v[2] != j.ticks<<40 {
		return fmt.Errorf("%d pushes count, %d were acknowledged", v[1], j.ticks)
	}
	return nil
}

// start runs a worker.
func (j *elasticJob) start(ctx context.Context, rank int) {
	j.wg.Go(func() {
		if err := j.worker(ctx, rank); err != nil {
			j.mu.Lock()
			defer j.mu.Unlock()
			j.errs = append(j.errs, fmt.Errorf("worker %d: %w", rank, err))
		}
	})
}

// until waits until a worker has begun a round.
func (j *elasticJob) until(ctx context.Context, rank, round int) {
	for ctx.Err() == nil {
		j.mu.Lock()
		at, failed := j.round[rank], len(j.errs) > 0
		j.mu.Unlock()
		if at >= round || failed {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// order sends an order, and waits until the job has the members that it wants.
func (j *elasticJob) order(ctx context.Context, o kvstore.Order) error {
	addr := j.addr.Load().(string)
	if err := o.Send(ctx, addr, j.Worker(0).ID); err != nil {
		return err
	}
	for ctx.Err() == nil {
		st, err := kvstore.ReadStatus(ctx, addr)
		if err != nil {
			return errors.Join(err, errors.Join(j.errs...))
		}
		workers, servers, moving := 0, 0, 0
		for _, m := range st.Members {
			switch {
			case !m.Alive || m.Left || m.Waits:
			case m.Node[0] == 'w':
				workers++
			default:
				servers++
			}
		}
		for _, sh := range st.Shards {
			if !sh.InSync || sh.Third >= 0 || sh.Swapped {
				moving++
			}
		}
		if workers == o.Workers && servers == o.Servers && moving == 0 {
			return nil
		}
		time.Sleep(5 * time.Millisecond)
	}
	return fmt.Errorf("order %+v: %w", o, ctx.Err())
}

// TestWorkersAndServersComeAndGo changes a job from 2 to 4 to 3 workers and from 2 to 3 to 2
// servers while it trains: every push that a worker knows to be acknowledged counts once, and
// nothing else.
func TestWorkersAndServersComeAndGo(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 120*time.Second)
	defer cancel()
	j := &elasticJob{round: make([]int, 8)}
	j.Cluster = cluster.Start(cluster.Config{Workers: 2, Servers: 2, Replicas: 2,
		Announce: func(n wire.Node, addr string) {
			if n.Role == wire.Scheduler {
				j.addr.Store(addr)
			}
		}})
	for rank := range 2 {
		j.start(ctx, rank)
	}
	j.until(ctx, 0, 40)
	for rank := 2; rank < 4; rank++ {
		j.start(ctx, rank)
	}
	j.Restart(wire.Node{Role: wire.Server, Rank: 2})
	must(t, j.order(ctx, kvstore.Order{Workers: 4, Servers: 3}))
	j.until(ctx, 3, 150)
	must(t, j.order(ctx, kvstore.Order{Workers: 3, Servers: 2}))
	j.until(ctx, 0, 300)
	j.last()
	j.wg.Wait()
	must(t, errors.Join(j.errs...))
	must(t, j.Wait())
	if j.final != j.acked || j.rows != float32(j.ticks) {
		t.Errorf("the sum is %d, want the %d that were acknowledged; %v steps of the table, "+
			"want %d",
			j.final, j.acked, j.rows, j.ticks)
	}
	last := j.sizes[len(j.sizes)-1]
	if j.sizes[0] != 2 || last != 3 {
		t.Errorf("groups of %v workers, want 2 first, then 4, and 3 at last", j.sizes)
	}
	t.Logf("groups of %v workers, %d pushes", j.sizes, j.ticks)
}

// TestRegroupAheadOfGradients takes over the place of a worker that has called Regroup twice while
// its first gradient, and that of the other worker, were being computed: its successor begins with
// the round of that gradient.
func TestRegroupAheadOfGradients(t *testing.T) {
	c := cluster.Start(cluster.Config{Workers: 2, Servers: 2, Replicas: 2,
		Heartbeat: 50 * time.Millisecond, Dead: time.Second})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	computed, regrouped := make(chan struct{}), sync.WaitGroup{}
	regrouped.Add(2)
	release := sync.OnceFunc(func() { close(computed) })
	defer release()
	begin := func(ctx context.Context) (s *kvstore.KV, err error) {
		if s, err = kvstore.Open(ctx, "dist_sync"); err == nil {
			err = s.Init(ctx, "w", nd.Zeros(nd.Shape{3}))
		}
		if err == nil {
			err = s.SetOptimizer(ctx, optimizer.SGD{LR: 1})
		}
		return s, err
	}
	step := func(ctx context.Context, s *kvstore.KV, w *nd.Array, wait bool) error {
		if _, _, err := s.Regroup(ctx, nil); err != nil {
			return err
		}
		g := nd.Ones(nd.Shape{3})
		if wait {
			g.Engine().PushUses(&engine.Task{Name: "computing", Async: func(_ *engine.Run,
				done func(error)) {
				go func() { <-computed; done(nil) }()
			}}, engine.Use{Var: g.Var(), Access: engine.Update})
		}
		return s.PushPull("w", 0, []*nd.Array{g}, []*nd.Array{w})
	}
	err := c.Work(ctx, func(ctx context.Context, rank int) error {
		s, err := begin(ctx)
		if err != nil {
			return err
		}
		w := nd.Zeros(nd.Shape{3})
		if err := step(ctx, s, w, true); err != nil {
			return err
		}
		if _, _, err := s.Regroup(ctx, nil); err != nil {
			return err
		}
		time.Sleep(200 * time.Millisecond) // the votes of both workers would be counted now
		regrouped.Done()
		if rank == 0 {
			g := nd.Ones(nd.Shape{3})
			err = errors.Join(s.PushPull("w", 0, []*nd.Array{g}, []*nd.Array{w}), w.Wait(ctx))
		} else {
			defer release()
			regrouped.Wait()
			if ctx, err = c.Again(ctx, rank); err != nil {
				return err
			}
			w = nd.Zeros(nd.Shape{3})
			if s, err = begin(ctx); err != nil {
				return fmt.Errorf("the successor begins: %w", err)
			}
			for n := s.Resumed(); n < 2; n++ {
				if n == 1 {
					release()
				}
				if err := step(ctx, s, w, false); err != nil {
					return fmt.Errorf("step %d of the successor: %w", n, err)
				}
			}
			err = w.Wait(ctx)
		}
		if err != nil {
			return err
		}
		if got, err := w.Float32s(); err != nil || !slices.Equal(got, []float32{-4, -4, -4}) {
			return fmt.Errorf("worker %d has %v, %w, want -4", rank, got, err)
		}
		return s.Close()
	})
	must(t, err)
	must(t, c.Wait())
}
