package vision

import (
	"math"

	"gomx/dtype"
	"gomx/op"
)

// DeformablePSROIPoolingParams configures DeformablePSROIPooling.
type DeformablePSROIPoolingParams struct {
	SpatialScale  float64 `op:"spatial_scale,required" min:"0" max:"1" doc:"factor from coordinates of regions to coordinates of data"`
	OutputDim     int     `op:"output_dim,required" min:"1" doc:"number of channels of the output"`
	GroupSize     int     `op:"group_size,required" min:"1" doc:"groups of channels along height and width of a region"`
	PooledSize    int     `op:"pooled_size,required" min:"1" doc:"height and width of the output"`
	PartSize      int     `op:"part_size" min:"0" doc:"height and width of trans; 0: pooled_size"`
	SamplePerPart int     `op:"sample_per_part" default:"1" min:"1" max:"4096" doc:"samples per part and axis"`
	TransStd      float64 `op:"trans_std" min:"0" max:"1" doc:"factor of trans"`
	NoTrans       bool    `op:"no_trans" doc:"leave trans out: parts are not moved"`
}

// DeformablePSROIPooling and its gradient.
var (
	DeformablePSROIPooling = op.Declare[DeformablePSROIPoolingParams](
		"_contrib_DeformablePSROIPooling")
	deformablePSROIGrad = op.Declare[DeformablePSROIPoolingParams](
		"_backward__contrib_DeformablePSROIPooling")
)

func init() {
	DeformablePSROIPooling.Define(op.Spec[DeformablePSROIPoolingParams]{
		Traits: op.Traits{
			GoName: "DeformablePSROIPooling",
			Doc: `DeformablePSROIPooling averages samples over moved parts of regions (Dai et al. 2017).

Data, rois and output have the shapes of PSROIPooling. Trans has shape (r, 2·k, part_size,
part_size): for each of k classes, into which the output_dim channels are divided, the shift of
each part along x and along y, in widths and heights of the region and times trans_std. Samples
are interpolated between four elements; samples more than half an element outside the image do not
count. Parts without samples, and regions of images that data does not have, give 0. rois get no
gradient.`,
			Once: "it jumps where samples pass elements",
			Kind: op.Pooling,
		},
		Inputs:    func(p DeformablePSROIPoolingParams) []op.Input { return p.inputs()[1:] },
		Infer:     inferDeformablePSROI,
		InferType: op.FloatType[DeformablePSROIPoolingParams],
		Grad: func(g *op.Grad, p DeformablePSROIPoolingParams) []op.Entry {
			in := []op.Entry{g.Head(0)}
			for i := range g.Node.In {
				in = append(in, g.In(i))
			}
			back := deformablePSROIGrad.Node(p, in...)
			grads := []op.Entry{back.Entry(0), {}}
			if !p.NoTrans {
				grads = append(grads, back.Entry(1))
			}
			return grads
		},
		Ref: inType(deformablePSROI[float32], deformablePSROI[float64]),
	})
	deformablePSROIGrad.Define(op.Spec[DeformablePSROIPoolingParams]{
		Traits: op.Traits{Hidden: true, NoGrad: "the second derivative of " +
			"DeformablePSROIPooling is not provided"},
		Inputs: func(p DeformablePSROIPoolingParams) []op.Input { return p.inputs() },
		Outputs: func(p DeformablePSROIPoolingParams) []string {
			if p.NoTrans {
				return []string{"data"}
			}
			return []string{"data", "trans"}
		},
		Infer: func(p DeformablePSROIPoolingParams, in, out []dtype.Shape) error {
			for i, of := range []int{1, 3}[:len(out)] {
				if err := op.Same("gradient", &in[of], &out[i]); err != nil {
					return err
				}
			}
			if err := inferDeformablePSROI(p, in[1:], in[:1]); err != nil {
				return err
			}
			for i, of := range []int{1, 3}[:len(out)] {
				out[i] = in[of].Clone()
			}
			return nil
		},
		InferType: op.FloatType[DeformablePSROIPoolingParams],
		Ref:       inType(deformablePSROIBack[float32], deformablePSROIBack[float64]),
	})
}

// inputs lists the inputs of the gradient; all but the first are inputs of the operator.
func (p DeformablePSROIPoolingParams) inputs() []op.Input {
	list := []op.Input{{Name: "out_grad"}, {Name: "data"}, {Name: "rois"}, {Name: "trans"}}
	if p.NoTrans {
		return list[:3]
	}
	return list
}

func (p DeformablePSROIPoolingParams) sensitive() sensitive {
	return sensitive{p.SpatialScale, p.OutputDim, p.PooledSize, p.GroupSize}
}

// parts returns the height and width of trans.
func (p DeformablePSROIPoolingParams) parts() int { return orElse(p.PartSize, p.PooledSize) }

func inferDeformablePSROI(p DeformablePSROIPoolingParams, in, out []dtype.Shape) error {
	if err := p.sensitive().infer(in, &out[0]); err != nil || p.NoTrans {
		return err
	}
	n := p.parts()
	if err := op.Require("trans", &in[2], dtype.Shape{out[0][0], -1, n, n}); err != nil {
		return err
	}
	if c := in[2][1]; c != -1 && (c < 2 || c%2 != 0 || p.OutputDim%(c/2) != 0) {
		return op.Errorf("trans", "shape %v, want 2 channels for each class; %d channels of the "+
			"output are divided into classes", in[2], p.OutputDim)
	}
	in[1][0], out[0][0] = in[2][0], in[2][0]
	return nil
}

// mover computes the places of samples of DeformablePSROIPooling.
type mover[T float] struct {
	sensitive
	trans           []T // nil: parts are not moved
	parts, samples  int
	classes, factor int // factor: channels of the output per class
	std             T
}

func newMover[T float](p DeformablePSROIPoolingParams, trans op.Tensor) *mover[T] {
	m := &mover[T]{sensitive: p.sensitive(), parts: p.parts(), samples: p.SamplePerPart,
		classes: 1, std: narrow[T](p.TransStd)}
	if !p.NoTrans {
		m.trans, m.classes = read[T](trans), trans.Shape[1]/2
	}
	m.factor = m.channels / m.classes
	return m
}

// shift returns the index of the shift along x of a part; the shift along y is parts² further on.
func (m *mover[T]) shift(n, channel, row, col int) int {
	part := func(i int) int { return floor(T(T(i)/T(m.pooled)) * T(m.parts)) }
	return ((n*m.classes+channel/m.factor)*2*m.parts+part(row))*m.parts + part(col)
}

// place is one sample: its coordinates in a plane of data.
type place[T float] struct{ y, x T }

// corners returns the rows and columns of the four elements around a sample, and its distances from
// the first.
func (p place[T]) corners() (top, bottom, left, right int, fy, fx T) {
	top, left = int(math.Floor(float64(p.y))), int(math.Floor(float64(p.x)))
	bottom, right = int(math.Ceil(float64(p.y))), int(math.Ceil(float64(p.x)))
	return top, bottom, left, right, p.y - T(top), p.x - T(left)
}

// tap returns the four elements around a sample and their weights; rows have stride elements.
func (p place[T]) tap(stride int) tap[T] {
	top, bottom, left, right, fy, fx := p.corners()
	return tap[T]{[4]int{top*stride + left, top*stride + right, bottom*stride + left,
		bottom*stride + right}, [4]T{(1 - fy) * (1 - fx), (1 - fy) * fx, fy * (1 - fx), fy * fx}}
}

// places appends the samples of a part that count.
func (m *mover[T]) places(list []place[T], f *frame[T], at, row, col, h, w int) []place[T] {
	if h == 0 || w == 0 {
		return list
	}
	var start, step [2]T
	for a, i := range [2]int{row, col} {
		part := f.size[a] / T(m.pooled)
		start[a], step[a] = T(T(i)*part)+f.start[a], part/T(m.samples)
		if m.trans != nil {
			start[a] += T(m.trans[at+(1-a)*m.parts*m.parts]*m.std) * f.size[a]
		}
	}
	for i := range m.samples {
		y := start[0] + T(T(i)*step[0])
		for j := range m.samples {
			x := start[1] + T(T(j)*step[1])
			if x >= -0.5 && x <= T(w)-0.5 && y >= -0.5 && y <= T(h)-0.5 {
				list = append(list, place[T]{min(max(y, 0), T(h-1)), min(max(x, 0), T(w-1))})
			}
		}
	}
	return list
}

// each calls visit for every element of the output that has samples; first is the beginning of
// their plane, at the index of the shift along x.
func (m *mover[T]) each(rois []T, data, out dtype.Shape, visit func(i, first, at int, f *frame[T],
	list []place[T])) {
	var list []place[T]
	parts := m.pooled * m.pooled
	for i := range out.Size() {
		n, c, row, col := i/parts/m.channels, i/parts%m.channels, i/m.pooled%m.pooled, i%m.pooled
		f := newFrame(m.sensitive, rois[5*n:5*n+5], 0.5, data[0])
		if f.image < 0 {
			continue
		}
		at := m.shift(n, c, row, col)
		if list = m.places(list[:0], &f, at, row, col, data[2], data[3]); len(list) > 0 {
			visit(i, (f.image*data[1]+m.plane(c, row, col))*data[2]*data[3], at, &f, list)
		}
	}
}

func deformablePSROI[T float](p DeformablePSROIPoolingParams, c *op.Call) error {
	var trans op.Tensor
	if !p.NoTrans {
		trans = c.In[2]
	}
	x, y, data := read[T](c.In[0]), blank[T](c.Out[0]), c.In[0].Shape
	newMover[T](p, trans).each(read[T](c.In[1]), data, c.Out[0].Shape,
		func(i, first, _ int, _ *frame[T], list []place[T]) {
			var sum T
			for _, s := range list {
				t := s.tap(data[3])
				for k, at := range t.at {
					sum += t.weight[k] * x[first+at]
				}
			}
			y[i] = sum / T(len(list))
		})
	store(c.Out[0], y)
	return nil
}

func deformablePSROIBack[T float](p DeformablePSROIPoolingParams, c *op.Call) error {
	var trans op.Tensor
	var dtrans []T
	if !p.NoTrans {
		trans, dtrans = c.In[3], blank[T](c.Out[1])
	}
	dy, x, data := read[T](c.In[0]), read[T](c.In[1]), c.In[1].Shape
	dx := blank[T](c.Out[0])
	m := newMover[T](p, trans)
	m.each(read[T](c.In[2]), data, c.In[0].Shape, func(i, first, at int, f *frame[T],
		list []place[T]) {
		v := dy[i] / T(len(list))
		for _, s := range list {
			t := s.tap(data[3])
			var corner [4]T
			for k, e := range t.at {
				dx[first+e] += t.weight[k] * v
				corner[k] = x[first+e]
			}
			if dtrans == nil {
				continue
			}
			_, _, _, _, fy, fx := s.corners()
			alongX := (corner[1]-corner[0])*(1-fy) + (corner[3]-corner[2])*fy
			alongY := (corner[2]-corner[0])*(1-fx) + (corner[3]-corner[1])*fx
			dtrans[at] += alongX * m.std * v * f.size[1]
			dtrans[at+m.parts*m.parts] += alongY * m.std * v * f.size[0]
		}
	})
	store(c.Out[0], dx)
	if dtrans != nil {
		store(c.Out[1], dtrans)
	}
	return nil
}
