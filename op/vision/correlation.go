package vision

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/prim"
)

// CorrelationParams configures Correlation.
type CorrelationParams struct {
	KernelSize      int         `op:"kernel_size" default:"1" min:"1" doc:"height and width of the patches that are compared, an odd number"`
	MaxDisplacement op.Opt[int] `op:"max_displacement" default:"1" min:"0" doc:"largest distance of the patches along an axis"`
	Stride1         int         `op:"stride1" default:"1" min:"1" doc:"distance of neighbouring patches of data1"`
	Stride2         int         `op:"stride2" default:"1" min:"1" doc:"distance of neighbouring patches of data2"`
	PadSize         int         `op:"pad_size" min:"0" doc:"zeros added on all sides"`
	Difference      bool        `op:"is_multiply,not" doc:"multiply elements, not add up the sizes of their differences"`
}

// Correlation and its gradient.
var (
	Correlation     = op.Declare[CorrelationParams]("Correlation")
	correlationGrad = op.Declare[CorrelationParams]("_backward_Correlation")
)

func init() {
	Correlation.Define(op.Spec[CorrelationParams]{
		Traits: op.Traits{
			Doc: `Correlation compares patches of two feature maps (Fischer et al. 2015).

Data1 and data2 have shape (n, c, h, w). For d = max_displacement/stride2 the output has (2·d+1)²
channels. Channel (i·(2·d+1) + j) compares every patch of data1 with the patch of data2 that is
(i-d)·stride2 rows further down and (j-d)·stride2 columns further right: it holds the mean of the
products of their elements or, with is_multiply=False, of the sizes of their differences. Patches
begin max_displacement rows and columns within the padded data.`,
			Once: "MXNet has no second derivative either",
			Kind: op.Product,
		},
		Inputs:    prim.Inputs[CorrelationParams]("data1", "data2"),
		Infer:     inferCorrelation,
		InferType: op.FloatType[CorrelationParams],
		Grad: func(g *op.Grad, p CorrelationParams) []op.Entry {
			return g.Each(correlationGrad.Node(p, g.Head(0), g.In(0), g.In(1)))
		},
		FLOPs: func(p CorrelationParams, in, out []dtype.Shape) int64 {
			return 2 * int64(out[0].Size()) * int64(p.KernelSize*p.KernelSize*in[0][1])
		},
		Ref: inType(correlate[float32], correlate[float64]),
	})
	correlationGrad.Define(op.Spec[CorrelationParams]{
		Traits: op.Traits{Hidden: true,
			NoGrad: "the second derivative of Correlation is not provided"},
		Inputs:  prim.Inputs[CorrelationParams]("out_grad", "data1", "data2"),
		Outputs: func(CorrelationParams) []string { return []string{"data1", "data2"} },
		Infer: func(p CorrelationParams, in, out []dtype.Shape) error {
			for i := range out {
				if err := op.Same("gradient", &in[1+i], &out[i]); err != nil {
					return err
				}
			}
			if err := inferCorrelation(p, in[1:], in[:1]); err != nil {
				return err
			}
			out[0], out[1] = in[1].Clone(), in[2].Clone()
			return nil
		},
		InferType: op.FloatType[CorrelationParams],
		FLOPs: func(p CorrelationParams, in, out []dtype.Shape) int64 {
			return 4 * int64(in[0].Size()) * int64(p.KernelSize*p.KernelSize*in[1][1])
		},
		Ref: inType(correlateBack[float32], correlateBack[float64]),
	})
}

func inferCorrelation(p CorrelationParams, in, out []dtype.Shape) error {
	if p.KernelSize%2 == 0 {
		return op.Errorf("kernel_size", "%d, want an odd number", p.KernelSize)
	}
	if err := op.Require("data1", &in[0], featureMap()); err != nil {
		return err
	}
	if err := op.Same("data2", &in[0], &in[1]); err != nil {
		return err
	}
	side := 2*p.radius() + 1
	want := dtype.Shape{in[0][0], side * side, -1, -1}
	for a := 2; a < 4; a++ {
		n := in[0][a]
		if n == -1 {
			continue
		}
		// The border is the part of the padded data in which no patch begins.
		room := n + 2*p.PadSize - 2*(p.MaxDisplacement.Value()+p.KernelSize/2)
		if want[a] = (room + p.Stride1 - 1) / p.Stride1; room < 1 {
			return op.Errorf("data1", "shape %v, too small for patches of %d elements at a "+
				"distance of %d with %d zeros at the sides", in[0], p.KernelSize,
				p.MaxDisplacement.Value(), p.PadSize)
		}
	}
	if err := op.Require("output", &out[0], want); err != nil {
		return err
	}
	in[0][0], in[1][0] = out[0][0], out[0][0]
	return nil
}

// radius returns the largest number of steps that a patch of data2 is away from the patch of data1.
func (p CorrelationParams) radius() int { return p.MaxDisplacement.Value() / p.Stride2 }

// comparer enumerates the elements that outputs compare. Its planes are data with zeros around.
type comparer struct {
	CorrelationParams
	channels, h, w int // of data
	ph, pw, oh, ow int // extents of padded planes and of the output
	side           int // displacements along an axis
}

func newComparer(p CorrelationParams, data, out dtype.Shape) *comparer {
	return &comparer{p, data[1], data[2], data[3], data[2] + 2*p.PadSize, data[3] + 2*p.PadSize,
		out[2], out[3], 2*p.radius() + 1}
}

// pad returns planes with zeros around.
func pad[T float](m *comparer, x []T) []T {
	planes := len(x) / max(1, m.h*m.w)
	padded := make([]T, planes*m.ph*m.pw)
	padOver(m, padded, x)
	return padded
}

// padOver overwrites padded with planes and the zeros around.
func padOver[T float](m *comparer, padded, x []T) {
	clear(padded)
	m.rows(len(x)/max(1, m.h*m.w), func(at, in int) { copy(padded[in:in+m.w], x[at:]) })
}

// cut copies the inner elements of padded planes.
func cut[T float](m *comparer, x, padded []T) {
	m.rows(len(x)/max(1, m.h*m.w), func(at, in int) { copy(x[at:at+m.w], padded[in:]) })
}

// rows calls f for every row of planes with its index in data and in padded planes.
func (m *comparer) rows(planes int, f func(at, in int)) {
	for i := range planes * m.h {
		f(i*m.w, (i/m.h*m.ph+i%m.h+m.PadSize)*m.pw+m.PadSize)
	}
}

// each calls f for every row of the output and element of a patch, with the first index of the row
// and the first indices of the elements in the padded planes. The next output of the row compares
// the elements that are stride1 further on.
func (m *comparer) each(batch int, f func(out, first, second int)) {
	d := m.MaxDisplacement.Value()
	shift := func(i int) int { return (i - m.radius()) * m.Stride2 }
	for i := range batch * m.side * m.side * m.oh {
		n, q, row := i/m.oh/(m.side*m.side), i/m.oh%(m.side*m.side), i%m.oh
		down, right := shift(q/m.side), shift(q%m.side)
		for k := range m.channels * m.KernelSize * m.KernelSize {
			c, y, x := k/(m.KernelSize*m.KernelSize), k/m.KernelSize%m.KernelSize, k%m.KernelSize
			plane := (n*m.channels + c) * m.ph
			y += row*m.Stride1 + d
			f(i*m.ow, (plane+y)*m.pw+x+d, (plane+y+down)*m.pw+x+d+right)
		}
	}
}

// elements returns the number of elements of a patch in all channels.
func (m *comparer) elements() int { return m.KernelSize * m.KernelSize * m.channels }

func correlate[T float](p CorrelationParams, c *op.Call) error {
	m := newComparer(p, c.In[0].Shape, c.Out[0].Shape)
	a, b, y := pad(m, read[T](c.In[0])), pad(m, read[T](c.In[1])), blank[T](c.Out[0])
	m.each(c.Out[0].Shape[0], func(out, first, second int) {
		for j := range m.ow {
			u, v := a[first+j*p.Stride1], b[second+j*p.Stride1]
			if p.Difference {
				y[out+j] += max(u-v, v-u)
			} else {
				y[out+j] += T(u * v)
			}
		}
	})
	for i := range y {
		y[i] /= T(m.elements())
	}
	store(c.Out[0], y)
	return nil
}

func correlateBack[T float](p CorrelationParams, c *op.Call) error {
	m := newComparer(p, c.In[1].Shape, c.In[0].Shape)
	dy, a, b := read[T](c.In[0]), pad(m, read[T](c.In[1])), pad(m, read[T](c.In[2]))
	da, db := make([]T, len(a)), make([]T, len(b))
	m.each(c.In[0].Shape[0], func(out, first, second int) {
		for j := range m.ow {
			at, to := first+j*p.Stride1, second+j*p.Stride1
			g := dy[out+j] / T(m.elements())
			switch {
			case !p.Difference:
				da[at] += T(g * b[to])
				db[to] += T(g * a[at])
			case a[at] >= b[to]:
				da[at] += g
				db[to] -= g
			default:
				da[at] -= g
				db[to] += g
			}
		}
	})
	for i, grad := range [][]T{da, db} {
		x := blank[T](c.Out[i])
		cut(m, x, grad)
		store(c.Out[i], x)
	}
	return nil
}
