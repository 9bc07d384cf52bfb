package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"gomx/autograd"
	"gomx/device"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

// Sizes of the sparse suite, the same as in peers/sparse.py.
const (
	sparseBatch   = 512       // rows of the csr matrices
	sparseColumns = 100_000   // their columns
	sparseRows    = 1_000_000 // rows of tables and of row_sparse arrays
	sparseWidth   = 64        // elements of a row
	sparseTouched = 4096      // rows that a step of the lines sparse.rows and sparse.random reads
	sparseBatches = 64        // different batches of the lines sparse.random
)

// sparseDensities are the shares of stored elements or rows, by their names in lines.
var sparseDensities = []struct {
	name  string
	share float64
}{{"0.01%", 1e-4}, {"0.1%", 1e-3}, {"1%", 1e-2}}

// sparse measures operators and training steps with sparse operands.
func sparse() ([]Workload, error) {
	var list []Workload
	for _, d := range sparseDensities {
		share := d.share
		add := func(name string, prepare func(r *rand.Rand) steps) {
			list = append(list, stepTime(fmt.Sprintf("sparse.%s.%s", name, d.name), prepare))
		}
		add("dot", func(r *rand.Rand) steps { return csrDot(r, share, false) })
		add("dot_t", func(r *rand.Rand) steps { return csrDot(r, share, true) })
		add("embedding.sgd", func(r *rand.Rand) steps {
			return tableStep(optimizer.SGD{LR: 0.01}, sparseRows,
				different(r, int(sparseRows*share), sparseRows))
		})
		add("embedding.adam", func(r *rand.Rand) steps {
			return tableStep(optimizer.Adam{LR: 0.01}, sparseRows,
				different(r, int(sparseRows*share), sparseRows))
		})
		add("retain", func(r *rand.Rand) steps {
			n := int(sparseRows * share)
			x, ids := someRows(r, 2*n), nd.FromSlice(different(r, n, sparseRows))
			return stepsOn(func() { nd.Retain(x, ids).Close() }, x, ids)
		})
		add("add", func(r *rand.Rand) steps {
			n := int(sparseRows * share)
			x, y := someRows(r, n), someRows(r, n)
			return stepsOn(func() { x.Add(y).Close() }, x, y)
		})
	}
	for _, rows := range []int{100_000, 1_000_000, 10_000_000} {
		list = append(list, stepTime(fmt.Sprintf("sparse.rows.%d", rows),
			func(r *rand.Rand) steps {
				return tableStep(optimizer.Adam{LR: 0.01}, rows,
					different(r, sparseTouched, 100_000))
			}))
	}
	for _, rows := range []int{100_000, 1_000_000, 10_000_000} {
		random := func(r *rand.Rand) steps { return randomStep(r, rows) }
		name := fmt.Sprintf("sparse.random.%d", rows)
		list = append(list, stepTime(name, random), stepPages(name+".pages", random))
	}
	return list, nil
}

// randomStep returns training steps of a table that read other rows each time, of the whole table.
func randomStep(r *rand.Rand, rows int) steps {
	var batches [][]int64
	for range sparseBatches {
		batches = append(batches, different(r, sparseTouched, rows))
	}
	return tableStep(optimizer.Adam{LR: 0.01}, rows, batches...)
}

// steps are equal steps on arrays that exist once.
type steps struct {
	run   func() error
	close func() // frees the arrays
}

// stepsOn returns steps on arrays.
func stepsOn(run func(), on ...*nd.Array) steps {
	return steps{func() error { run(); return nil }, func() { closeAll(on) }}
}

// closeAll closes arrays.
func closeAll(list []*nd.Array) {
	for _, a := range list {
		a.Close()
	}
}

// stepTime measures microseconds of a step: the best of three runs. It leaves no memory to the
// peers' processes and to the next round, which make tables of gigabytes of their own.
func stepTime(name string, prepare func(r *rand.Rand) steps) Workload {
	return Workload{Name: name, Unit: "us/op", Run: func(ctx context.Context) (float64, error) {
		s := prepare(rand.New(rand.NewPCG(1, 2)))
		t, err := bestOf(ctx, 3, 50, s.run)
		s.close()
		return t * 1e6, errors.Join(err, nd.WaitAll(ctx), trim())
	}}
}

// trim returns the memory of closed arrays to the operating system.
func trim() error {
	pool, err := device.PoolOf(device.CPU())
	if err == nil {
		pool.Trim()
	}
	return err
}

// csrDot returns a product of a random csr matrix, or of its transpose, with a dense matrix.
func csrDot(r *rand.Rand, share float64, transposed bool) steps {
	var values []float32
	var columns []int64
	starts := []int64{0}
	for range sparseBatch {
		columns = append(columns, different(r, int(sparseColumns*share), sparseColumns)...)
		starts = append(starts, int64(len(columns)))
	}
	for range columns {
		values = append(values, r.Float32())
	}
	x := nd.CSRFromSlices(values, columns, starts, nd.Shape{sparseBatch, sparseColumns})
	rows := sparseColumns
	if transposed {
		rows = sparseBatch
	}
	y := nd.Uniform(-1, 1, nd.Shape{rows, sparseWidth})
	return stepsOn(func() { nd.Dot(x, y, nd.DotParams{TransposeA: transposed}).Close() }, x, y)
}

// tableStep returns training steps of a table, which read the rows of one batch after the other.
func tableStep(o optimizer.Optimizer, rows int, batches ...[]int64) steps {
	w := nd.Full(0.5, nd.Shape{rows, sparseWidth})
	w.AttachGradOf(nd.RowSparse)
	var ids []*nd.Array
	for _, batch := range batches {
		ids = append(ids, nd.FromSlice(float32s(batch)))
	}
	p := nd.EmbeddingParams{InputDim: rows, OutputDim: sparseWidth, SparseGrad: true}
	u, err := optimizer.NewUpdater(o, nil)
	next := 0
	return steps{
		run: func() error {
			if err != nil {
				return err
			}
			nd.Scope(func(s *nd.Scoped) {
				y := nd.Embedding(s.Enter(ids[next]), s.Own(autograd.Train().Watch(w)), p)
				y.Backward()
			})
			next = (next + 1) % len(ids)
			return u.Update(0, w, w.Grad())
		},
		close: func() {
			if err == nil {
				closeAll(u.State(0))
			}
			w.Grad().Close()
			w.Close()
			closeAll(ids)
		},
	}
}

// someRows returns a row_sparse array of n random rows.
func someRows(r *rand.Rand, n int) *nd.Array {
	values := make([]float32, n*sparseWidth)
	for i := range values {
		values[i] = r.Float32()
	}
	return nd.RowSparseFromSlices(values, different(r, n, sparseRows),
		nd.Shape{sparseRows, sparseWidth})
}

// different returns n different numbers below limit, ascending.
func different(r *rand.Rand, n, limit int) []int64 {
	list := make([]int64, 0, 2*n)
	for len(list) < n {
		for range n {
			list = append(list, r.Int64N(int64(limit)))
		}
		slices.Sort(list)
		list = slices.Compact(list)
	}
	r.Shuffle(len(list), func(i, k int) { list[i], list[k] = list[k], list[i] })
	list = list[:n]
	slices.Sort(list)
	return list
}

// float32s converts numbers.
func float32s(list []int64) []float32 {
	out := make([]float32, len(list))
	for i, v := range list {
		out[i] = float32(v)
	}
	return out
}
