package kvstore_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"gomx/dtype"
	"gomx/engine"
	"gomx/internal/cluster"
	"gomx/kvstore"
	"gomx/kvstore/rows"
	"gomx/kvstore/wire"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

// pulled pulls rows and returns their numbers and values.
func pulled(s *kvstore.KV, key string, shape nd.Shape, ids ...int64) ([]int64, []float32, error) {
	out := nd.ZerosOf(nd.RowSparse, shape)
	err := s.RowSparsePull(key, 0, []*nd.Array{nd.FromSlice(ids)}, []*nd.Array{out})
	if err != nil {
		return nil, nil, err
	}
	data, err := out.Data()
	if err != nil {
		return nil, nil, err
	}
	list, err := out.Indices()
	if err != nil {
		return nil, nil, err
	}
	v, err := data.Float32s()
	return list, v, err
}

// TestRowSparseStores pushes gradients of devices to the stores of one process.
func TestRowSparseStores(t *testing.T) {
	shape := nd.Shape{5, 2}
	for _, name := range []string{"local", "device"} {
		s := open(t, name)
		must(t, s.Init(t.Context(), "w", nd.RowSparseFromSlices([]float32{1, 2}, []int{3}, shape)))
		ids, v, err := pulled(s, "w", shape, 4, 3, 4)
		must(t, err)
		if !slices.Equal(ids, []int64{3, 4}) || !slices.Equal(v, []float32{1, 2, 0, 0}) {
			t.Errorf("%s: rows %v, %v after Init", name, ids, v)
		}
		// No device stores row 2, two store row 1, and one has a dense gradient.
		a := nd.RowSparseFromSlices([]float32{1, 1, 2, 2}, []int{1, 4}, shape)
		b := nd.RowSparseFromSlices([]float32{5, 5}, []int{1}, shape)
		must(t, s.Push("w", 0, a, b))
		out := nd.ZerosOf(nd.RowSparse, shape)
		must(t, s.Pull("w", 0, out))
		if list, _ := out.Indices(); !slices.Equal(list, []int64{1, 4}) {
			t.Errorf("%s: the sum stores the rows %v, want 1 and 4", name, list)
		}
		must(t, s.Push("w", 0, a, b.ToStorage(nd.Dense), a))
		ids, v, err = pulled(s, "w", shape, 1, 4)
		must(t, err)
		if !slices.Equal(v, []float32{7, 7, 4, 4}) {
			t.Errorf("%s: rows %v, %v with a dense gradient", name, ids, v)
		}
		must(t, s.Init(t.Context(), "dense", nd.Zeros(shape)))
		must(t, s.Push("dense", 0, a, b))
		dense := nd.Zeros(shape)
		must(t, s.Pull("dense", 0, dense))
		if v := values(t, dense); v[2] != 6 || v[8] != 2 {
			t.Errorf("%s: dense value %v", name, v)
		}
		for want, err := range map[string]error{
			"want row_sparse": s.RowSparsePull("dense", 0, []*nd.Array{nd.Ones(nd.Shape{1})},
				[]*nd.Array{out}),
			"array 0": s.RowSparsePull("w", 0, []*nd.Array{nd.Ones(nd.Shape{1})},
				[]*nd.Array{dense}),
			"want 1": s.RowSparsePull("w", 0, nil, []*nd.Array{out}),
		} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q in it", name, err, want)
			}
		}
	}
}

const tableRows, tableWidth = 40, 3

// rowGradient is what a worker pushes at a step: some rows.
func rowGradient(rank, step int) *nd.Array {
	rng := rand.New(rand.NewPCG(uint64(rank*1000+step), 5))
	var ids []int
	var v []float32
	for id := range tableRows {
		if rng.IntN(4) > 0 || step%5 == 4 && rank > 0 {
			continue
		}
		ids = append(ids, id)
		for range tableWidth {
			v = append(v, float32(rng.NormFloat64()))
		}
	}
	return nd.RowSparseFromSlices(v, ids, nd.Shape{tableRows, tableWidth})
}

// trainRows trains a table whose rows begin with random values, and returns all of them.
func trainRows(ctx context.Context, s *kvstore.KV, o optimizer.Optimizer, steps int,
	grads func(step int) []*nd.Array, before func(step int) error) ([]float32, error) {
	shape := nd.Shape{tableRows, tableWidth}
	err := s.InitRows(ctx, "t", kvstore.RowsSpec{Shape: shape, DType: dtype.Float32,
		Init: rows.Init{Kind: rows.KindNormal, Scale: 0.1, Seed: 3}})
	if err == nil {
		err = s.Init(ctx, "u", nd.RowSparseFromSlices([]float32{1, 2, 3}, []int{7}, shape))
	}
	if err == nil && o != nil {
		err = s.SetOptimizer(ctx, o)
	}
	if err != nil {
		return nil, err
	}
	for step := int(s.Resumed()); step < steps; step++ {
		for _, key := range []string{"t", "u"} {
			if err := s.Push(key, 0, grads(step)...); err != nil {
				return nil, err
			}
			if _, _, err := pulled(s, key, shape, int64(step%tableRows), 7); err != nil {
				return nil, err
			}
		}
		if before != nil {
			if err := before(step + 1); err != nil {
				return nil, err
			}
		}
	}
	var all []float32
	for _, key := range []string{"t", "u"} {
		out := nd.Zeros(shape)
		if err := s.Pull(key, 0, out); err != nil {
			return nil, err
		}
		v, err := out.Float32s()
		if err != nil {
			return nil, err
		}
		all = append(all, v...)
	}
	return all, nil
}

// alone trains the table by one worker that pushes the gradients of all.
func alone(t *testing.T, o optimizer.Optimizer, workers, steps int) (want []float32) {
	t.Helper()
	c := cluster.Start(cluster.Config{Workers: 1, Servers: 1})
	work(t, c, "dist_sync", func(ctx context.Context, s *kvstore.KV) (err error) {
		want, err = trainRows(ctx, s, o, steps, func(step int) (list []*nd.Array) {
			for r := range workers {
				list = append(list, rowGradient(r, step))
			}
			return list
		}, nil)
		return err
	})
	return want
}

// TestRowsInOneProcess wants the store of one process to make what servers make.
func TestRowsInOneProcess(t *testing.T) {
	const steps, workers = 6, 2
	for _, o := range []optimizer.Optimizer{optimizer.SGD{LR: 0.1, Momentum: 0.9},
		optimizer.Adam{LR: 0.05}, optimizer.AdaGrad{LR: 0.1}} {
		want := alone(t, o, workers, steps)
		got, err := trainRows(t.Context(), open(t, "local"), o, steps, func(step int) []*nd.Array {
			return []*nd.Array{rowGradient(0, step), rowGradient(1, step)}
		}, nil)
		must(t, err)
		for i := range want {
			if d := math.Abs(float64(got[i] - want[i])); d > 1e-6 {
				t.Fatalf("%s: element %d is %v, want %v", o.Name(), i, got[i], want[i])
			}
		}
	}
}

func own(s *kvstore.KV) func(step int) []*nd.Array {
	return func(step int) []*nd.Array { return []*nd.Array{rowGradient(s.Rank(), step)} }
}

// TestRowsAlone: rows of keys that begin alone do not depend on the number of the key, in one process
// and in a job. Worker 0 gives the rows that exist already.
func TestRowsAlone(t *testing.T) {
	shape := nd.Shape{6, 2}
	spec := kvstore.RowsSpec{Shape: shape, DType: dtype.Float32, Alone: true,
		Init: rows.Init{Kind: rows.KindUniform, Scale: 1, Seed: 3}}
	whole, err := spec.Make(0)
	must(t, err)
	want := values(t, whole.ToStorage(nd.Dense))
	copy(want[4:], []float32{8, 9}) // row 2
	check := func(ctx context.Context, s *kvstore.KV, rank int) error {
		for _, key := range []string{"a", "b"} {
			spec := spec
			spec.First = nd.RowSparseFromSlices([]float32{8 + float32(rank), 9}, []int{2}, shape)
			if err := s.InitRows(ctx, key, spec); err != nil {
				return err
			}
			if err := holds(s, key, shape, 2); err != nil {
				t.Error(err)
			}
			ids, got, err := pulled(s, key, shape, 0, 1, 2, 3, 4, 5)
			if err != nil || len(ids) != 6 || !slices.Equal(got, want) {
				t.Errorf("%s: key %s: rows %v: %v, %v, want %v", s.Name(), key, ids, got, err, want)
			}
		}
		spec.First = nd.Zeros(shape)
		if err := s.InitRows(ctx, "c", spec); err == nil || !strings.Contains(err.Error(),
			"first rows in a default array") {
			t.Errorf("%s: dense first rows: %v", s.Name(), err)
		}
		return nil
	}
	s := open(t, "local")
	must(t, check(t.Context(), s, 0))
	h, _ := kvstore.As[kvstore.RowHolder](s)
	if err := h.HeldRows("b", nd.Zeros(shape)); err == nil {
		t.Error("HeldRows into a dense array is no error")
	}
	c := cluster.Start(cluster.Config{Workers: 2, Servers: 2})
	err = c.Work(t.Context(), func(ctx context.Context, rank int) error {
		s, err := kvstore.Open(ctx, "dist_sync")
		if err != nil {
			return err
		}
		defer s.Close()
		return check(ctx, s, rank)
	})
	must(t, errors.Join(err, c.Wait()))
}

// holds reports rows of a key that exist beside the given ones, or rows that do not.
func holds(s *kvstore.KV, key string, shape nd.Shape, want ...int64) error {
	h, err := kvstore.Need[kvstore.RowHolder](s, "holds")
	if err != nil {
		return err
	}
	held := nd.ZerosOf(nd.RowSparse, shape)
	defer held.Close()
	n, err := h.CountRows(key)
	if err := errors.Join(err, h.HeldRows(key, held)); err != nil {
		return err
	}
	ids, err := held.Indices()
	if err != nil || n != len(want) || !slices.Equal(ids, want) {
		return fmt.Errorf("%s: key %s holds %d rows, %v, %v, want %v", s.Name(), key, n, ids, err,
			want)
	}
	return nil
}

// TestHeldRowsOfServers reads the rows that servers hold, in several pieces, with their values.
func TestHeldRowsOfServers(t *testing.T) {
	const rowCount, width = 300_000, 16
	shape := nd.Shape{1 << 20, width}
	c := cluster.Start(cluster.Config{Workers: 1, Servers: 2})
	work(t, c, "dist_async", func(ctx context.Context, s *kvstore.KV) error {
		spec := kvstore.RowsSpec{Shape: shape, DType: dtype.Float32,
			Init: rows.Init{Kind: rows.KindUniform, Scale: 1, Seed: 3}}
		if err := s.InitRows(ctx, "t", spec); err != nil {
			return err
		}
		if err := holds(s, "t", shape); err != nil {
			return err
		}
		ids, numbers := make([]int64, rowCount), make([]float32, rowCount*width)
		for i := range ids {
			ids[i] = int64(3*i + i%2)
		}
		for i := range numbers {
			numbers[i] = float32(i % 1001)
		}
		if err := s.Push("t", 0, nd.RowSparseFromSlices(numbers, ids, shape)); err != nil {
			return err
		}
		whole, held := nd.ZerosOf(nd.RowSparse, shape), nd.ZerosOf(nd.RowSparse, shape)
		h, err := kvstore.Need[kvstore.RowHolder](s, "test")
		if err != nil {
			return err
		}
		if err := errors.Join(holds(s, "t", shape, ids...), h.HeldRows("t", held),
			s.RowSparsePull("t", 0, []*nd.Array{nd.FromSlice(ids)}, []*nd.Array{whole})); err != nil {
			return err
		}
		got, err := held.Data()
		if err != nil {
			return err
		}
		want, err := whole.Data()
		if err == nil && !slices.Equal(values(t, got), values(t, want)) {
			err = errors.New("the rows that exist have other values than the same rows pulled")
		}
		if err := h.HeldRows("t", nd.Zeros(shape)); err == nil {
			t.Error("HeldRows into a dense array is no error")
		}
		return err
	})
}

// TestRowsLikeOneProcess trains a table by several workers, and loses a server in the middle.
func TestRowsLikeOneProcess(t *testing.T) {
	const steps, workers = 10, 3
	for _, o := range []optimizer.Optimizer{nil, optimizer.SGD{LR: 0.1},
		optimizer.SGD{LR: 0.1, Momentum: 0.9}, optimizer.Adam{LR: 0.05},
		optimizer.AdaGrad{LR: 0.1}} {
		name := "none"
		if o != nil {
			name = o.Name()
		}
		t.Run(name, func(t *testing.T) {
			want := alone(t, o, workers, steps)
			c := cluster.Start(cluster.Config{Workers: workers, Servers: 2, Replicas: 2,
				Heartbeat: 50 * time.Millisecond, Dead: 500 * time.Millisecond})
			work(t, c, "dist_sync", func(ctx context.Context, s *kvstore.KV) error {
				got, err := trainRows(ctx, s, o, steps, own(s), func(step int) error {
					if s.Rank() == 1 && step == steps/2 {
						n := wire.Node{Role: wire.Server, Rank: 1}
						c.Kill(n)
						c.Restart(n)
					}
					return nil
				})
				if err == nil && !slices.Equal(got, want) {
					err = fmt.Errorf("worker %d has %v, want %v", s.Rank(), got, want)
				}
				return err
			})
		})
	}
}

// TestRowsContinue continues from a snapshot with sparse keys.
func TestRowsContinue(t *testing.T) {
	const steps, workers = 9, 2
	o := optimizer.Adam{LR: 0.05}
	want := alone(t, o, workers, steps)
	dir := t.TempDir()
	for _, c := range []cluster.Config{{}, {Restore: dir + "/snapshot-5", Seed: 1}} {
		c.Workers, c.Servers, c.Replicas, c.Snapshots = workers, 2, 2, dir
		work(t, cluster.Start(c), "dist_sync", func(ctx context.Context, s *kvstore.KV) error {
			got, err := trainRows(ctx, s, o, steps, own(s), func(step int) error {
				if step == 5 {
					return s.Snapshot(ctx, 5)
				}
				return nil
			})
			if err == nil && !slices.Equal(got, want) {
				err = fmt.Errorf("restored %q: worker %d has %v, want %v", c.Restore, s.Rank(), got,
					want)
			}
			return err
		})
	}
}

// TestRowsWithoutRounds adds rows up in stores without rounds.
func TestRowsWithoutRounds(t *testing.T) {
	const steps, workers = 8, 2
	shape := nd.Shape{1 << 20, 2}
	for _, name := range []string{"dist_async", "dist_ssp"} {
		c := cluster.Start(cluster.Config{Workers: workers, Servers: 2, Replicas: 2})
		work(t, c, name, func(ctx context.Context, s *kvstore.KV) error {
			err := s.InitRows(ctx, "t", kvstore.RowsSpec{Shape: shape, DType: dtype.Float32})
			if err != nil {
				return err
			}
			for step := range steps {
				err := s.Push("t", 0, nd.RowSparseFromSlices([]float32{1, 2, 10, 20}, []int{5,
					1000 * (1 + step)}, shape))
				if err != nil {
					return err
				}
				ids, v, err := pulled(s, "t", shape, 1000, 5, 9)
				if err != nil {
					return err
				}
				low := float32(step + 1)
				if name == "dist_ssp" {
					low += max(0, low-2) // the other worker's, but for the last steps
				}
				if !slices.Equal(ids, []int64{5, 9, 1000}) || v[0] < low || v[0] > workers*steps ||
					v[2] != 0 {
					return fmt.Errorf("%s: worker %d in step %d pulls %v, %v", name, s.Rank(), step,
						ids, v)
				}
			}
			if err := s.Barrier(ctx); err != nil {
				return err
			}
			_, v, err := pulled(s, "t", shape, 1000*steps, 1000)
			if want := []float32{20, 40, 20, 40}; err == nil && name == "dist_async" &&
				!slices.Equal(v, want) {
				err = fmt.Errorf("%s: %v, want %v", name, v, want)
			}
			return err
		}, kvstore.Staleness(2))
	}
}

// TestDenseValuesOfSparseGradients pushes row_sparse gradients to keys with dense values, and pulls
// them to dense and row_sparse arrays.
func TestDenseValuesOfSparseGradients(t *testing.T) {
	shape := nd.Shape{4, 2}
	for _, name := range []string{"dist_sync", "dist_async", "allreduce"} {
		c := cluster.Start(cluster.Config{Workers: 2, Servers: 1, Peers: name == "allreduce"})
		work(t, c, name, func(ctx context.Context, s *kvstore.KV) error {
			dense, stored := nd.Zeros(shape), nd.ZerosOf(nd.RowSparse, shape)
			if err := s.Broadcast(ctx, "w", nd.Zeros(shape), dense); err != nil {
				return err
			}
			a := nd.RowSparseFromSlices([]float32{1, 2}, []int{1}, shape)
			b := nd.RowSparseFromSlices([]float32{3, 4}, []int{1 + 2*s.Rank()}, shape)
			if err := s.PushPull("w", 0, []*nd.Array{a, b}, []*nd.Array{dense, stored}); err != nil {
				return err
			}
			if err := s.Barrier(ctx); err != nil {
				return err
			}
			if err := s.Pull("w", 0, dense, stored); err != nil {
				return err
			}
			v, err := dense.Float32s()
			if want := []float32{0, 0, 5, 8, 0, 0, 3, 4}; err != nil || !slices.Equal(v, want) {
				return fmt.Errorf("%s: %v, %v, want %v", name, v, err, want)
			}
			if ids, err := stored.Indices(); err != nil || !slices.Equal(ids, []int64{1, 3}) {
				return fmt.Errorf("%s: rows %v, %v, want 1 and 3", name, ids, err)
			}
			return nil
		})
	}
}

// addCells adds to cells of a table, from one worker or two.
func addCells[T kvstore.Cell](ctx context.Context, s *kvstore.KV, name string) error {
	table, err := kvstore.NewTable[T](ctx, s, name, nd.Shape{100, 3})
	if err != nil {
		return err
	}
	for range 4 {
		err := errors.Join(table.IncCell(7, 2, 1), table.IncCell(7, 0, 2), table.Inc(9, []T{1, 2, 3}),
			s.Clock(ctx))
		if err != nil {
			return err
		}
	}
	if err := s.Barrier(ctx); err != nil {
		return err
	}
	n := T(s.NumWorkers())
	got, err := table.BatchGet(ctx, []int{9, 7, 8})
	if want := []T{4 * n, 8 * n, 12 * n, 8 * n, 0, 4 * n, 0, 0, 0}; err != nil ||
		!slices.Equal(got, want) {
		return fmt.Errorf("%v of %T: %v, %v, want %v", table, n, got, err, want)
	}
	if err := table.IncCell(7, 3, 1); err == nil || !strings.Contains(err.Error(), "column 3") {
		return fmt.Errorf("column 3 of 3: %v", err)
	}
	return nil
}

func addAllCells(ctx context.Context, s *kvstore.KV) error {
	return errors.Join(addCells[float32](ctx, s, "a"), addCells[float64](ctx, s, "b"),
		addCells[int32](ctx, s, "c"))
}

// TestCells adds to cells of tables of all types of elements.
func TestCells(t *testing.T) {
	must(t, addAllCells(t.Context(), open(t, "local")))
	c := cluster.Start(cluster.Config{Workers: 2, Servers: 2, Replicas: 2})
	work(t, c, "dist_sync", addAllCells)
}

// TestRowsRefuse wants errors that name the key.
func TestRowsRefuse(t *testing.T) {
	c := cluster.Start(cluster.Config{Workers: 1, Servers: 1})
	shape := nd.Shape{10, 2}
	work(t, c, "dist_sync", func(ctx context.Context, s *kvstore.KV) error {
		err := s.InitRows(ctx, "t", kvstore.RowsSpec{Shape: shape, DType: dtype.Float32})
		if err != nil {
			return err
		}
		for want, err := range map[string]error{
			"looks at keys as a whole":   s.SetOptimizer(ctx, optimizer.LAMB{}),
			`key "t" has a value`:        s.Init(ctx, "t", nd.ZerosOf(nd.RowSparse, shape)),
			`rows of shape (0, 2)`:       s.InitRows(ctx, "e", kvstore.RowsSpec{Shape: nd.Shape{0, 2}}),
			`array 0 for key "t" is int`: s.Push("t", 0, nd.ZerosOf(nd.RowSparse, shape, nd.As(dtype.Int32))),
		} {
			if err == nil || !strings.Contains(err.Error(), want) {
				return fmt.Errorf("got %v, want %q in it", err, want)
			}
		}
		return nil
	})
}

// TestRefusedCallsLetTheKeyGoOn makes calls that fail before anything is sent. The next calls on the
// key go on as if they had not been made.
func TestRefusedCallsLetTheKeyGoOn(t *testing.T) {
	shape := nd.Shape{10, 2}
	for _, name := range []string{"dist_sync", "dist_async", "allreduce"} {
		c := cluster.Start(cluster.Config{Workers: 1, Servers: 1, Peers: name == "allreduce"})
		work(t, c, name, func(ctx context.Context, s *kvstore.KV) error {
			good := nd.RowSparseFromSlices([]float32{1, 2}, []int{3}, shape)
			bad := nd.Zeros(shape)
			boom := errors.New("this gradient cannot be computed")
			spoil := func(a *nd.Array) {
				a.Engine().Push(&engine.Task{Name: "spoil", Fn: func(*engine.Run) error { return boom },
					Uses: []engine.Use{{Var: a.Var(), Access: engine.Overwrite}}})
			}
			spoil(bad)
			if name != "allreduce" {
				err := s.InitRows(ctx, "t", kvstore.RowsSpec{Shape: shape, DType: dtype.Float32})
				if err != nil {
					return err
				}
				if _, _, err := pulled(s, "t", shape, 3, 10); err == nil ||
					!strings.Contains(err.Error(), `"t": row 10, want 0 to 9`) {
					return fmt.Errorf("%s: row 10 of 10: %v", name, err)
				}
				stored := nd.ZerosOf(nd.RowSparse, shape)
				spoil(stored)
				err = errors.Join(s.Push("t", 0, good), s.Push("t", 0, stored))
				if err != nil {
					return err
				}
				if _, _, err := pulled(s, "t", shape, 3); !errors.Is(err, boom) {
					return fmt.Errorf("%s: a pull after a push without a value: %v", name, err)
				}
				_, v, err := pulled(s, "t", shape, 3)
				if err != nil || !slices.Equal(v, []float32{1, 2}) {
					return fmt.Errorf("%s: rows %v, %v after refused calls", name, v, err)
				}
			}
			out := nd.Zeros(shape)
			if err := s.Broadcast(ctx, "w", nd.Zeros(shape), out); err != nil {
				return err
			}
			err := s.PushPull("w", 0, []*nd.Array{bad}, []*nd.Array{out})
			if err = errors.Join(err, out.Wait(ctx)); !errors.Is(err, boom) {
				return fmt.Errorf("%s: push and pull of a spoiled gradient: %v", name, err)
			}
			if err := s.Push("w", 0, bad); err != nil {
				return err
			}
			if err := s.Barrier(ctx); !errors.Is(err, boom) {
				return fmt.Errorf("%s: a barrier after a push without a value: %v", name, err)
			}
			if err := s.PushPull("w", 0, []*nd.Array{good}, []*nd.Array{out}); err != nil {
				return err
			}
			if v, err := out.Float32s(); err != nil || v[6] != 1 || v[7] != 2 {
				return fmt.Errorf("%s: %v, %v after refused calls", name, v, err)
			}
			return s.Barrier(ctx)
		})
	}
}
