package vision

import (
	"math"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/prim"
)

// PSROIPoolingParams configures PSROIPooling.
type PSROIPoolingParams struct {
	SpatialScale float64 `op:"spatial_scale,required" min:"0" max:"1" doc:"factor from coordinates of regions to coordinates of data"`
	OutputDim    int     `op:"output_dim,required" min:"1" doc:"number of channels of the output"`
	PooledSize   int     `op:"pooled_size,required" min:"1" doc:"height and width of the output"`
	GroupSize    int     `op:"group_size" min:"0" doc:"groups of channels along height and width of a region; 0: pooled_size"`
}

// PSROIPooling and its gradient.
var (
	PSROIPooling     = op.Declare[PSROIPoolingParams]("_contrib_PSROIPooling")
	psroiPoolingGrad = op.Declare[PSROIPoolingParams]("_backward__contrib_PSROIPooling")
)

func init() {
	PSROIPooling.Define(op.Spec[PSROIPoolingParams]{
		Traits: op.Traits{
			GoName: "PSROIPooling",
			Doc: `PSROIPooling averages the parts of regions, each in its own channels (Dai et al. 2016).

Data has shape (n, c, h, w), rois (r, 5) with rows (image, left, top, right, bottom), the output
(r, output_dim, pooled_size, pooled_size). Part (i, j) of channel k reads channel (k·group_size +
i·group_size/pooled_size)·group_size + j·group_size/pooled_size of data. Coordinates are rounded,
then scaled; the last row and column belong to the region. Parts without an element, and regions
of images that data does not have, give 0. rois get no gradient.`,
			Kind: op.Pooling,
		},
		Inputs: prim.Inputs[PSROIPoolingParams]("data", "rois"),
		Infer: func(p PSROIPoolingParams, in, out []dtype.Shape) error {
			return p.sensitive().infer(in, &out[0])
		},
		InferType: op.FloatType[PSROIPoolingParams],
		Grad: func(g *op.Grad, p PSROIPoolingParams) []op.Entry {
			return []op.Entry{psroiPoolingGrad.Apply(p, g.Head(0), g.In(1), g.In(0)), {}}
		},
		Ref: inType(psroiPool[float32], psroiPool[float64]),
	})
	psroiPoolingGrad.Define(op.Spec[PSROIPoolingParams]{
		Traits: op.Traits{Hidden: true, Ignores: []int{2}},
		Inputs: prim.Inputs[PSROIPoolingParams]("out_grad", "rois", "data"),
		Infer: func(p PSROIPoolingParams, in, out []dtype.Shape) error {
			if err := op.Same("gradient", &in[2], &out[0]); err != nil {
				return err
			}
			fwd := []dtype.Shape{in[2], in[1]}
			if err := p.sensitive().infer(fwd, &in[0]); err != nil {
				return err
			}
			in[1], in[2], out[0] = fwd[1], fwd[0], fwd[0].Clone()
			return nil
		},
		InferType: op.FloatType[PSROIPoolingParams],
		Grad: prim.Adjoint(func(g *op.Grad, p PSROIPoolingParams, h op.Entry) op.Entry {
			return PSROIPooling.Apply(p, h, g.In(1))
		}),
		Ref: inType(psroiPoolBack[float32], psroiPoolBack[float64]),
	})
}

// sensitive describes pooling in which every part of a region reads channels of its own.
type sensitive struct {
	scale                    float64
	channels, pooled, groups int // channels of the output, its height, groups along an axis
}

func (p PSROIPoolingParams) sensitive() sensitive {
	return sensitive{p.SpatialScale, p.OutputDim, p.PooledSize, orElse(p.GroupSize, p.PooledSize)}
}

// orElse returns n, or other where n is 0.
func orElse(n, other int) int {
	if n == 0 {
		return other
	}
	return n
}

// infer infers the shapes of data, regions and output.
func (s sensitive) infer(in []dtype.Shape, out *dtype.Shape) error {
	if err := op.Require("data", &in[0], featureMap()); err != nil {
		return err
	}
	if c, want := in[0][1], s.channels*s.groups*s.groups; c != -1 && c < want {
		return op.Errorf("data", "shape %v has %d channels, want at least %d: output_dim %d times "+
			"%d·%d groups", in[0], c, want, s.channels, s.groups, s.groups)
	}
	if err := op.Require("rois", &in[1], dtype.Shape{-1, 5}); err != nil {
		return err
	}
	if err := op.Require("output", out, dtype.Shape{in[1][0], s.channels, s.pooled,
		s.pooled}); err != nil {
		return err
	}
	in[1][0] = (*out)[0]
	return nil
}

// plane returns the channel of data that a part reads.
func (s sensitive) plane(channel, row, col int) int {
	return (channel*s.groups+row*s.groups/s.pooled)*s.groups + col*s.groups/s.pooled
}

// leastSize is the least height and width of a region.
const leastSize = 0.1

// frame is a region in coordinates of data.
type frame[T float] struct {
	image       int  // -1: none that data has
	start, size [2]T // along rows and columns
}

// newFrame returns the region of one row of rois; shift is subtracted from its coordinates.
func newFrame[T float](s sensitive, row []T, shift T, images int) frame[T] {
	f := frame[T]{image: whole(float64(row[0]))}
	if f.image < 0 || f.image >= images {
		f.image = -1
	}
	scale := narrow[T](s.scale)
	for a := range 2 {
		lo := T(math.Round(float64(row[2-a]))) * scale
		hi := T(math.Round(float64(row[4-a]))+1) * scale
		f.start[a] = lo - shift
		f.size[a] = max(hi-shift-f.start[a], leastSize)
	}
	return f
}

// window returns the elements of a part.
func (f *frame[T]) window(s sensitive, row, col, h, w int) window {
	edge := func(a, i, n int, round func(T) int) int {
		v := round(T(T(i)*(f.size[a]/T(s.pooled))) + f.start[a])
		return min(max(v, 0), n)
	}
	return window{edge(0, row, h, floor[T]), edge(0, row+1, h, ceil[T]),
		edge(1, col, w, floor[T]), edge(1, col+1, w, ceil[T])}
}

// area returns the number of elements, 0 where there is none.
func (w window) area() int { return max(w.bottom-w.top, 0) * max(w.right-w.left, 0) }

// each calls f for every element of a window into rows of stride elements.
func (w window) each(stride int, f func(i int)) {
	for row := w.top; row < w.bottom; row++ {
		for col := w.left; col < w.right; col++ {
			f(row*stride + col)
		}
	}
}

// eachPart calls f for every element of the output with its window into the plane of data that
// begins at first.
func eachPart[T float](s sensitive, rois []T, data, out dtype.Shape, f func(i, first int,
	w window)) {
	parts, plane := s.pooled*s.pooled, data[2]*data[3]
	for n := range out[0] {
		r := newFrame(s, rois[5*n:5*n+5], 0, data[0])
		if r.image < 0 {
			continue
		}
		for k := range parts {
			row, col := k/s.pooled, k%s.pooled
			w := r.window(s, row, col, data[2], data[3])
			if w.area() == 0 {
				continue
			}
			for c := range s.channels {
				f((n*s.channels+c)*parts+k, (r.image*data[1]+s.plane(c, row, col))*plane, w)
			}
		}
	}
}

func psroiPool[T float](p PSROIPoolingParams, c *op.Call) error {
	x, y := read[T](c.In[0]), blank[T](c.Out[0])
	data := c.In[0].Shape
	eachPart(p.sensitive(), read[T](c.In[1]), data, c.Out[0].Shape,
		func(i, first int, w window) {
			var sum T
			w.each(data[3], func(at int) { sum += x[first+at] })
			y[i] = sum / T(w.area())
		})
	store(c.Out[0], y)
	return nil
}

func psroiPoolBack[T float](p PSROIPoolingParams, c *op.Call) error {
	dy, dx := read[T](c.In[0]), blank[T](c.Out[0])
	data := c.Out[0].Shape
	eachPart(p.sensitive(), read[T](c.In[1]), data, c.In[0].Shape,
		func(i, first int, w window) {
			v := dy[i] / T(w.area())
			w.each(data[3], func(at int) { dx[first+at] += v })
		})
	store(c.Out[0], dx)
	return nil
}
