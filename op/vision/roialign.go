package vision

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/prim"
)

// ROIAlignParams configures ROIAlign.
type ROIAlignParams struct {
	PooledSize        []int       `op:"pooled_size,required" doc:"height and width of the output"`
	SpatialScale      float64     `op:"spatial_scale,required" min:"0" doc:"factor from coordinates of regions to coordinates of data, at most 1"`
	SampleRatio       op.Opt[int] `op:"sample_ratio" default:"-1" doc:"samples per part and axis; -1: the size of a part in elements of data, rounded up"`
	PositionSensitive bool        `op:"position_sensitive" doc:"every part of a region reads separate channels"`
	Aligned           bool        `op:"aligned" doc:"coordinates start at the corner of the first element, not at its centre"`
}

// ROIAlign and its gradient.
var (
	ROIAlign     = op.Declare[ROIAlignParams]("_contrib_ROIAlign")
	roiAlignGrad = op.Declare[ROIAlignParams]("_backward_ROIAlign")
)

func init() {
	ROIAlign.Define(op.Spec[ROIAlignParams]{
		Traits: op.Traits{
			GoName: "ROIAlign",
			Doc: `ROIAlign averages samples over the parts of regions of interest (He et al. 2017).

Data has shape (n, c, h, w), rois (r, 5) with rows (image, left, top, right, bottom), the output
(r, c, height, width). Samples are distributed evenly over a part and interpolated between four
elements; coordinates are not rounded. Samples more than one element outside the image are 0.
With position_sensitive the output has c/(height·width) channels. Regions of images that data does
not have give 0. rois get no gradient.`,
		},
		Inputs:    prim.Inputs[ROIAlignParams]("data", "rois"),
		Infer:     inferROIAlign,
		InferType: op.FloatType[ROIAlignParams],
		Grad: func(g *op.Grad, p ROIAlignParams) []op.Entry {
			return []op.Entry{roiAlignGrad.Apply(p, g.Head(0), g.In(1), g.In(0)), {}}
		},
		Ref: inType(roiAlign[float32], roiAlign[float64]),
	})
	roiAlignGrad.Define(op.Spec[ROIAlignParams]{
		Traits: op.Traits{Hidden: true, Ignores: []int{2}},
		Inputs: prim.Inputs[ROIAlignParams]("out_grad", "rois", "data"),
		Infer: func(p ROIAlignParams, in, out []dtype.Shape) error {
			if err := op.Same("gradient", &in[2], &out[0]); err != nil {
				return err
			}
			fwd := []dtype.Shape{in[2], in[1]}
			if err := inferROIAlign(p, fwd, in[:1]); err != nil {
				return err
			}
			in[1], in[2], out[0] = fwd[1], fwd[0], fwd[0].Clone()
			return nil
		},
		InferType: op.FloatType[ROIAlignParams],
		Grad: prim.Adjoint(func(g *op.Grad, p ROIAlignParams, h op.Entry) op.Entry {
			return ROIAlign.Apply(p, h, g.In(1))
		}),
		Ref: inType(roiAlignBack[float32], roiAlignBack[float64]),
	})
}

func inferROIAlign(p ROIAlignParams, in, out []dtype.Shape) error {
	if p.SpatialScale > 1 {
		return op.Errorf("spatial_scale", "%v, want at most 1", p.SpatialScale)
	}
	depth := 1
	if p.PositionSensitive && len(p.PooledSize) == 2 {
		depth = p.PooledSize[0] * p.PooledSize[1]
	}
	return inferRegions(p.PooledSize, depth, in, &out[0])
}

// tap is one sample: four elements of a plane and their weights.
type tap[T float] struct {
	at     [4]int
	weight [4]T
}

// sample returns the elements around a point of a plane of h·w elements. Points at most one element
// outside use the outermost elements; for points beyond ok is false.
func sample[T float](y, x T, h, w int) (t tap[T], ok bool) {
	if !(y >= -1 && y <= T(h) && x >= -1 && x <= T(w)) || h == 0 || w == 0 {
		return t, false
	}
	top, bottom, fy := between(y, h)
	left, right, fx := between(x, w)
	t.at = [4]int{top*w + left, top*w + right, bottom*w + left, bottom*w + right}
	t.weight = [4]T{(1 - fy) * (1 - fx), (1 - fy) * fx, fy * (1 - fx), fy * fx}
	return t, true
}

// between returns the elements on both sides of a point of an axis with n elements, and the point's
// distance from the first, 0 to 1.
func between[T float](v T, n int) (lo, hi int, f T) {
	v = max(v, 0)
	if lo = int(v); lo >= n-1 {
		return n - 1, n - 1, 0
	}
	return lo, lo + 1, v - T(lo)
}

// mostSamples bounds the samples along one side of a part: a region of size 1e30 would otherwise
// never end.
const mostSamples = 1 << 12

// aligned holds the sizes of one region of ROIAlign.
type aligned[T float] struct {
	image  int
	start  [2]T // first coordinate along rows and columns
	part   [2]T
	counts [2]int // samples per part along rows and columns
	h, w   int
}

func newAligned[T float](p ROIAlignParams, row []T, data dtype.Shape) (aligned[T], error) {
	a := aligned[T]{image: whole(float64(row[0])), h: data[2], w: data[3]}
	if a.image < 0 || a.image >= data[0] {
		a.image = -1
		return a, nil
	}
	var offset T
	if p.Aligned {
		offset = 0.5
	}
	for i, pooled := range p.PooledSize {
		lo := T(row[2-i]*narrow[T](p.SpatialScale)) - offset
		size := T(row[4-i]*narrow[T](p.SpatialScale)) - offset - lo
		switch {
		case !p.Aligned:
			size = max(size, 1)
		case !(size > 0):
			return a, op.Errorf("rois", "row %v, want an extent above 0 with aligned", row)
		}
		a.start[i], a.part[i] = lo, size/T(pooled)
		if a.counts[i] = p.SampleRatio.Value(); a.counts[i] <= 0 {
			a.counts[i] = ceil(a.part[i])
		}
		if a.counts[i] > mostSamples {
			return a, op.Errorf("rois", "row %v, %d samples along a part, want at most %d", row,
				a.counts[i], mostSamples)
		}
	}
	return a, nil
}

// taps lists the samples of the part at a row and column.
func (a *aligned[T]) taps(row, col int) []tap[T] {
	var list []tap[T]
	if a.h == 0 || a.w == 0 {
		return nil
	}
	for i := range a.counts[0] {
		y := a.start[0] + T(T(row)*a.part[0]) + T((T(i)+0.5)*a.part[0])/T(a.counts[0])
		for j := range a.counts[1] {
			x := a.start[1] + T(T(col)*a.part[1]) + T((T(j)+0.5)*a.part[1])/T(a.counts[1])
			if t, ok := sample(y, x, a.h, a.w); ok {
				list = append(list, t)
			}
		}
	}
	return list
}

// eachAligned calls f for every element of the output with its samples; first is the beginning of
// their plane.
func eachAligned[T float](p ROIAlignParams, rois []T, data, out dtype.Shape,
	f func(i, first int, samples T, taps []tap[T])) error {
	parts := out[2] * out[3]
	for n := range out[0] {
		a, err := newAligned(p, rois[5*n:5*n+5], data)
		if err != nil {
			return err
		}
		if a.image < 0 {
			continue
		}
		for i := range parts {
			taps := a.taps(i/out[3], i%out[3])
			for c := range out[1] {
				plane := c
				if p.PositionSensitive {
					plane = c*parts + i
				}
				f((n*out[1]+c)*parts+i, (a.image*data[1]+plane)*a.h*a.w, T(a.counts[0]*a.counts[1]),
					taps)
			}
		}
	}
	return nil
}

func roiAlign[T float](p ROIAlignParams, c *op.Call) error {
	x, y := read[T](c.In[0]), blank[T](c.Out[0])
	err := eachAligned(p, read[T](c.In[1]), c.In[0].Shape, c.Out[0].Shape,
		func(i, first int, samples T, taps []tap[T]) {
			var sum T
			for _, t := range taps {
				for k, at := range t.at {
					sum += t.weight[k] * x[first+at]
				}
			}
			y[i] = sum / samples
		})
	store(c.Out[0], y)
	return err
}

func roiAlignBack[T float](p ROIAlignParams, c *op.Call) error {
	dy, dx := read[T](c.In[0]), blank[T](c.Out[0])
	err := eachAligned(p, read[T](c.In[1]), c.Out[0].Shape, c.In[0].Shape,
		func(i, first int, samples T, taps []tap[T]) {
			for _, t := range taps {
				for k, at := range t.at {
					dx[first+at] += dy[i] * t.weight[k] / samples
				}
			}
		})
	store(c.Out[0], dx)
	return err
}
