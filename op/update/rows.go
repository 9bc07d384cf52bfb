package update

import (
	"slices"
	"unsafe"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// byRows says how a rule steps where the weight, the gradient or a state is row_sparse.
type byRows[P any] struct {
	// lazy reports whether a step with a row_sparse gradient leaves the rows alone that the
	// gradient does not store; nil: it always does.
	lazy func(p P) bool
	// sparseOnly says that a dense weight is updated densely, as in MXNet.
	sparseOnly bool
	// row returns a step of one row, in place: v holds the rows of weight, gradient and states.
	row func(p P, c *op.Call) func(v [][]float64)
	// fast returns the same step for float32 with the kernel of a rule; nil: there is none.
	fast func(p P) rowKernel
	// extra is the number of inputs behind the states, which row reads from the call.
	extra int
}

// rowKernel names a rule whose steps by rows have a kernel, and holds its constants.
type rowKernel struct {
	rule              rowsRule
	lr, wd            float64
	rescale, clip     float64
	momentum          float64
	beta1, beta2, eps float64

	// of a step: threads, rows that change, elements of a row
	threads, rows, row int
}

// rowsRule is an optimizer with a kernel by rows.
type rowsRule uint8

// The rules with kernels.
const (
	rowsSGD rowsRule = iota
	rowsMomentum
	rowsAdam
	rowsAdaGrad
)

// byElement makes the step of a row from the step of an element.
func byElement(f func(v []float64)) func(v [][]float64) {
	return func(v [][]float64) {
		var room [8]float64
		e := room[:len(v)]
		for i := range v[0] {
			for k := range v {
				e[k] = v[k][i]
			}
			f(e)
			for k := range v {
				v[k][i] = e[k]
			}
		}
	}
}

// storage serves weights, gradients and states that are dense or row_sparse.
func (b *byRows[P]) storage(_ P, in []op.Storage) ([]op.Storage, bool) {
	n := len(in) - b.extra
	sparse := slices.Contains(in, op.CSR) || !op.AllDense(in[n:])
	dense := in[0] == op.Dense && b.sparseOnly && !op.AllDense(in)
	return in[:1], !sparse && !dense
}

// step is the kernel of calls with a row_sparse operand.
func (b *byRows[P]) step(p P, c *op.Call) error {
	n := len(c.In) - b.extra
	copyWeight(c.Out[0], c.In[0])
	in := append([]op.Tensor{c.Out[0]}, c.In[1:n]...)
	lazy := in[1].Sparse != nil && (b.lazy == nil || b.lazy(p))
	s := newRowStep(in, lazy)
	if b.fast != nil && slices.IndexFunc(in, func(t op.Tensor) bool {
		return t.DType != dtype.Float32
	}) < 0 {
		k := b.fast(p)
		k.rows, k.row = s.n, s.tables[0].row
		k.threads = loop.Parts(c.Threads, k.rows*k.row)
		k.run(s.tables)
		return nil
	}
	s.run(c.Threads, b.row(p, c))
	return nil
}

// copyWeight gives out, which a step changes in place, the values of the weight.
func copyWeight(out, weight op.Tensor) {
	switch {
	case out.Sparse != nil && out.Sparse != weight.Sparse:
		loop.CopyStored(out.Sparse, weight.Sparse)
	case out.Sparse == nil && out.Data != weight.Data:
		copy(unsafe.Slice((*byte)(out.Data), out.Bytes),
			unsafe.Slice((*byte)(weight.Data), weight.Bytes))
	}
}

// table is an operand by rows: row i of the step is row at[i] of the values, or row i if at is nil;
// -1 is a row of zeros.
type table struct {
	values op.Tensor
	row    int // elements of a row
	at     []int64
}

// rowStep is a step of n rows of several operands.
type rowStep struct {
	n      int
	tables []table
}

// newRowStep chooses the rows that a step changes: those of the gradient, or all that the weight or
// the gradient has. Row_sparse weights and states get the rows that they do not have, as zeros;
// states get every row of the weight, so that they grow with it.
func newRowStep(in []op.Tensor, lazy bool) *rowStep {
	weight, grad := in[0], in[1]
	rows := stored(grad) // nil: all
	if !lazy && rows != nil {
		if w := stored(weight); w != nil {
			rows = loop.Merge(w, rows)
		} else {
			rows = nil
		}
	}
	s := &rowStep{n: weight.Shape[0]}
	if rows != nil {
		s.n = len(rows)
	}
	for i, t := range in {
		if t.Sparse != nil && i != 1 {
			fill(t.Sparse, rows)
			if i > 1 && weight.Sparse != nil && t.Sparse.N < weight.Sparse.N {
				fill(t.Sparse, weight.Sparse.Indices)
			}
		}
	}
	for _, t := range in {
		s.tables = append(s.tables, tableOf(t, rows))
	}
	return s
}

// stored lists the rows that an operand stores; nil: all.
func stored(t op.Tensor) []int64 {
	switch {
	case t.Sparse == nil || t.Sparse.N == t.Shape[0]:
		return nil
	case t.Sparse.N == 0:
		return []int64{}
	}
	return t.Sparse.Indices
}

// fill adds the rows, all rows if they are nil, that s does not store, as zeros.
func fill(s *op.Sparse, rows []int64) {
	if s.N == s.Shape[0] {
		return
	}
	if rows == nil {
		rows = make([]int64, s.Shape[0])
		for i := range rows {
			rows[i] = int64(i)
		}
	}
	loop.InsertZeros(s, rows)
}

// tableOf returns an operand by the rows of a step, nil for all. The gradient need not store them;
// other operands do.
func tableOf(t op.Tensor, rows []int64) table {
	b := table{values: t, row: t.Shape[1:].Size()}
	if t.Sparse != nil {
		b.values = t.Sparse.Values()
	}
	has := stored(t)
	switch {
	case has == nil:
		b.at = rows
	case rows == nil:
		b.at = slices.Repeat([]int64{-1}, t.Shape[0])
		for k, r := range has {
			b.at[r] = int64(k)
		}
	case !equalLists(has, rows):
		b.at = make([]int64, len(rows))
		loop.FindRows(b.at, rows, has, 1)
	}
	return b
}

// equalLists compares lists, which often are one.
func equalLists(a, b []int64) bool {
	one := len(a) == len(b) && unsafe.SliceData(a) == unsafe.SliceData(b)
	return one || slices.Equal(a, b)
}

// offset returns the first element of row i of the step, -1 for zeros.
func (t *table) offset(i int) int {
	k := i
	if t.at != nil {
		k = int(t.at[i])
	}
	if k < 0 {
		return -1
	}
	return k * t.row
}

// run applies a function to each row, with numbers of float64.
func (s *rowStep) run(threads int, step func(v [][]float64)) {
	loop.Split(threads, s.n, s.n*s.tables[0].row, func(begin, end int) {
		v := make([][]float64, len(s.tables))
		for k := range v {
			v[k] = make([]float64, s.tables[k].row)
		}
		for i := begin; i < end; i++ {
			for k := range s.tables {
				if at := s.tables[k].offset(i); at < 0 {
					clear(v[k])
				} else {
					loop.Load(v[k], s.tables[k].values, at, 1)
				}
			}
			step(v)
			for k := range s.tables {
				if k != 1 {
					loop.Store(s.tables[k].values, s.tables[k].offset(i), v[k])
				}
			}
		}
	})
}
