package loop

import (
	"slices"
	"unsafe"

	"gomx/dtype"
	"gomx/op"
)

// ZipStored computes f of two sparse operands of one storage type, where f(0, 0) is 0. The output
// of row_sparse operands stores the rows that one of them stores. The output of csr operands stores
// the elements that one of them stores, both of them if common is set, unless f is zero there.
func ZipStored(f Func2, common bool, c *op.Call) error {
	if c.Out[0].Storage == op.CSR {
		zipElements(f, common, c)
	} else {
		zipRows(f, c)
	}
	return nil
}

// union merges the ascending lists a and b. Item i of the result is item ia[i] of a and ib[i] of b;
// -1 where a list does not have it.
func union(a, b []int64) (ia, ib []int32) {
	ia, ib = make([]int32, 0, len(a)+len(b)), make([]int32, 0, len(a)+len(b))
	for i, k := 0, 0; i < len(a) || k < len(b); {
		switch {
		case k == len(b) || i < len(a) && a[i] < b[k]:
			ia, ib = append(ia, int32(i)), append(ib, -1)
			i++
		case i == len(a) || b[k] < a[i]:
			ia, ib = append(ia, -1), append(ib, int32(k))
			k++
		default:
			ia, ib = append(ia, int32(i)), append(ib, int32(k))
			i++
			k++
		}
	}
	return ia, ib
}

// zipRows is ZipStored for row_sparse operands.
func zipRows(f Func2, c *op.Call) {
	a, b, out := c.In[0].Sparse, c.In[1].Sparse, c.Out[0].Sparse
	ia, ib := union(a.Indices, b.Indices)
	unionRows(out, a, b, ia, ib)
	row := out.Row()
	none := zeros(out.DType, row)
	x, y, z := a.Values(), b.Values(), out.Values()
	rowOf := func(t op.Tensor, i int32) op.Tensor {
		if i < 0 {
			return none
		}
		return Flat(t, int(i)*row, int(i+1)*row)
	}
	Split(c.Threads, len(ia), len(ia)*row, func(begin, end int) {
		for i := begin; i < end; i++ {
			Zip(f, rowOf(z, int32(i)), rowOf(x, ia[i]), rowOf(y, ib[i]))
		}
	})
}

// zeros returns a vector of n zeros.
func zeros(t dtype.Type, n int) op.Tensor {
	return op.Tensor{Desc: op.Plain(t, dtype.Shape{n}), Data: Room(t, n)}
}

// Room returns memory of the Go heap for n elements, which are zero.
func Room(t dtype.Type, n int) unsafe.Pointer {
	return unsafe.Pointer(unsafe.SliceData(make([]uint64, (n*t.Size()+7)/8)))
}

// zipElements is ZipStored for csr operands. It computes everything twice: first to count.
func zipElements(f Func2, common bool, c *op.Call) {
	if t := c.Out[0].DType; f.I != nil && Exact(t) {
		z := newElements(c, Ints, common, f.I)
		z.run(func(n int, values []int64) { StoreInt(c.Out[0].Sparse.Values(), n, values) })
		return
	}
	z := newElements(c, Floats, common, f.F)
	z.run(func(n int, values []float64) { Store(c.Out[0].Sparse.Values(), n, values) })
}

// elements joins two csr matrices.
type elements[T int64 | float64] struct {
	c      *op.Call
	f      func(x, y T) T
	x, y   []T // stored values of the operands
	common bool
}

func newElements[T int64 | float64](c *op.Call, read func(op.Tensor) []T, common bool,
	f func(x, y T) T) *elements[T] {
	return &elements[T]{c: c, f: f, x: read(c.In[0].Sparse.Values()),
		y: read(c.In[1].Sparse.Values()), common: common}
}

// run computes the output; store writes values from place n on.
func (z *elements[T]) run(store func(n int, values []T)) {
	out := z.c.Out[0].Sparse
	rows := out.Shape[0]
	work := len(z.x) + len(z.y)
	Split(z.c.Threads, rows, work, func(begin, end int) {
		for r := begin; r < end; r++ {
			n := int64(0)
			z.row(r, func(int64, T) { n++ })
			out.Starts[r+1] = n
		}
	})
	out.Starts[0] = 0
	for r := range rows {
		out.Starts[r+1] += out.Starts[r]
	}
	out.Room(int(out.Starts[rows]))
	Split(z.c.Threads, rows, work, func(begin, end int) {
		var values []T
		for r := begin; r < end; r++ {
			first := int(out.Starts[r])
			values = values[:0]
			z.row(r, func(column int64, v T) {
				out.Indices[first+len(values)] = column
				values = append(values, v)
			})
			store(first, values)
		}
	})
}

// row calls put for the elements of row r of the output.
func (z *elements[T]) row(r int, put func(column int64, v T)) {
	a, b := z.c.In[0].Sparse, z.c.In[1].Sparse
	i, k := a.Starts[r], b.Starts[r]
	for i < a.Starts[r+1] || k < b.Starts[r+1] {
		var x, y T
		column := int64(0)
		both := false
		switch {
		case k == b.Starts[r+1] || i < a.Starts[r+1] && a.Indices[i] < b.Indices[k]:
			x, column = z.x[i], a.Indices[i]
			i++
		case i == a.Starts[r+1] || b.Indices[k] < a.Indices[i]:
			y, column = z.y[k], b.Indices[k]
			k++
		default:
			x, y, column, both = z.x[i], z.y[k], a.Indices[i], true
			i++
			k++
		}
		if v := z.f(x, y); v != 0 && (both || !z.common) {
			put(column, v)
		}
	}
}

// ZipAt computes f of a sparse and a dense operand, in the order of the inputs, at the places that
// the sparse one stores: the output stores the same ones. The dense operand may broadcast.
func ZipAt(f Func2, c *op.Call) error {
	a, b, out := c.In[0], c.In[1], c.Out[0].Sparse
	s, dense := a.Sparse, b
	if s == nil {
		s, dense = b.Sparse, a
	}
	out.Structure(s)
	y := out.Values()
	Gather(y, s, dense, c.Threads)
	x, n := s.Values(), y.Shape.Size()
	Split(c.Threads, n, n, func(begin, end int) {
		x, y := Flat(x, begin, end), Flat(y, begin, end)
		if a.Sparse != nil {
			Zip(f, y, x, y)
		} else {
			Zip(f, y, y, x)
		}
	})
	return nil
}

// ZipDense computes f of a sparse and a dense operand, which may broadcast, everywhere. f(0, y) and
// f(x, 0) are cheap.
func ZipDense(f Func2, c *op.Call) error {
	a, b, out := c.In[0], c.In[1], c.Out[0]
	at := op.Call{In: c.In, Out: []op.Tensor{{Desc: out.Desc}}, Threads: c.Threads}
	s, dense, first := a.Sparse, b, true
	if s == nil {
		s, dense, first = b.Sparse, a, false
	}
	part := op.NewSparse(s.Storage, out.DType, s.Shape)
	at.Out[0].Sparse = part
	if err := ZipAt(f, &at); err != nil {
		return err
	}
	zero := zeros(out.DType, 1)
	if first {
		Zip(f, out, zero, dense)
	} else {
		Zip(f, out, dense, zero)
	}
	Scatter(out, part, part.Values(), c.Threads)
	return nil
}

// AddStored sums row_sparse operands: the output stores the rows that one of them stores, and adds
// the values of a row in the order of the operands.
func AddStored(c *op.Call) error {
	out := c.Out[0].Sparse
	if len(c.In) == 2 && out.DType == dtype.Float32 {
		addTwo(out, c.In[0].Sparse, c.In[1].Sparse, c.Threads)
		return nil
	}
	var all []int64
	var from []int32 // number of the operand that has a row of all
	for i, in := range c.In {
		all = append(all, in.Sparse.Indices...)
		from = append(from, slices.Repeat([]int32{int32(i)}, in.Sparse.N)...)
	}
	firsts := make([]int, len(c.In)) // place in all of the first row of an operand
	for i := range c.In[1:] {
		firsts[i+1] = firsts[i] + c.In[i].Sparse.N
	}
	g := GroupBy(all)
	out.Room(len(g.Keys))
	copy(out.Indices, g.Keys)
	row, y := out.Row(), out.Values()
	rowOf := func(at int32) op.Tensor {
		k := int(at) - firsts[from[at]]
		return Flat(c.In[from[at]].Sparse.Values(), k*row, (k+1)*row)
	}
	Split(c.Threads, len(g.Keys), len(all)*row, func(begin, end int) {
		for i := begin; i < end; i++ {
			to, group := Flat(y, i*row, (i+1)*row), g.Places(i)
			copy(raw(to, 0, row), raw(rowOf(group[0]), 0, row))
			for _, at := range group[1:] {
				Accumulate(to, rowOf(at))
			}
		}
	})
	return nil
}

// addTwo adds two row_sparse operands of float32.
func addTwo(out, a, b *op.Sparse, threads int) {
	ia, ib := union(a.Indices, b.Indices)
	unionRows(out, a, b, ia, ib)
	n := out.Row()
	addRows(out.Values().Data, a.Values().Data, ia, b.Values().Data, ib, n,
		Parts(threads, len(ia)*n))
}

// unionRows gives out the rows of a and b that union has found.
func unionRows(out, a, b *op.Sparse, ia, ib []int32) {
	out.Room(len(ia))
	for i := range ia {
		if ia[i] >= 0 {
			out.Indices[i] = a.Indices[ia[i]]
		} else {
			out.Indices[i] = b.Indices[ib[i]]
		}
	}
}

// AddRun adds n elements of src, from offset from on, to the elements of dst from offset to on.
func AddRun(dst op.Tensor, to int, src op.Tensor, from, n int) {
	switch dst.DType {
	case dtype.Float32:
		accumulate(op.Slice[float32](dst)[to:to+n], op.Slice[float32](src)[from:from+n])
	case dtype.Float64:
		accumulate(op.Slice[float64](dst)[to:to+n], op.Slice[float64](src)[from:from+n])
	default:
		Accumulate(Flat(dst, to, to+n), Flat(src, from, from+n))
	}
}

// Accumulate adds the elements of t to the elements of sum, which has the same element type and
// size.
func Accumulate(sum, t op.Tensor) {
	switch sum.DType {
	case dtype.Float32:
		accumulate(op.Slice[float32](sum), op.Slice[float32](t))
	case dtype.Float64:
		accumulate(op.Slice[float64](sum), op.Slice[float64](t))
	default:
		Zip(Func2{F: func(x, y float64) float64 { return x + y },
			I: func(x, y int64) int64 { return x + y }}, sum, sum, t)
	}
}

func accumulate[T float32 | float64](sum, t []T) {
	t = t[:len(sum)]
	for i, v := range t {
		sum[i] += v
	}
}
