package ndarray

import (
	"cmp"
	"context"
	"runtime"
	"slices"

	"gomx/device"
	"gomx/engine"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/prim"
)

// Storage says how the values of an array lie in memory.
type Storage = op.Storage

// The storage types of arrays.
const (
	Dense     = op.Dense     // every element, row-major
	RowSparse = op.RowSparse // some rows of the first axis, with their numbers
	CSR       = op.CSR       // some elements of a matrix, row by row, with their columns
)

// Integer is a Go type of row and column numbers.
type Integer interface{ ~int | ~int32 | ~int64 }

// CSRFromSlices makes a sparse matrix on the processor from a copy of its stored elements: those of
// row i are values[starts[i]:starts[i+1]], in the columns of the same places. The columns of a row
// may come in any order but none twice. It panics when the slices contradict each other or the
// shape.
func CSRFromSlices[T op.Element, I Integer](values []T, columns, starts []I, shape Shape,
	opts ...Option) *Array {
	const what = "CSRFromSlices"
	s := newContent[T](what, op.CSR, shape)
	if len(starts) != shape[0]+1 {
		panic(misuse(what, "starts", "%d numbers, want %d: one more than rows", len(starts),
			shape[0]+1))
	}
	if len(columns) != len(values) {
		panic(misuse(what, "columns", "%d columns for %d values", len(columns), len(values)))
	}
	if starts[0] != 0 || int(starts[shape[0]]) != len(values) {
		panic(misuse(what, "starts", "from %d to %d, want 0 to %d", starts[0], starts[shape[0]],
			len(values)))
	}
	order := make([]int, len(values))
	for i := range shape[0] {
		begin, end := int(starts[i]), int(starts[i+1])
		if begin > end || end > len(values) {
			panic(misuse(what, "starts", "row %d has the elements %d to %d of %d", i, begin, end,
				len(values)))
		}
		s.Starts[i+1] = int64(end)
		sortPlaces(order[begin:end], begin, columns)
	}
	return arrange(what, s, order, values, columns, opts)
}

// CSRFromCOO makes a sparse matrix on the processor from elements in any order, with their rows and
// columns. Elements of one place are added up, in their order.
func CSRFromCOO[T op.Element, I Integer](values []T, rows, columns []I, shape Shape,
	opts ...Option) *Array {
	const what = "CSRFromCOO"
	s := newContent[T](what, op.CSR, shape)
	if len(rows) != len(values) || len(columns) != len(values) {
		panic(misuse(what, "rows", "%d rows and %d columns for %d values", len(rows), len(columns),
			len(values)))
	}
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
		if r, c := int64(rows[i]), int64(columns[i]); r < 0 || c < 0 || r >= int64(shape[0]) ||
			c >= int64(shape[1]) {
			panic(misuse(what, "rows", "element %d lies at (%d, %d), outside of the shape %v", i, r,
				c, shape))
		}
	}
	slices.SortStableFunc(order, func(i, k int) int {
		return cmp.Or(cmp.Compare(rows[i], rows[k]), cmp.Compare(columns[i], columns[k]))
	})
	var sums []T
	var places []I
	for n, i := range order {
		if n > 0 && rows[i] == rows[order[n-1]] && columns[i] == columns[order[n-1]] {
			sums[len(sums)-1] = plus(sums[len(sums)-1], values[i])
			continue
		}
		sums, places = append(sums, values[i]), append(places, columns[i])
		s.Starts[rows[i]+1]++
	}
	for i := range shape[0] {
		s.Starts[i+1] += s.Starts[i]
	}
	for i := range sums {
		order[i] = i
	}
	return arrange(what, s, order[:len(sums)], sums, places, opts)
}

// RowSparseFromSlices makes an array on the processor that stores a copy of some rows of its first
// axis: values holds them one after the other, rows their numbers, in any order but none twice. It
// panics when the slices contradict each other or the shape.
func RowSparseFromSlices[T op.Element, I Integer](values []T, rows []I, shape Shape,
	opts ...Option) *Array {
	const what = "RowSparseFromSlices"
	s := newContent[T](what, op.RowSparse, shape)
	if len(values) != len(rows)*s.Row() {
		panic(misuse(what, "values", "%d values for %d rows of shape %v, want %d", len(values),
			len(rows), shape[1:], len(rows)*s.Row()))
	}
	order := make([]int, len(rows))
	sortPlaces(order, 0, rows)
	return arrange(what, s, order, values, rows, opts)
}

// ZerosOf returns an array of zeros of a storage type; a sparse one has no stored values.
func ZerosOf(s Storage, shape Shape, opts ...Option) *Array {
	if s == op.Dense {
		return Zeros(shape, opts...)
	}
	if err := checkShape(shape); err != nil {
		panic(misuse("ZerosOf", "shape", "%v", err))
	}
	o := collect(opts)
	a, err := newStored(o.eng, o.dev, op.Stored(s, o.dtype, shape.Clone()), o.name)
	if err != nil {
		panic(misuse("ZerosOf", "", "%v", err))
	}
	return a
}

// newContent returns empty content; it panics when the shape is impossible.
func newContent[T op.Element](what string, s Storage, shape Shape) *op.Sparse {
	err := checkShape(shape)
	if err == nil {
		err = op.CanStore(s, shape)
	}
	if err != nil {
		panic(misuse(what, "shape", "%v", err))
	}
	return op.NewSparse(s, op.TypeOf[T](), shape.Clone())
}

// sortPlaces fills order with begin, begin+1, … sorted by the indices there.
func sortPlaces[I Integer](order []int, begin int, indices []I) {
	for i := range order {
		order[i] = begin + i
	}
	byIndex := func(i, k int) int { return cmp.Compare(indices[i], indices[k]) }
	if !slices.IsSortedFunc(order, byIndex) {
		slices.SortStableFunc(order, byIndex)
	}
}

// arrange makes an array of s, whose starts are set, with values and indices in the given order.
func arrange[T op.Element, I Integer](what string, s *op.Sparse, order []int, values []T,
	indices []I, opts []Option) *Array {
	s.Room(len(order))
	dst, row := op.Slice[T](s.Values()), s.Row()
	for to, from := range order {
		s.Indices[to] = int64(indices[from])
		copy(dst[to*row:(to+1)*row], values[from*row:])
	}
	a, err := FromContent(s, opts...)
	if err != nil {
		panic(blame(err, what))
	}
	return a
}

// FromContent makes an array on the processor of content that the caller gives away. Content that
// breaks an invariant is an error.
func FromContent(s *op.Sparse, opts ...Option) (*Array, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	o := collect(opts)
	if o.dev.Kind != device.KindCPU {
		return nil, op.Errorf("On", "%v: sparse arrays live on the host", o.dev)
	}
	return newSparse(o.eng, o.dev, s, o.name), nil
}

// plus adds two elements.
func plus[T op.Element](a, b T) T {
	sum := op.TensorOf([]T{a})
	loop.Accumulate(sum, op.TensorOf([]T{b}))
	return op.Slice[T](sum)[0]
}

// newSparse returns an array with the given content.
func newSparse(eng *engine.Engine, dev device.Device, s *op.Sparse, name string) *Array {
	o := &owner{}
	s.Pool()
	o.chunk.eng, o.chunk.dev, o.chunk.sparse = eng, dev, s
	o.chunk.v = eng.NewVar(name)
	o.chunk.refs.Store(1)
	o.chunk.cleanup = runtime.AddCleanup(o, remains.free, remains{eng: eng, v: o.chunk.v,
		sparse: s})
	o.array.chunk, o.array.dtype, o.array.shape = &o.chunk, s.DType, s.Shape
	return &o.array
}

// newStored returns a new array: a dense one with undefined values, a sparse one without any.
func newStored(eng *engine.Engine, dev device.Device, d op.Desc, name string) (*Array, error) {
	if d.Storage == op.Dense {
		return newArray(eng, dev, d.DType, d.Shape, name)
	}
	if !d.DType.Valid() {
		return nil, op.Errorf("dtype", "%v is not an element type", d.DType)
	}
	if err := op.CanStore(d.Storage, d.Shape); err != nil {
		return nil, err
	}
	if dev.Kind != device.KindCPU {
		return nil, op.Errorf("", "the array is %v and would be on %v: sparse arrays live on the "+
			"host", d.Storage, dev)
	}
	return newSparse(eng, dev, op.NewSparse(d.Storage, d.DType, d.Shape), name), nil
}

// storage returns the storage type of the arrays on c, which may be nil.
func (c *chunk) storage() Storage {
	if c == nil || c.sparse == nil {
		return op.Dense
	}
	return c.sparse.Storage
}

// storages lists the storage types of arrays.
func storages(list []*Array) []Storage {
	s := make([]Storage, len(list))
	for i, a := range list {
		s[i] = a.chunk.storage()
	}
	return s
}

// notDense is the error of a method that needs dense memory.
func (a *Array) notDense(what string) error {
	return misuse(what, "", "the array is %v and has no dense memory: use ToStorage(nd.Dense)",
		a.Storage())
}

// ToStorage returns a in a storage type: a itself when it has it, otherwise a converted copy.
// Gradients flow through the conversion.
func (a *Array) ToStorage(s Storage) *Array {
	if a.Storage() == s {
		return a
	}
	return apply1(prim.CastStorage.Op, prim.CastStorageParams{SType: s.String()}, a)
}

// NNZ waits for a and returns the number of values that it stores, zeros among them: for a dense
// array all, for a row_sparse one the elements of its stored rows.
func (a *Array) NNZ() (int, error) {
	if a.Storage() == op.Dense {
		return a.Size(), nil
	}
	n := 0
	err := a.content("NNZ", func(s *op.Sparse) error {
		n = s.N * s.Row()
		return nil
	})
	return n, err
}

// Data waits for a and returns a dense copy of its stored values: the elements of a csr array one
// after the other, the rows of a row_sparse array.
func (a *Array) Data() (*Array, error) {
	if a.Storage() == op.Dense {
		return a.Detach().Copy(), nil
	}
	var d *Array
	err := a.content("Data", func(s *op.Sparse) (err error) {
		if d, err = newArray(a.chunk.eng, a.chunk.dev, a.dtype, s.Values().Shape, ""); err == nil {
			d.chunk.block.CopyIn(0, s.Bytes())
		}
		return err
	})
	return d, err
}

// Content waits for a sparse array and returns a copy of its content, which FromContent takes.
func (a *Array) Content() (*op.Sparse, error) {
	if a.Storage() == op.Dense {
		return nil, misuse("Content", "", "the array is dense, want row_sparse or csr")
	}
	c := op.NewSparse(a.Storage(), a.dtype, a.shape.Clone())
	return c, a.content("Content", func(s *op.Sparse) error {
		loop.CopyStored(c, s)
		return nil
	})
}

// Indices waits for a and returns the numbers of its stored rows, or the columns of the elements of
// a csr array, row by row.
func (a *Array) Indices() ([]int64, error) {
	return a.numbers("Indices", func(s *op.Sparse) []int64 { return s.Indices })
}

// Columns waits for a csr array and returns the columns that have elements, ascending, each once.
func (a *Array) Columns() ([]int64, error) {
	if a.Storage() != op.CSR {
		return nil, misuse("Columns", "", "the array is %v, want csr", a.Storage())
	}
	return a.numbers("Columns", func(s *op.Sparse) []int64 { return loop.ColumnsOf(s).Keys })
}

// IndPtr waits for a csr array and returns where the elements of each row begin among the stored
// ones, and behind them their number.
func (a *Array) IndPtr() ([]int64, error) {
	if a.Storage() != op.CSR {
		return nil, misuse("IndPtr", "", "the array is %v, want csr", a.Storage())
	}
	return a.numbers("IndPtr", func(s *op.Sparse) []int64 { return s.Starts })
}

// numbers returns a copy of numbers among the content of a.
func (a *Array) numbers(what string, of func(s *op.Sparse) []int64) (list []int64, err error) {
	if a.Storage() == op.Dense {
		return nil, misuse(what, "", "the array is dense, want row_sparse or csr")
	}
	err = a.content(what, func(s *op.Sparse) error {
		list = append([]int64{}, of(s)...)
		return nil
	})
	return list, err
}

// Stored returns the content of a sparse array, nil for a dense one. It may be read and written by
// operations of the engine that use the variable of a.
func (a *Array) Stored() *op.Sparse { return a.mem("Stored").sparse }

// content waits for a sparse array and calls f with its content, which f must not keep.
func (a *Array) content(what string, f func(s *op.Sparse) error) error {
	c, err := a.stored(what)
	if err != nil {
		return err
	}
	defer runtime.KeepAlive(a)
	if err := c.eng.WaitRead(context.Background(), c.v); err != nil {
		return err
	}
	done := make(chan error, 1)
	c.eng.Push(&engine.Task{Name: "read of sparse content", NoSkip: true,
		Lane: engine.Lane{Device: c.dev, Kind: engine.CopyOut},
		Uses: []engine.Use{{Var: c.v, Access: engine.Read}},
		Fn: func(r *engine.Run) error {
			if err := r.Poison(); err != nil {
				done <- err
			} else {
				done <- f(c.sparse)
			}
			return nil
		}})
	return <-done
}

// WriteContent replaces the content of a sparse array. It waits for pending operations on a and
// calls f with the old content, whose memory f may use again and must not keep. Where f fails or
// the new content breaks an invariant, no values are stored.
func (a *Array) WriteContent(f func(s *op.Sparse) error) error {
	c, err := a.stored("WriteContent")
	switch {
	case err != nil:
		return err
	case c.storage() == op.Dense:
		return misuse("WriteContent", "", "the array is dense, want row_sparse or csr")
	}
	defer runtime.KeepAlive(a)
	done := make(chan error, 1)
	c.writes.Add(1)
	c.eng.Push(&engine.Task{Name: "write of sparse content",
		Lane: engine.Lane{Device: c.dev, Kind: engine.CopyIn},
		Uses: []engine.Use{{Var: c.v, Access: engine.Overwrite}},
		Fn: func(*engine.Run) error {
			err := f(c.sparse)
			c.sparse.Changed()
			if err == nil {
				err = c.sparse.Check()
			}
			if err != nil {
				c.sparse.Empty()
			}
			done <- err
			return nil
		}})
	return <-done
}

// fillSparse sets all elements of a sparse array to v.
func (a *Array) fillSparse(v float64) {
	if v != 0 {
		full := Full(v, a.shape, As(a.dtype), On(a.chunk.dev), Using(a.chunk.eng))
		defer full.Close()
		copyStored(a, full)
		return
	}
	c, err := a.stored("Fill")
	if err != nil {
		panic(err)
	}
	c.writes.Add(1)
	c.eng.Push(&engine.Task{Name: "fill", Lane: engine.Lane{Device: c.dev},
		Uses: []engine.Use{{Var: c.v, Access: engine.Overwrite}},
		Fn: func(*engine.Run) error {
			c.sparse.Empty()
			return nil
		}})
	runtime.KeepAlive(a)
}

// copyStored is copyArray where one of the arrays is sparse.
func copyStored(dst, src *Array) {
	to := dst.chunk.dev
	if to.Kind != device.KindCPU || src.chunk.dev != to {
		if src.chunk.sparse != nil {
			src = src.Detach().ToStorage(op.Dense)
			defer src.Close()
		}
		if dst.chunk.sparse == nil {
			copyArray(dst, src)
			return
		}
		src = src.Detach().To(to)
		defer src.Close()
	}
	src = src.Detach()
	defer src.Close()
	err := InvokeInto(prim.CastStorage.Op, prim.CastStorageParams{SType: dst.Storage().String()},
		[]*Array{src}, []*Array{dst})
	if err != nil {
		panic(blame(err, "copy"))
	}
}

// recorded reports whether the gradient of the call may be asked for, which may read inputs that the
// operator ignores.
func (iv *invocation) recorded() bool {
	return iv.tape != nil && !iv.untaped && iv.op.HasGrad()
}

// settleStorage makes the sparse inputs dense if the operator has no kernel for them.
func (iv *invocation) settleStorage() error {
	params, err := normalize(iv.op, iv.params, len(iv.in))
	if err != nil {
		return err
	}
	given := slices.DeleteFunc(slices.Clone(iv.in), func(a *Array) bool { return a == nil })
	stored := storages(given)
	if _, ok := iv.op.OutStorage(params, stored); ok {
		return nil
	}
	if i := slices.IndexFunc(stored, func(s Storage) bool { return s != op.Dense }); i >= 0 {
		op.Notice("operator %s has no kernel for %v arrays: they are made dense", iv.op.Name,
			stored[i])
	}
	iv.in = slices.Clone(iv.in)
	place := -1
	for i, a := range iv.in {
		if a == nil {
			continue
		}
		place++
		switch {
		case a.chunk.storage() == op.Dense:
		case slices.Contains(iv.op.Changes(params), place) && (iv.train || iv.op.Update):
			return op.Errorf(iv.inputName(i), "the array is %v, and the operator, which changes "+
				"it in place, has no kernel for that", a.Storage())
		case slices.Contains(iv.op.Ignores, place) && !iv.recorded():
			iv.in[i] = &Array{shape: a.shape, dtype: a.dtype}
		default:
			if iv.untaped {
				a = a.Detach()
				defer a.Close()
			}
			iv.in[i] = a.ToStorage(op.Dense)
			iv.stored.made = append(iv.stored.made, iv.in[i])
		}
	}
	iv.stored.any = false
	return nil
}
