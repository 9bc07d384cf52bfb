package prim

import (
	"slices"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// dotStorage serves the products of MXNet:
//
//	csr · default, csr · row_sparse → default
//	csrᵀ · default → row_sparse, or default if forward_stype says so
//	csrᵀ · row_sparse → row_sparse
//	default · csr, default · csrᵀ → csr, or default if forward_stype says so
//
// Another storage type that forward_stype names is given to the product, which is computed densely.
func dotStorage(p DotParams, in []op.Storage) ([]op.Storage, bool) {
	natural, served := dotServed(p, in[0], in[1])
	want := natural
	if p.ForwardStype != "None" {
		want, _ = op.ParseStorage(p.ForwardStype)
	}
	return []op.Storage{want}, served || want != op.Dense
}

// dotServed returns the storage type that a product has by itself; ok is false for operands that
// are made dense.
func dotServed(p DotParams, lhs, rhs op.Storage) (natural op.Storage, ok bool) {
	switch {
	case lhs == op.Dense && rhs == op.Dense:
	case lhs == op.CSR && rhs != op.CSR && !p.TransposeB:
		if p.TransposeA {
			natural = op.RowSparse
		}
	case lhs == op.Dense && rhs == op.CSR && !p.TransposeA:
		natural = op.CSR
	default:
		return op.Dense, false
	}
	return natural, true
}

// dotDensely computes a product with dense copies of sparse operands, and converts it to the storage
// type of the output.
func dotDensely(p DotParams, c *op.Call) error {
	op.Notice("dot computes a %v product of %v and %v arrays with dense copies", c.Out[0].Storage,
		c.In[0].Storage, c.In[1].Storage)
	dense := op.Call{In: slices.Clone(c.In), Out: []op.Tensor{loop.Blank(c.Out[0])},
		Threads: c.Threads}
	for i, t := range c.In {
		dense.In[i] = loop.DenseOf(t, c.Threads)
	}
	if err := dot(p, &dense); err != nil {
		return err
	}
	return castStorage(CastStorageParams{}, &op.Call{In: dense.Out, Out: c.Out,
		Threads: c.Threads})
}

// dotGradStorage gives the gradient of a matrix that a csr matrix is multiplied by the storage type
// that its product has.
func dotGradStorage(p DotParams, in, _ []op.Storage) []op.Storage {
	out := make([]op.Storage, 2)
	if in[0] == op.CSR && in[1] != op.CSR && !p.TransposeA && !p.TransposeB {
		out[1] = op.RowSparse
	}
	return out
}

// dotGradStored is the gradient of a product with a sparse operand. It is made of products that
// never build a dense matrix of the shape of a csr operand unless the gradient of that is wanted.
func dotGradStored(g *op.Grad, p DotParams) []op.Entry {
	in := make([]op.Entry, 2)
	a, b, dy := g.In(0), g.In(1), g.Head(0)
	product := func(x, y op.Entry, tx, ty bool, stype op.Storage) op.Entry {
		hint := stype.String()
		if stype == op.CSR {
			hint = "None"
		}
		return Dot.Apply(DotParams{TransposeA: tx, TransposeB: ty, ForwardStype: hint}, x, y)
	}
	if g.Need == nil || g.Need[0] {
		if in[0] = product(dy, b, false, !p.TransposeB, op.Dense); p.TransposeA {
			in[0] = product(b, dy, p.TransposeB, true, op.Dense)
		}
	}
	if g.Need == nil || g.Need[1] {
		stored := op.Dense
		if g.Stored(0) == op.CSR && !p.TransposeA && !p.TransposeB {
			stored = op.RowSparse
		}
		if in[1] = product(a, dy, !p.TransposeA, false, stored); p.TransposeB {
			in[1] = product(dy, a, true, p.TransposeA, op.Dense)
		}
	}
	return in
}

// dotStored is the kernel of products with a sparse operand.
func dotStored(p DotParams, c *op.Call) error {
	natural, ok := dotServed(p, c.In[0].Storage, c.In[1].Storage)
	if out := c.Out[0].Storage; !ok || out != natural && out != op.Dense {
		return dotDensely(p, c)
	}
	switch c.Out[0].DType {
	case dtype.Float32:
		if c.In[0].Sparse != nil && timesRows(p, c) {
			return nil
		}
		return product[float32]{p, c, op.Slice[float32], nil}.run()
	case dtype.Float64:
		return product[float64]{p, c, op.Slice[float64], nil}.run()
	}
	if loop.Exact(c.Out[0].DType) {
		return product[int64]{p, c, loop.Ints, loop.StoreInt}.run()
	}
	return product[float64]{p, c, loop.Floats, loop.Store}.run()
}

// product is one product of matrices with a sparse operand, computed with numbers of type T.
type product[T float32 | float64 | int64] struct {
	p     DotParams
	c     *op.Call
	read  func(t op.Tensor) []T
	write func(t op.Tensor, off int, values []T) // nil: read returns the memory itself
}

func (d product[T]) run() error {
	lhs, rhs, out := d.c.In[0], d.c.In[1], d.c.Out[0]
	switch {
	case lhs.Sparse != nil && !d.p.TransposeA:
		n := rhs.Shape[1:].Size()
		d.finish(out, d.rowsTimes(lhs.Sparse, rhs, n, d.room(out)))
	case lhs.Sparse != nil:
		n := rhs.Shape[1:].Size()
		by := columns(lhs.Sparse, rhs.Sparse)
		if out.Sparse != nil {
			out.Sparse.Room(len(by.Keys))
			copy(out.Sparse.Indices, by.Keys)
			values := out.Sparse.Values()
			d.finish(values, d.columnsTimes(by, lhs.Sparse, rhs, n, d.room(values), nil))
			return nil
		}
		sums := d.room(out)
		clear(sums)
		d.finish(out, d.columnsTimes(by, lhs.Sparse, rhs, n, sums, by.Keys))
	default:
		d.denseTimes(lhs, rhs.Sparse, out)
	}
	return nil
}

// room returns the elements to compute the values of t in.
func (d product[T]) room(t op.Tensor) []T {
	if d.write == nil {
		return d.read(t)
	}
	return make([]T, t.Shape.Size())
}

// finish stores computed values that do not lie in t itself.
func (d product[T]) finish(t op.Tensor, values []T) {
	if d.write != nil {
		d.write(t, 0, values)
	}
}

// rowsTimes computes a · rhs into sums, row by row.
func (d product[T]) rowsTimes(a *op.Sparse, rhs op.Tensor, n int, sums []T) []T {
	x := d.read(a.Values())
	var y []T
	if rhs.Sparse != nil {
		y = d.read(rhs.Sparse.Values())
	} else {
		y = d.read(rhs)
	}
	loop.Split(d.c.Threads, a.Shape[0], a.N*n+len(sums), func(begin, end int) {
		for r := begin; r < end; r++ {
			sum := sums[r*n : (r+1)*n]
			clear(sum)
			from := 0
			for i := a.Starts[r]; i < a.Starts[r+1]; i++ {
				k := int(a.Indices[i])
				if rhs.Sparse != nil {
					from += loop.Search(rhs.Sparse.Indices[from:], int64(k))
					if from == rhs.Sparse.N {
						break
					}
					if rhs.Sparse.Indices[from] != int64(k) {
						continue
					}
					k = from
				}
				addTimes(sum, x[i], y[k*n:(k+1)*n])
			}
		}
	})
	return sums
}

// addTimes adds v · row to sum.
func addTimes[T float32 | float64 | int64](sum []T, v T, row []T) {
	row = row[:len(sum)]
	for k, w := range row {
		sum[k] += v * w
	}
}

// timesRows computes products of a csr matrix, float32, by sums of rows. It returns false where the
// other operand is row_sparse and does not store all rows that it might have to.
func timesRows(p DotParams, c *op.Call) bool {
	a, rhs, out := c.In[0].Sparse, c.In[1], c.Out[0]
	source := rhs
	if rhs.Sparse != nil {
		source = rhs.Sparse.Values()
	}
	r := loop.RowSums{N: rhs.Shape[1:].Size(), Starts: a.Starts, At: a.Indices,
		Factor: op.Slice[float32](a.Values())}
	if !p.TransposeA {
		if rhs.Sparse != nil && rhs.Sparse.N < rhs.Shape[0] {
			if r.At = storedAt(a, rhs.Sparse); r.At == nil {
				return false
			}
		}
		if r.N == 1 {
			sumProducts(op.Slice[float32](out), op.Slice[float32](source), r, c.Threads)
			return true
		}
		loop.SumRows(out, source, r, c.Threads)
		return true
	}
	if r.N == 1 && out.Sparse != nil && rhs.Sparse == nil && loop.Parts(c.Threads, a.N) == 1 {
		spreadProducts(out.Sparse, a, op.Slice[float32](rhs))
		return true
	}
	all := rhs.Sparse == nil || rhs.Sparse.N == rhs.Shape[0]
	if all && r.N > 1 && loop.SumColumns(out, a, source, r.N, c.Threads) {
		return true
	}
	by := columns(a, rhs.Sparse)
	r.Starts, r.Order, r.At = by.Starts, by.Order, by.rows
	if by.elements != nil {
		factor := make([]float32, len(by.elements))
		for i, k := range by.elements {
			factor[i] = r.Factor[k]
		}
		r.Factor = factor
	}
	if out.Sparse != nil {
		out.Sparse.Room(len(by.Keys))
		copy(out.Sparse.Indices, by.Keys)
		out = out.Sparse.Values()
	} else {
		loop.Clear(out)
		r.To = by.Keys
	}
	loop.SumRows(out, source, r, c.Threads)
	return true
}

// sumProducts is loop.SumRows for rows of one element, in the order of r.At.
func sumProducts(dst, src []float32, r loop.RowSums, threads int) {
	loop.Split(threads, len(dst), len(r.At), func(begin, end int) {
		for g := begin; g < end; g++ {
			at := r.At[r.Starts[g]:r.Starts[g+1]]
			factor := r.Factor[r.Starts[g]:r.Starts[g+1]][:len(at)]
			sum := float32(0)
			for i, k := range at {
				sum += float32(factor[i] * src[k])
			}
			dst[g] = sum
		}
	})
}

// spreadProducts computes aᵀ · dy for a vector dy: it adds to the sum of each column in the order of
// the rows, as loop.SumRows does.
func spreadProducts(out, a *op.Sparse, dy []float32) {
	c := loop.ColumnsOf(a)
	out.Room(len(c.Keys))
	copy(out.Indices, c.Keys)
	sums, x := op.Slice[float32](out.Values()), op.Slice[float32](a.Values())
	clear(sums)
	for r, v := range dy {
		at := c.At[a.Starts[r]:a.Starts[r+1]]
		row := x[a.Starts[r]:a.Starts[r+1]][:len(at)]
		for i, k := range at {
			sums[k] += float32(row[i] * v)
		}
	}
}

// storedAt returns the place of the row of rhs that each element of a is multiplied by, nil if one of
// these rows is not stored.
func storedAt(a, rhs *op.Sparse) []int64 {
	c := loop.ColumnsOf(a)
	if slices.Equal(c.Keys, rhs.Indices) {
		return c.At
	}
	places, from := make([]int64, len(c.Keys)), 0
	for k, column := range c.Keys {
		from += loop.Search(rhs.Indices[from:], column)
		if from == rhs.N || rhs.Indices[from] != column {
			return nil
		}
		places[k] = int64(from)
	}
	at := make([]int64, a.N)
	for i, k := range c.At {
		at[i] = places[k]
	}
	return at
}

// byColumn are the stored elements of a csr matrix by column: item i of the groups is element
// elements[i], or i where elements is nil. rows[i] is its row, or the number of the stored row of
// the other operand that belongs to it.
type byColumn struct {
	loop.Groups
	elements, rows []int64
}

// columns groups the stored elements of a by column; elements whose row other, if it is given, does
// not store are left out.
func columns(a, other *op.Sparse) (by byColumn) {
	if other == nil || other.N == other.Shape[0] {
		by.rows, by.Groups = loop.ElementsOf(a)
		return by
	}
	list := []int64{}
	by.elements = []int64{}
	for k, r := range other.Indices {
		for i := a.Starts[r]; i < a.Starts[r+1]; i++ {
			list, by.elements = append(list, a.Indices[i]), append(by.elements, i)
			by.rows = append(by.rows, int64(k))
		}
	}
	by.Groups = loop.GroupBy(list)
	return by
}

// columnsTimes computes the rows of aᵀ · rhs that belong to the groups of columns into sums: row i
// of it for group i, or row rows[i].
func (d product[T]) columnsTimes(by byColumn, a *op.Sparse, rhs op.Tensor, n int, sums []T,
	rows []int64) []T {
	x := d.read(a.Values())
	var y []T
	if rhs.Sparse != nil {
		y = d.read(rhs.Sparse.Values())
	} else {
		y = d.read(rhs)
	}
	loop.Split(d.c.Threads, len(by.Keys), a.N*n, func(begin, end int) {
		for i := begin; i < end; i++ {
			r := i
			if rows != nil {
				r = int(rows[i])
			}
			sum := sums[r*n : (r+1)*n]
			clear(sum)
			for _, item := range by.Places(i) {
				k, element := int(by.rows[item]), int64(item)
				if by.elements != nil {
					element = by.elements[item]
				}
				addTimes(sum, x[element], y[k*n:(k+1)*n])
			}
		}
	})
	return sums
}

// denseTimes computes lhs · a, or lhs · aᵀ. All rows of a csr product store the same columns: those
// that a row of a, or an element of it, can reach.
func (d product[T]) denseTimes(lhs op.Tensor, a *op.Sparse, out op.Tensor) {
	rows := a.Shape[0]
	if d.p.TransposeB {
		rows = a.Shape[1]
	}
	m := lhs.Shape.Size() / max(rows, 1)
	l := d.read(lhs)
	sums := make([]T, m*out.Shape[len(out.Shape)-1])
	columns := len(sums) / max(m, 1)
	if d.write == nil && out.Sparse == nil {
		sums = d.read(out)
		clear(sums)
	}
	x := d.read(a.Values())
	loop.Split(d.c.Threads, m, m*a.N+len(sums), func(begin, end int) {
		for i := begin; i < end; i++ {
			from, to := l[i*rows:(i+1)*rows], sums[i*columns:(i+1)*columns]
			for r := range a.Shape[0] {
				for k := a.Starts[r]; k < a.Starts[r+1]; k++ {
					if d.p.TransposeB {
						to[r] += from[a.Indices[k]] * x[k]
					} else {
						to[a.Indices[k]] += from[r] * x[k]
					}
				}
			}
		}
	})
	if out.Sparse == nil {
		d.finish(out, sums)
		return
	}
	reached := d.reached(a)
	s := out.Sparse
	s.Room(m * len(reached))
	values := make([]T, s.N)
	for i := range m {
		s.Starts[i+1] = int64((i + 1) * len(reached))
		for k, column := range reached {
			s.Indices[i*len(reached)+k] = column
			values[i*len(reached)+k] = sums[i*columns+int(column)]
		}
	}
	s.Starts[0] = 0
	if d.write != nil {
		d.write(s.Values(), 0, values)
	} else {
		copy(d.read(s.Values()), values)
	}
}

// reached lists the columns of a product with a, or with aᵀ, that a stored element of a
// contributes to.
func (d product[T]) reached(a *op.Sparse) []int64 {
	if !d.p.TransposeB {
		return loop.GroupBy(a.Indices).Keys
	}
	var list []int64
	for r := range a.Shape[0] {
		if a.Starts[r] < a.Starts[r+1] {
			list = append(list, int64(r))
		}
	}
	return list
}
