package prim

import (
	"slices"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// storeSums gives Sum and Mean their rule and kernel for csr matrices, and Sum those for all
// elements of row_sparse arrays.
func (r reduction) storeSums(s *op.Spec[ReduceParams]) {
	if r.op != Sum && r.op != Mean {
		return
	}
	s.Storage = func(p ReduceParams, in []op.Storage) ([]op.Storage, bool) {
		all := r.op == Sum && len(p.Axis) == 0 && !p.Exclude
		return []op.Storage{op.Dense}, in[0] != op.RowSparse || all
	}
	s.Sparse = func(p ReduceParams, c *op.Call) error {
		if c.In[0].Storage == op.RowSparse {
			return r.fold.run(p, c.Out[0], c.In[0].Sparse.Values())
		}
		return r.fold.runElements(p, c)
	}
}

// runElements is run for a csr matrix, for folds to which zeros add nothing.
func (f fold) runElements(p ReduceParams, c *op.Call) error {
	in, out := c.In[0].Sparse, c.Out[0]
	mask, err := p.reduced(2)
	if err != nil {
		return err
	}
	place := func(row, column int) int { return 0 }
	count := in.Shape.Size() / max(out.Shape.Size(), 1)
	switch {
	case !mask[0] && !mask[1]:
		loop.ToDense(op.Tensor{Desc: op.Plain(out.DType, in.Shape), Data: out.Data}, in, c.Threads)
		return nil
	case mask[0] && !mask[1]:
		place = func(_, column int) int { return column }
	case mask[1] && !mask[0]:
		place = func(row, _ int) int { return row }
	}
	if loop.Exact(in.DType) {
		acc := make([]int64, out.Shape.Size())
		sumElements(in, acc, loop.Ints(in.Values()), place)
		if f.mean {
			for k := range acc {
				acc[k] = divInt(acc[k], int64(count))
			}
		}
		loop.StoreInt(out, 0, acc)
		return nil
	}
	acc := make([]float64, out.Shape.Size())
	sumElements(in, acc, loop.Floats(in.Values()), place)
	if f.mean {
		for k := range acc {
			acc[k] /= float64(count)
		}
	}
	loop.Store(out, 0, acc)
	return nil
}

// sumElements adds the elements of a csr matrix to the places of acc, row by row.
func sumElements[T int64 | float64](in *op.Sparse, acc, values []T,
	place func(row, column int) int) {
	for r := range in.Shape[0] {
		for i := in.Starts[r]; i < in.Starts[r+1]; i++ {
			acc[place(r, int(in.Indices[i]))] += values[i]
		}
	}
}

// normStorage serves norms of all elements.
func normStorage(p NormParams, in []op.Storage) ([]op.Storage, bool) {
	return []op.Storage{op.Dense}, in[0] == op.Dense || len(p.Axis) == 0
}

// normStored is the norm of all elements of a sparse array: of those that it stores.
func normStored(p NormParams, c *op.Call) error {
	return norm(p, &op.Call{In: []op.Tensor{c.In[0].Sparse.Values()}, Out: c.Out})
}

// SquareSumParams are the parameters of SquareSum.
type SquareSumParams struct {
	Axis     []int `op:"axis" doc:"axes to reduce; none: all"`
	KeepDims bool  `op:"keepdims" doc:"keep reduced axes with extent one"`
	Exclude  bool  `op:"exclude" doc:"reduce all axes but those given"`
}

// SquareSum sums squares.
var (
	SquareSum     = op.Declare[SquareSumParams]("_square_sum")
	squareSumGrad = op.Declare[SquareSumParams]("_backward_square_sum")
)

func init() {
	SquareSum.Define(op.Spec[SquareSumParams]{
		Traits: op.Traits{
			Doc: "SquareSum computes the sum of squares over the given axes, over all of them if " +
				"none are given. Of a row_sparse matrix it keeps the rows apart without making " +
				"it dense: with axis 1 and keepdims the result is row_sparse.",
			GoName:    "SquareSum",
			Precision: op.Wide,
		},
		Infer: func(p SquareSumParams, in, out []dtype.Shape) error {
			return inferReduce(ReduceParams(p), in, out)
		},
		Grad: func(g *op.Grad, p SquareSumParams) []op.Entry {
			return []op.Entry{squareSumGrad.Apply(p, g.Head(0), g.In(0))}
		},
		FLOPs: op.PerInput[SquareSumParams],
		Ref: func(p SquareSumParams, c *op.Call) error {
			return squares.run(ReduceParams(p), c.Out[0], c.In[0])
		},
		Storage: squareSumStorage,
		Sparse:  squareSumStored,
		GradStorage: func(_ SquareSumParams, in, _ []op.Storage) []op.Storage {
			return in
		},
	})
	squareSumGrad.Define(op.Spec[SquareSumParams]{
		Traits: op.Traits{Hidden: true},
		Inputs: Inputs[SquareSumParams]("grad", "data"),
		Infer: func(p SquareSumParams, in, out []dtype.Shape) error {
			if err := inferReduce(ReduceParams(p), in[1:], in[:1]); err != nil {
				return err
			}
			return eachLike(in[1:], out)
		},
		Grad: func(g *op.Grad, p SquareSumParams) []op.Entry {
			e := expandParams{Axis: p.Axis, KeepDims: p.KeepDims, Exclude: p.Exclude}
			h := scale(g.Head(0), 2)
			return []op.Entry{Sum.Apply(ReduceParams(p), mul(h, g.In(1))),
				mul(h, expand(e, g.In(0), g.In(1)))}
		},
		Ref: func(p SquareSumParams, c *op.Call) error {
			e := expandParams{Axis: p.Axis, KeepDims: p.KeepDims, Exclude: p.Exclude}
			if err := expandRef(e, c); err != nil {
				return err
			}
			loop.Zip(twice, c.Out[0], c.Out[0], c.In[1])
			return nil
		},
		Storage: func(p SquareSumParams, in []op.Storage) ([]op.Storage, bool) {
			axis, ok := p.matrixAxis()
			return in[1:], in[1] == op.RowSparse && ok && (in[0] == op.Dense || axis == 1 &&
				in[0] == op.RowSparse) || op.AllDense(in)
		},
		Sparse: squareSumBack,
	})
}

// squares folds squares; twice is the derivative of a square times the gradient.
var (
	squares = fold{f: func(acc, x float64) float64 { return acc + x*x },
		i: func(acc, x int64) int64 { return acc + x*x }}
	twice = loop.Func2{F: func(dy, x float64) float64 { return 2 * dy * x },
		I: func(dy, x int64) int64 { return 2 * dy * x }}
)

// matrixAxis returns the one axis of a matrix that is reduced; ok is false for other reductions.
func (p SquareSumParams) matrixAxis() (axis int, ok bool) {
	mask, err := ReduceParams(p).reduced(2)
	if err != nil || mask[0] == mask[1] {
		return 0, false
	}
	if mask[1] {
		axis = 1
	}
	return axis, true
}

func squareSumStorage(p SquareSumParams, in []op.Storage) ([]op.Storage, bool) {
	axis, ok := p.matrixAxis()
	switch {
	case in[0] != op.RowSparse || !ok:
		return []op.Storage{op.Dense}, in[0] == op.Dense
	case axis == 1 && p.KeepDims:
		return []op.Storage{op.RowSparse}, true
	}
	return []op.Storage{op.Dense}, true
}

// squareSumStored is the kernel for row_sparse matrices.
func squareSumStored(p SquareSumParams, c *op.Call) error {
	in, out := c.In[0].Sparse, c.Out[0]
	if err := matrixOnly(in); err != nil {
		return err
	}
	axis, _ := p.matrixAxis()
	if axis == 0 {
		return squares.run(ReduceParams{Axis: []int{0}, KeepDims: p.KeepDims}, out, in.Values())
	}
	sums := op.Tensor{Desc: op.Plain(out.DType, dtype.Shape{in.N}), Data: loop.Room(out.DType, in.N)}
	if in.DType == dtype.Float32 {
		squareRows(op.Slice[float32](sums), op.Slice[float32](in.Values()), in.Row(), c.Threads)
	} else if err := squares.run(ReduceParams{Axis: []int{1}}, sums, in.Values()); err != nil {
		return err
	}
	if out.Sparse != nil {
		out.Sparse.Room(in.N)
		copy(out.Sparse.Indices, in.Indices)
		loop.Move(out.Sparse.Values(), sums)
		return nil
	}
	part := op.NewSparse(op.RowSparse, out.DType, dtype.Shape{in.Shape[0], 1})
	part.Room(in.N)
	copy(part.Indices, in.Indices)
	column := op.Tensor{Desc: op.Plain(out.DType, part.Shape), Data: out.Data}
	loop.Move(part.Values(), sums)
	loop.ToDense(column, part, c.Threads)
	return nil
}

// squareRows computes the sum of the squares of each row of n elements, as squares does.
func squareRows(dst, src []float32, n, threads int) {
	loop.Split(threads, len(dst), len(src), func(begin, end int) {
		for i := begin; i < end; i++ {
			sum := 0.0
			for _, v := range src[i*n : (i+1)*n] {
				sum += float64(v) * float64(v)
			}
			dst[i] = float32(sum)
		}
	})
}

// scaleRows multiplies each row of n elements by a number, times two, as twice does.
func scaleRows(dst, by, src []float32, n, threads int) {
	loop.Split(threads, len(by), len(src), func(begin, end int) {
		for i := begin; i < end; i++ {
			f := 2 * float64(by[i])
			row := src[i*n : (i+1)*n]
			to := dst[i*n : (i+1)*n][:len(row)]
			for k, v := range row {
				to[k] = float32(f * float64(v))
			}
		}
	})
}

// matrixOnly returns an error for content of another rank.
func matrixOnly(s *op.Sparse) error {
	if len(s.Shape) != 2 {
		return op.Errorf("data", "row_sparse of shape %v, want two axes", s.Shape)
	}
	return nil
}

// squareSumBack is the gradient of the kernel for row_sparse matrices: it stores the rows of data,
// or those of a row_sparse gradient of the output.
func squareSumBack(p SquareSumParams, c *op.Call) error {
	head, in, out := c.In[0], c.In[1].Sparse, c.Out[0].Sparse
	if err := matrixOnly(in); err != nil {
		return err
	}
	if head.Sparse != nil && in.DType == dtype.Float32 && slices.Equal(head.Sparse.Indices,
		in.Indices) {
		out.Structure(in)
		scaleRows(op.Slice[float32](out.Values()), op.Slice[float32](head.Sparse.Values()),
			op.Slice[float32](in.Values()), in.Row(), c.Threads)
		return nil
	}
	if head.Sparse != nil {
		rows := op.NewSparse(op.RowSparse, in.DType, in.Shape)
		rows.Structure(head.Sparse)
		loop.Retain(rows, in, c.Threads)
		out.Structure(head.Sparse)
		loop.Zip(twice, out.Values(), head.Sparse.Values(), rows.Values())
		return nil
	}
	out.Structure(in)
	values := out.Values()
	if axis, _ := p.matrixAxis(); axis == 0 {
		head.Desc = op.Plain(head.DType, dtype.Shape{1, in.Shape[1]})
		loop.Zip(twice, values, head, in.Values())
		return nil
	}
	heads := op.NewSparse(op.RowSparse, out.DType, dtype.Shape{in.Shape[0], 1})
	heads.Room(in.N)
	copy(heads.Indices, in.Indices)
	loop.Gather(heads.Values(), heads, head, c.Threads)
	loop.Zip(twice, values, heads.Values(), in.Values())
	return nil
}
