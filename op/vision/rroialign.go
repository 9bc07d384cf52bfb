package vision

import (
	"math"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/prim"
)

// RROIAlignParams configures RROIAlign.
type RROIAlignParams struct {
	PooledSize    []int       `op:"pooled_size,required" doc:"height and width of the output"`
	SpatialScale  float64     `op:"spatial_scale,required" min:"0" max:"1" doc:"factor from coordinates of regions to coordinates of data"`
	SamplingRatio op.Opt[int] `op:"sampling_ratio" default:"-1" doc:"samples per part and axis; 0 and less: the size of a part in elements of data, rounded up"`
}

// RROIAlign averages samples over rotated regions.
var RROIAlign = op.Declare[RROIAlignParams]("_contrib_RROIAlign")

func init() {
	RROIAlign.Define(op.Spec[RROIAlignParams]{
		Traits: op.Traits{
			GoName: "RROIAlign",
			Doc: `RROIAlign averages samples over the parts of rotated regions of interest (Ma et al. 2018).

Data has shape (n, c, h, w), rois (r, 6) with rows (image, x, y, width, height, angle): centre,
size and degrees from the x axis to the negative y axis. The output has shape (r, c, height,
width). Samples are distributed evenly over a part and interpolated between four elements; samples
more than one element outside the image are 0. A region has at least one element along each axis.
Regions of images that data does not have give 0.`,
			NoGrad: "MXNet has none either: rotated regions serve inference",
		},
		Inputs:    prim.Inputs[RROIAlignParams]("data", "rois"),
		Infer:     inferRROIAlign,
		InferType: op.FloatType[RROIAlignParams],
		Ref:       inType(rroiAlign[float32], rroiAlign[float64]),
	})
}

func inferRROIAlign(p RROIAlignParams, in, out []dtype.Shape) error {
	if err := twoSizes("pooled_size", p.PooledSize); err != nil {
		return err
	}
	if err := op.Require("data", &in[0], featureMap()); err != nil {
		return err
	}
	if err := op.Require("rois", &in[1], dtype.Shape{-1, 6}); err != nil {
		return err
	}
	if err := op.Require("output", &out[0], dtype.Shape{in[1][0], in[0][1], p.PooledSize[0],
		p.PooledSize[1]}); err != nil {
		return err
	}
	in[1][0], in[0][1] = out[0][0], out[0][1]
	return nil
}

// rotated is a region that is turned around its centre. aligned describes it before the turn, in
// coordinates relative to the centre.
type rotated[T float] struct {
	aligned[T]
	centre   [2]T // along rows and columns
	sin, cos T
}

func newRotated[T float](p RROIAlignParams, row []T, data dtype.Shape) (rotated[T], error) {
	r := rotated[T]{aligned: aligned[T]{image: whole(float64(row[0])), h: data[2], w: data[3]}}
	if r.image < 0 || r.image >= data[0] {
		r.image = -1
		return r, nil
	}
	scale := narrow[T](p.SpatialScale)
	angle := T(float64(row[5]) * math.Pi / 180)
	r.sin, r.cos = T(math.Sin(float64(angle))), T(math.Cos(float64(angle)))
	for a, pooled := range p.PooledSize {
		size := max(row[4-a]*scale, 1)
		r.centre[a], r.start[a], r.part[a] = row[2-a]*scale, -size/2, size/T(pooled)
		if r.counts[a] = p.SamplingRatio.Value(); r.counts[a] <= 0 {
			r.counts[a] = ceil(r.part[a])
		}
		if !(r.counts[a] <= mostSamples) {
			return r, op.Errorf("rois", "row %v, %d samples along a part, want at most %d", row,
				r.counts[a], mostSamples)
		}
	}
	return r, nil
}

// taps appends the samples of the part at a row and column that lie in the image.
func (r *rotated[T]) taps(list []tap[T], row, col int) []tap[T] {
	for i := range r.counts[0] {
		down := r.start[0] + T(T(row)*r.part[0]) + T((T(i)+0.5)*r.part[0])/T(r.counts[0])
		for j := range r.counts[1] {
			right := r.start[1] + T(T(col)*r.part[1]) + T((T(j)+0.5)*r.part[1])/T(r.counts[1])
			y := T(down*r.cos) - T(right*r.sin) + r.centre[0]
			x := T(right*r.cos) + T(down*r.sin) + r.centre[1]
			if t, ok := sample(y, x, r.h, r.w); ok {
				list = append(list, t)
			}
		}
	}
	return list
}

func rroiAlign[T float](p RROIAlignParams, c *op.Call) error {
	x, rois, y := read[T](c.In[0]), read[T](c.In[1]), blank[T](c.Out[0])
	data, out := c.In[0].Shape, c.Out[0].Shape
	parts, plane := out[2]*out[3], data[2]*data[3]
	var list []tap[T]
	for n := range out[0] {
		r, err := newRotated(p, rois[6*n:6*n+6], data)
		if err != nil {
			return err
		}
		if r.image < 0 {
			continue
		}
		for k := range parts {
			list = r.taps(list[:0], k/out[3], k%out[3])
			for ch := range out[1] {
				from := x[(r.image*data[1]+ch)*plane:][:plane]
				var sum T
				for _, t := range list {
					for i, at := range t.at {
						sum += t.weight[i] * from[at]
					}
				}
				y[(n*out[1]+ch)*parts+k] = sum / T(r.counts[0]*r.counts[1])
			}
		}
	}
	store(c.Out[0], y)
	return nil
}
