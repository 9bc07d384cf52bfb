package vision

import (
	"math"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/prim"
)

// ROIPoolingParams configures ROIPooling.
type ROIPoolingParams struct {
	PooledSize   []int   `op:"pooled_size,required" doc:"height and width of the output"`
	SpatialScale float64 `op:"spatial_scale,required" doc:"factor from coordinates of regions to coordinates of data"`
}

// ROIPooling and its gradient, which reads the positions of the maxima.
var (
	ROIPooling     = op.Declare[ROIPoolingParams]("ROIPooling")
	roiPoolingGrad = op.Declare[ROIPoolingParams]("_backward_ROIPooling")
)

func init() {
	ROIPooling.Define(op.Spec[ROIPoolingParams]{
		Traits: op.Traits{
			Doc: `ROIPooling computes maxima over the parts of regions of interest (Girshick 2015).

Data has shape (n, c, h, w), rois (r, 5) with rows (image, left, top, right, bottom), the output
(r, c, height, width). Coordinates are scaled and rounded, the last row and column belong to the
region, and a region has at least one element. Parts outside the image, and regions of images
that data does not have, give 0. rois get no gradient.`,
			Aliases: []string{"_npx_roi_pooling"},
			Once:    "regions are drawn, not learned",
			Kind:    op.Pooling,
		},
		Inputs:    prim.Inputs[ROIPoolingParams]("data", "rois"),
		Outputs:   func(ROIPoolingParams) []string { return []string{"output", "maxidx"} },
		Visible:   func(ROIPoolingParams) int { return 1 },
		Infer:     inferROIPooling,
		InferType: indexOutput[ROIPoolingParams],
		Grad: func(g *op.Grad, p ROIPoolingParams) []op.Entry {
			return []op.Entry{roiPoolingGrad.Apply(p, g.Head(0), g.Out(1), g.In(0)), {}}
		},
		Ref: inType(roiPool[float32], roiPool[float64]),
	})
	roiPoolingGrad.Define(op.Spec[ROIPoolingParams]{
		Traits: op.Traits{
			Hidden:  true,
			NoGrad:  "the second derivative of ROIPooling is not provided",
			Ignores: []int{2},
		},
		Inputs:    prim.Inputs[ROIPoolingParams]("out_grad", "maxidx", "data"),
		Infer:     inferROIPoolingGrad,
		InferType: indexInput[ROIPoolingParams],
		Ref:       inType(roiPoolGrad[float32], roiPoolGrad[float64]),
	})
}

func inferROIPooling(p ROIPoolingParams, in, out []dtype.Shape) error {
	if err := op.Same("maxidx", &out[0], &out[1]); err != nil {
		return err
	}
	if err := inferRegions(p.PooledSize, 1, in, &out[0]); err != nil {
		return err
	}
	out[1] = out[0].Clone()
	return nil
}

// inferRegions infers the shapes of data, regions and output; data has depth times the channels of
// the output.
func inferRegions(pooled []int, depth int, in []dtype.Shape, out *dtype.Shape) error {
	if err := twoSizes("pooled_size", pooled); err != nil {
		return err
	}
	if err := op.Require("data", &in[0], featureMap()); err != nil {
		return err
	}
	if err := op.Require("rois", &in[1], dtype.Shape{-1, 5}); err != nil {
		return err
	}
	channels, ok := over(in[0][1], depth)
	if !ok {
		return op.Errorf("data", "shape %v, want a multiple of %d channels, one for each part "+
			"of a region", in[0], depth)
	}
	if err := op.Require("output", out, dtype.Shape{in[1][0], channels, pooled[0],
		pooled[1]}); err != nil {
		return err
	}
	in[0][1], in[1][0] = times((*out)[1], depth), (*out)[0]
	return nil
}

func inferROIPoolingGrad(p ROIPoolingParams, in, out []dtype.Shape) error {
	if err := op.Same("gradient", &in[2], &out[0]); err != nil {
		return err
	}
	if err := op.Same("maxidx", &in[0], &in[1]); err != nil {
		return err
	}
	if err := inferRegions(p.PooledSize, 1, []dtype.Shape{out[0], nil}, &in[0]); err != nil {
		return err
	}
	if err := op.Require("data", &out[0], dtype.Shape{-1, in[0][1], -1, -1}); err != nil {
		return err
	}
	in[1], in[2] = in[0].Clone(), out[0].Clone()
	return nil
}

// region is a region of interest in integer coordinates of data.
type region[T float] struct {
	image     int
	top, left int
	part      [2]T // height and width of the parts
}

// newRegion scales and rounds one row of rois. Products are rounded to T first, because the nearest
// integer depends on it.
func newRegion[T float](p ROIPoolingParams, row []T) region[T] {
	round := func(v T) int { return whole(math.Round(float64(T(v * narrow[T](p.SpatialScale))))) }
	r := region[T]{image: whole(float64(row[0])), left: round(row[1]), top: round(row[2])}
	width, height := max(round(row[3])-r.left+1, 1), max(round(row[4])-r.top+1, 1)
	r.part = [2]T{T(height) / T(p.PooledSize[0]), T(width) / T(p.PooledSize[1])}
	return r
}

// span returns the elements [lo, hi) of part i along an axis of n elements; size is the size of a
// part.
func span[T float](i int, size T, start, n int) (lo, hi int) {
	lo, hi = start+floor(T(i)*size), start+ceil(T(i+1)*size)
	return min(max(lo, 0), n), min(max(hi, 0), n)
}

// window is a part of a feature map: rows from top to bottom, columns from left to right.
type window struct{ top, bottom, left, right int }

// largest returns the first of the largest elements of a window into rows of stride elements, and
// its index; -1 if no element is larger than the lowest number.
func largest[T float](x []T, stride int, w window) (T, int) {
	most, at := T(-math.MaxFloat32), -1
	for row := w.top; row < w.bottom; row++ {
		for col := w.left; col < w.right; col++ {
			if v := x[row*stride+col]; v > most {
				most, at = v, row*stride+col
			}
		}
	}
	return most, at
}

func roiPool[T float](p ROIPoolingParams, c *op.Call) error {
	data, rois := read[T](c.In[0]), read[T](c.In[1])
	y, index := blank[T](c.Out[0]), op.Slice[int64](c.Out[1])
	if index == nil {
		index = make([]int64, len(y))
	}
	in, out := c.In[0].Shape, c.Out[0].Shape
	plane, parts := in[2]*in[3], out[2]*out[3]
	for i := range out[0] * parts {
		n, row, col := i/parts, i/out[3]%out[2], i%out[3]
		r := newRegion(p, rois[5*n:5*n+5])
		var w window
		w.top, w.bottom = span(row, r.part[0], r.top, in[2])
		w.left, w.right = span(col, r.part[1], r.left, in[3])
		empty := r.image < 0 || r.image >= in[0] || w.top >= w.bottom || w.left >= w.right
		for ch := range in[1] {
			k := (n*in[1]+ch)*parts + row*out[3] + col
			if index[k] = -1; empty {
				continue
			}
			first := (r.image*in[1] + ch) * plane
			v, at := largest(data[first:first+plane], in[3], w)
			if y[k] = v; at >= 0 {
				index[k] = int64(first + at)
			}
		}
	}
	store(c.Out[0], y)
	return nil
}

func roiPoolGrad[T float](_ ROIPoolingParams, c *op.Call) error {
	dy, index, dx := read[T](c.In[0]), op.Slice[int64](c.In[1]), blank[T](c.Out[0])
	for i, k := range index {
		if k >= 0 {
			dx[k] += dy[i]
		}
	}
	store(c.Out[0], dx)
	return nil
}
