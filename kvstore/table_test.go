package kvstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"gomx/dtype"
	"gomx/internal/cluster"
	"gomx/kvstore"
	"gomx/kvstore/rows"
	"gomx/kvstore/wire"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

// resident returns the resident memory of this process, 0 where the system does not tell.
func resident(t *testing.T) int {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var size, pages int
	if _, err := fmt.Sscan(string(b), &size, &pages); err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}

// TestATableCostsTouchedRows makes a table of 64 GB in one process and in a job, reads rows that
// nobody has changed, and changes some.
func TestATableCostsTouchedRows(t *testing.T) {
	const all, width, n = 1_000_000_000, 16, 2000
	shape := nd.Shape{all, width}
	init := rows.Init{Kind: rows.KindNormal, Scale: 0.5, Seed: 9}
	before := resident(t)
	first := func(row int) []float32 {
		a := nd.Empty(nd.Shape{width})
		b := make([]byte, 4*width)
		init.Fill(b, dtype.Float32, 0, uint64(row))
		must(t, a.WriteBytes(b))
		return values(t, a)
	}
	run := func(ctx context.Context, s *kvstore.KV) error {
		table, err := kvstore.NewTable[float32](ctx, s, "t", shape, kvstore.BeginRows(init))
		if err != nil {
			return err
		}
		rng := rand.New(rand.NewPCG(4, 4))
		list := []int{0, all - 1}
		for range n {
			list = append(list, rng.IntN(all))
		}
		if _, err := table.BatchGet(ctx, list); err != nil {
			return err
		}
		for _, row := range list {
			if err := table.IncCell(row, 3, 1); err != nil {
				return err
			}
		}
		if err := errors.Join(s.Clock(ctx), s.Barrier(ctx)); err != nil {
			return err
		}
		for _, row := range list[:5] {
			got, err := table.Get(ctx, row)
			if err != nil {
				return err
			}
			want := first(row)
			for range s.NumWorkers() {
				want[3]++
			}
			if !slices.Equal(got, want) {
				return fmt.Errorf("row %d is %v, want %v", row, got, want)
			}
		}
		return nil
	}
	must(t, run(t.Context(), open(t, "local")))
	c := cluster.Start(cluster.Config{Workers: 2, Servers: 2, Replicas: 2})
	work(t, c, "dist_sync", run)
	if used := resident(t) - before; used > 200<<20 {
		t.Errorf("%d rows of %d take %d bytes", n, all, used)
	}
}

// Rows of survivor. Elements of the table begin as tableFirst.
const (
	survivorSteps     = 16
	survivorStaleness = 2
	tableFirst        = 5
	sharedRow         = 7
	ownRow            = 1 << 29
)

// survivor pushes to a table and to a sparse key in each step, and checks that each push counts
// once.
func survivor(ctx context.Context, s *kvstore.KV, steps int, before func(step int) error) error {
	table, err := kvstore.NewTable[int32](ctx, s, "counts", nd.Shape{1 << 30, 2},
		kvstore.BeginRows(rows.Init{Scale: tableFirst}))
	if err != nil {
		return err
	}
	shape := nd.Shape{1 << 20, 2}
	err = s.InitRows(ctx, "t", kvstore.RowsSpec{Shape: shape, DType: dtype.Float32,
		Init: rows.Init{Scale: 1}})
	if err == nil {
		// An optimizer changes the sparse key and leaves tables alone.
		err = s.SetOptimizer(ctx, optimizer.SGD{LR: 1})
	}
	if err != nil {
		return err
	}
	for step := int(s.Resumed()); step < steps; step++ {
		if before != nil {
			if err := before(step); err != nil {
				return err
			}
		}
		if _, err := table.BatchGet(ctx, []int{sharedRow, step, sharedRow}); err != nil {
			return err
		}
		err := table.BatchInc([]int{100 + step, ownRow + s.Rank(), sharedRow},
			[]int32{1, 2, 1, 2, 1, 2})
		if err == nil {
			err = s.Push("t", 0, nd.RowSparseFromSlices([]float32{-1, -1, -2, -2},
				[]int{3, 1000 + step},
				shape))
		}
		if err = errors.Join(err, s.Clock(ctx)); err != nil {
			return err
		}
	}
	for range survivorStaleness + 1 { // no row that has been read before is fresh any more
		if err := s.Clock(ctx); err != nil {
			return err
		}
	}
	if err := s.Barrier(ctx); err != nil {
		return err
	}
	n := s.NumWorkers()
	for row, times := range map[int]int{sharedRow: n * steps, ownRow + 1 - s.Rank(): steps, 100: n,
		99 + steps: n, 12345: 0} {
		got, err := table.Get(ctx, row)
		if want := []int32{int32(tableFirst + times), int32(tableFirst + 2*times)}; err != nil ||
			!slices.Equal(got, want) {
			return fmt.Errorf("row %d of the table is %v, %v, want %v", row, got, err, want)
		}
	}
	_, v, err := pulled(s, "t", shape, 3, 999, 1000, 999+int64(steps))
	some := float32(1 + 2*n)
	want := []float32{float32(1 + n*steps), float32(1 + n*steps), 1, 1, some, some, some, some}
	if err != nil || !slices.Equal(v, want) {
		return fmt.Errorf("rows of the sparse key are %v, %v, want %v", v, err, want)
	}
	return s.Barrier(ctx)
}

// TestTablesAndSparseKeysSurvive kills a server and lets its successor take its shards back, lets a
// process take over the place of a worker, and continues from a snapshot.
func TestTablesAndSparseKeysSurvive(t *testing.T) {
	dir := t.TempDir()
	config := cluster.Config{Workers: 2, Servers: 3, Replicas: 2, Snapshots: dir,
		Heartbeat: 50 * time.Millisecond, Dead: 500 * time.Millisecond}
	c := cluster.Start(config)
	var again atomic.Bool
	play := func(ctx context.Context, s *kvstore.KV) error {
		return survivor(ctx, s, survivorSteps, func(step int) error {
			switch {
			case step == 3 && s.Rank() == 1:
				n := wire.Node{Role: wire.Server, Rank: 1}
				c.Kill(n)
				c.Restart(n)
			case step == 6:
				return s.Snapshot(ctx, 6)
			case step == 10 && s.Rank() == 0 && again.CompareAndSwap(false, true):
				return errTakenOver
			}
			return nil
		})
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := c.Work(ctx, func(ctx context.Context, rank int) error {
		s, err := kvstore.Open(ctx, "dist_ssp", kvstore.Staleness(survivorStaleness))
		if err != nil {
			return err
		}
		err = play(ctx, s)
		if !errors.Is(err, errTakenOver) {
			return errors.Join(err, s.Close())
		}
		if ctx, err = c.Again(ctx, rank); err != nil {
			return err
		}
		if s, err = kvstore.Open(ctx, "dist_ssp",
			kvstore.Staleness(survivorStaleness)); err != nil {
			return err
		}
		// pushes may have been under way
		if n := s.Resumed(); n < 10-2*survivorStaleness || n > 10 {
			return fmt.Errorf("a process resumes behind step %d, want 10 or a little less", n)
		}
		return errors.Join(play(ctx, s), s.Close())
	})
	must(t, errors.Join(err, c.Wait()))
	config.Restore, config.Seed, config.Servers = dir+"/snapshot-6", 1, 2
	c = cluster.Start(config)
	work(t, c, "dist_ssp", func(ctx context.Context, s *kvstore.KV) error {
		if n := s.Resumed(); n != 6 {
			return fmt.Errorf("the job resumes behind step %d, want 6", n)
		}
		return survivor(ctx, s, survivorSteps, nil)
	}, kvstore.Staleness(survivorStaleness))
}

var errTakenOver = errors.New("another process takes over")
