package linalg

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
	impl "gonum.org/v1/gonum/lapack/gonum"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// Gelqf factors into a triangular and an orthonormal matrix, Syevd into eigenvectors and
// eigenvalues.
var (
	Gelqf     = op.Declare[op.NoParams]("_linalg_gelqf")
	Syevd     = op.Declare[op.NoParams]("_linalg_syevd")
	gelqfGrad = op.Declare[op.NoParams]("_backward_linalg_gelqf")
	syevdGrad = op.Declare[op.NoParams]("_backward_linalg_syevd")
)

func init() {
	Gelqf.Define(op.Spec[op.NoParams]{
		Traits: op.Traits{
			Doc: "LinalgGelqf computes the LQ factorization A = L·Q of each matrix (m, n), m ≤ " +
				"n, of a batch. The outputs are Q (m, n) with orthonormal rows and L (m, m), " +
				"lower triangular, with signs as LAPACK chooses them.",
			Aliases:   []string{"linalg_gelqf"},
			Multi:     true,
			Once:      "it is not provided",
			Precision: op.Wide,
		},
		Inputs:  inputs[op.NoParams]("A"),
		Outputs: outputs[op.NoParams]("output0", "output1"),
		Infer: func(_ op.NoParams, in, out []dtype.Shape) error {
			return inferLQ(&in[0], &out[0], &out[1])
		},
		InferType: realType[op.NoParams],
		Grad: func(g *op.Grad, p op.NoParams) []op.Entry {
			return []op.Entry{gelqfGrad.Apply(p, g.Head(0), g.Head(1), g.Out(0), g.Out(1))}
		},
		Ref: func(_ op.NoParams, c *op.Call) error {
			a, l := load(c.In[0]), like(c.Out[1])
			for i := range a.count {
				factorLQ(a.at(i), l.at(i))
			}
			a.store(c.Out[0])
			l.store(c.Out[1])
			return nil
		},
	})
	gelqfGrad.Define(op.Spec[op.NoParams]{
		Traits: op.Traits{Hidden: true, NoGrad: "the second derivative of LinalgGelqf is not " +
			"provided"},
		Inputs: inputs[op.NoParams]("q_grad", "l_grad", "q", "l"),
		Infer: func(_ op.NoParams, in, out []dtype.Shape) error {
			for range 2 {
				if err := inferLQ(&out[0], &in[0], &in[1]); err != nil {
					return err
				}
				if err := inferLQ(&out[0], &in[2], &in[3]); err != nil {
					return err
				}
			}
			return nil
		},
		InferType: realType[op.NoParams],
		Ref: func(_ op.NoParams, c *op.Call) error {
			dq, dl, q, l := load(c.In[0]), load(c.In[1]), load(c.In[2]), load(c.In[3])
			for i := range dq.count {
				factorLQGrad(dq.at(i), dl.at(i), q.at(i), l.at(i))
			}
			dq.store(c.Out[0])
			return nil
		},
	})
	defineSyevd()
}

func inferLQ(a, q, l *dtype.Shape) error {
	e := []int{-1, -1}
	if err := match([]operand{{"A", a, []int{0, 1}}, {"Q", q, []int{0, 1}}, {"L", l, []int{0, 0}}},
		e, nil); err != nil {
		return err
	}
	if e[0] != -1 && e[1] != -1 && e[0] > e[1] {
		return op.Errorf("A", "shape %v, want at least as many columns as rows", *a)
	}
	return nil
}

// factorLQ replaces a by Q and writes L.
func factorLQ(a, l matrix) {
	if len(a.data) == 0 {
		return
	}
	tau, work := make([]float64, a.rows), make([]float64, a.rows)
	impl.Implementation{}.Dgelqf(a.rows, a.cols, a.data, a.cols, tau, work, len(work))
	for i := range l.rows {
		copy(l.data[i*l.cols:][:i+1], a.data[i*a.cols:])
	}
	impl.Implementation{}.Dorglq(a.rows, a.cols, a.rows, a.data, a.cols, tau, work, len(work))
}

// factorLQGrad replaces dq by L⁻ᵀ·(dQ + S·Q), where S is symmetric with the lower triangle of Lᵀ·dL
// - dQ·Qᵀ (M. Seeger et al., Auto-differentiating linear algebra, 2017).
func factorLQGrad(dq, dl, q, l matrix) {
	s := l.mul(dl.lower(), true, false).add(dq.mul(q, false, true).scale(-1), false).mirror()
	dq.add(s.mul(q, false, false), false)
	l.solve(dq, false, true, false)
}

func defineSyevd() {
	Syevd.Define(op.Spec[op.NoParams]{
		Traits: op.Traits{
			Doc: "LinalgSyevd computes the eigenvectors and eigenvalues of each symmetric matrix " +
				"of a batch: A = Uᵀ·diag(L)·U. The outputs are U, whose rows are the vectors, " +
				"each with its largest element positive, and L in ascending order. Only the " +
				"lower triangle of A is read; its gradient is symmetric, and infinite where " +
				"eigenvalues are equal.",
			Aliases:   []string{"linalg_syevd"},
			Multi:     true,
			Once:      "it is not provided",
			Precision: op.Wide,
		},
		Inputs:  inputs[op.NoParams]("A"),
		Outputs: outputs[op.NoParams]("output0", "output1"),
		Infer: func(_ op.NoParams, in, out []dtype.Shape) error {
			return inferEigen(&in[0], &out[0], &out[1])
		},
		InferType: realType[op.NoParams],
		Grad: func(g *op.Grad, p op.NoParams) []op.Entry {
			return []op.Entry{syevdGrad.Apply(p, g.Head(0), g.Head(1), g.Out(0), g.Out(1))}
		},
		Ref: func(_ op.NoParams, c *op.Call) error {
			a := load(c.In[0])
			values := make([]float64, a.count*a.rows)
			for i := range a.count {
				if !eigen(a.at(i), values[i*a.rows:(i+1)*a.rows]) {
					return op.Errorf("A", "the eigenvalues of matrix %d do not converge", i)
				}
			}
			a.store(c.Out[0])
			if c.Out[1].Data != nil {
				loop.Store(c.Out[1], 0, values)
			}
			return nil
		},
	})
	syevdGrad.Define(op.Spec[op.NoParams]{
		Traits: op.Traits{Hidden: true, NoGrad: "the second derivative of LinalgSyevd is not " +
			"provided"},
		Inputs: inputs[op.NoParams]("u_grad", "l_grad", "u", "l"),
		Infer: func(_ op.NoParams, in, out []dtype.Shape) error {
			for range 2 {
				if err := inferEigen(&out[0], &in[0], &in[1]); err != nil {
					return err
				}
				if err := inferEigen(&out[0], &in[2], &in[3]); err != nil {
					return err
				}
			}
			return nil
		},
		InferType: realType[op.NoParams],
		Ref: func(_ op.NoParams, c *op.Call) error {
			du, dl, u, l := load(c.In[0]), loop.Floats(c.In[1]), load(c.In[2]), loop.Floats(c.In[3])
			for i := range du.count {
				from, to := i*du.rows, (i+1)*du.rows
				copy(du.at(i).data, eigenGrad(du.at(i), u.at(i), dl[from:to], l[from:to]).data)
			}
			du.store(c.Out[0])
			return nil
		},
	})
}

func inferEigen(a, u, l *dtype.Shape) error {
	return match([]operand{{"A", a, []int{0, 0}}, {"U", u, []int{0, 0}}, {"L", l, []int{0}}},
		[]int{-1}, nil)
}

// eigen replaces a by its eigenvectors, as rows, and writes the eigenvalues.
func eigen(a matrix, values []float64) bool {
	n := a.rows
	if n == 0 {
		return true
	}
	cols, work := a.clone(), make([]float64, 3*n)
	if !(impl.Implementation{}).Dsyev(lapack.EVCompute, blas.Lower, n, cols.data, n, values, work,
		len(work)) {
		return false
	}
	for i := range n {
		largest := 0
		for j := range n {
			a.set(i, j, cols.at(j, i))
			if math.Abs(a.at(i, j)) > math.Abs(a.at(i, largest)) {
				largest = j
			}
		}
		if a.at(i, largest) < 0 {
			for j := range n {
				a.set(i, j, -a.at(i, j))
			}
		}
	}
	return true
}

// minGap replaces the distance of equal eigenvalues in denominators.
const minGap = 0x1p-52

// eigenGrad computes Uᵀ·Y·U, where Y has dL on its diagonal, and off it the antisymmetric part of
// dU·Uᵀ divided by the distances of eigenvalues (M. Seeger et al., Auto-differentiating linear
// algebra, 2017).
func eigenGrad(du, u matrix, dl, l []float64) matrix {
	x, y := du.mul(u, false, true), newMatrix(u.rows, u.cols)
	for i := range u.rows {
		y.set(i, i, dl[i])
		for j := range i {
			v := (x.at(i, j) - x.at(j, i)) / (2 * max(l[i]-l[j], minGap))
			y.set(i, j, v)
			y.set(j, i, v)
		}
	}
	return u.mul(y, true, false).mul(u, false, false)
}
