package vision

import (
	"math"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/prim"
)

// BilinearSamplerParams configures BilinearSampler.
type BilinearSamplerParams struct {
	CudnnOff op.Opt[bool] `op:"cudnn_off" doc:"accepted for compatibility, without effect"`
}

// BilinearSampler and its gradient.
var (
	BilinearSampler     = op.Declare[BilinearSamplerParams]("BilinearSampler")
	bilinearSamplerGrad = op.Declare[BilinearSamplerParams]("_backward_BilinearSampler")
)

func init() {
	BilinearSampler.Define(op.Spec[BilinearSamplerParams]{
		Traits: op.Traits{
			Doc: `BilinearSampler reads an image at the points of a grid (Jaderberg et al. 2015).

Data has shape (n, c, h, w), the grid (n, 2, height, width): the coordinates x and y of every point
of the output (n, c, height, width), from -1 to 1 over the image. A point is interpolated
between the four elements around it; elements outside the image are 0. GridGenerator makes grids.`,
			Once: "it jumps where points of the grid pass elements",
		},
		Inputs:    prim.Inputs[BilinearSamplerParams]("data", "grid"),
		Infer:     inferSampler,
		InferType: op.FloatType[BilinearSamplerParams],
		Grad: func(g *op.Grad, p BilinearSamplerParams) []op.Entry {
			return g.Each(bilinearSamplerGrad.Node(p, g.Head(0), g.In(0), g.In(1)))
		},
		Ref: inType(sampleGrid[float32], sampleGrid[float64]),
	})
	bilinearSamplerGrad.Define(op.Spec[BilinearSamplerParams]{
		Traits: op.Traits{Hidden: true,
			NoGrad: "the second derivative of BilinearSampler is not provided"},
		Inputs:  prim.Inputs[BilinearSamplerParams]("out_grad", "data", "grid"),
		Outputs: func(BilinearSamplerParams) []string { return []string{"data", "grid"} },
		Infer: func(p BilinearSamplerParams, in, out []dtype.Shape) error {
			for i := range out {
				if err := op.Same("gradient", &in[1+i], &out[i]); err != nil {
					return err
				}
			}
			if err := inferSampler(p, in[1:], in[:1]); err != nil {
				return err
			}
			out[0], out[1] = in[1].Clone(), in[2].Clone()
			return nil
		},
		InferType: op.FloatType[BilinearSamplerParams],
		Ref:       inType(sampleGridGrad[float32], sampleGridGrad[float64]),
	})
}

func inferSampler(_ BilinearSamplerParams, in, out []dtype.Shape) error {
	for range 2 { // the second round infers the other input from the output
		n := -1
		for _, s := range []dtype.Shape{in[0], in[1], out[0]} {
			if len(s) > 0 && n == -1 {
				n = s[0]
			}
		}
		if err := op.Require("data", &in[0], dtype.Shape{n, -1, -1, -1}); err != nil {
			return err
		}
		if err := op.Require("grid", &in[1], dtype.Shape{n, 2, -1, -1}); err != nil {
			return err
		}
		if err := op.Require("output", &out[0], dtype.Shape{n, in[0][1], in[1][2],
			in[1][3]}); err != nil {
			return err
		}
		in[0][1], in[1][2], in[1][3] = out[0][1], out[0][2], out[0][3]
	}
	return nil
}

// point is a point of the grid in data: the element to the upper left, and the weights of its row
// and column. The other three elements are one row or column further; weights of a row or column
// add up to 1.
type point[T float] struct {
	row, col int
	wy, wx   T
}

// newPoint converts coordinates to elements of a plane of h·w elements. Coordinates that are NaN
// have weights NaN, so that the output is NaN too.
func newPoint[T float](x, y T, h, w int) point[T] {
	py, px := (y+1)*T(h-1)/2, (x+1)*T(w-1)/2
	fy, fx := T(math.Floor(float64(py))), T(math.Floor(float64(px)))
	return point[T]{whole(float64(fy)), whole(float64(fx)), 1 - (py - fy), 1 - (px - fx)}
}

// corners returns the indices of the four elements in a plane, upper ones first; -1 for elements
// outside.
func (p point[T]) corners(h, w int) (at [4]int) {
	for k := range at {
		row, col := p.row+k/2, p.col+k%2
		if at[k] = row*w + col; row < 0 || row >= h || col < 0 || col >= w {
			at[k] = -1
		}
	}
	return at
}

// weights returns the weights of the four elements.
func (p point[T]) weights() [4]T {
	return [4]T{p.wy * p.wx, p.wy * (1 - p.wx), (1 - p.wy) * p.wx, (1 - p.wy) * (1 - p.wx)}
}

// values returns the four elements, 0 for elements outside.
func values[T float](plane []T, at [4]int) (v [4]T) {
	for k, i := range at {
		if i >= 0 {
			v[k] = plane[i]
		}
	}
	return v
}

// eachSample calls f for the points of a grid; i is the number of the point in its image.
func eachSample[T float](grid []T, s, data dtype.Shape, f func(image, i int, p point[T])) {
	plane := s[2] * s[3]
	for n := range s[0] {
		xy := grid[2*n*plane:]
		for i := range plane {
			f(n, i, newPoint(xy[i], xy[plane+i], data[2], data[3]))
		}
	}
}

func sampleGrid[T float](_ BilinearSamplerParams, c *op.Call) error {
	x, y, s := read[T](c.In[0]), blank[T](c.Out[0]), c.In[0].Shape
	plane, points := s[2]*s[3], c.Out[0].Shape[2]*c.Out[0].Shape[3]
	eachSample(read[T](c.In[1]), c.In[1].Shape, s, func(n, i int, p point[T]) {
		at, weights := p.corners(s[2], s[3]), p.weights()
		for ch := n * s[1]; ch < (n+1)*s[1]; ch++ {
			for k, v := range values(x[ch*plane:], at) {
				y[ch*points+i] += v * weights[k]
			}
		}
	})
	store(c.Out[0], y)
	return nil
}

func sampleGridGrad[T float](_ BilinearSamplerParams, c *op.Call) error {
	dy, x, s, gs := read[T](c.In[0]), read[T](c.In[1]), c.In[1].Shape, c.In[2].Shape
	dx, dgrid := blank[T](c.Out[0]), blank[T](c.Out[1])
	plane, points := s[2]*s[3], gs[2]*gs[3]
	eachSample(read[T](c.In[2]), gs, s, func(n, i int, p point[T]) {
		at, weights := p.corners(s[2], s[3]), p.weights()
		var gy, gx T
		for ch := n * s[1]; ch < (n+1)*s[1]; ch++ {
			g := dy[ch*points+i]
			for k, e := range at {
				if e >= 0 {
					dx[ch*plane+e] += g * weights[k]
				}
			}
			v := values(x[ch*plane:], at)
			gy += g * ((v[2]-v[0])*p.wx + (v[3]-v[1])*(1-p.wx))
			gx += g * ((v[1]-v[0])*p.wy + (v[3]-v[2])*(1-p.wy))
		}
		dgrid[2*n*points+i] = gx * T(s[3]-1) / 2
		dgrid[(2*n+1)*points+i] = gy * T(s[2]-1) / 2
	})
	store(c.Out[0], dx)
	store(c.Out[1], dgrid)
	return nil
}
