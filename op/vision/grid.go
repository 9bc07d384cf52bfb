package vision

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/prim"
)

// GridGeneratorParams configures GridGenerator.
type GridGeneratorParams struct {
	TransformType string `op:"transform_type,required" enum:"affine|warp" doc:"meaning of data: an affine matrix, or a displacement of every position"`
	TargetShape   []int  `op:"target_shape" default:"(0, 0)" doc:"height and width of the grid, for affine"`
}

// GridGenerator and its gradient.
var (
	GridGenerator     = op.Declare[GridGeneratorParams]("GridGenerator")
	gridGeneratorGrad = op.Declare[GridGeneratorParams]("_backward_GridGenerator")
)

func init() {
	GridGenerator.Define(op.Spec[GridGeneratorParams]{
		Traits: op.Traits{
			Doc: `GridGenerator makes the grid of points at which BilinearSampler reads.

The output has shape (n, 2, h, w): the coordinates x and y of every point, from -1 to 1 over the
image. affine: data of shape (n, 6) holds a matrix of two rows and three columns per image, which is
applied to (x, y, 1) of each position of the target. warp: data of shape (n, 2, h, w) is added to
the positions, in elements of the image. The coordinates along an axis of one position are NaN.`,
		},
		Infer:     inferGrid,
		InferType: op.FloatType[GridGeneratorParams],
		Grad: func(g *op.Grad, p GridGeneratorParams) []op.Entry {
			return []op.Entry{gridGeneratorGrad.Apply(p, g.Head(0))}
		},
		Ref: inType(makeGrid[float32], makeGrid[float64]),
	})
	gridGeneratorGrad.Define(op.Spec[GridGeneratorParams]{
		Traits: op.Traits{Hidden: true},
		Inputs: prim.Inputs[GridGeneratorParams]("out_grad"),
		Infer: func(p GridGeneratorParams, in, out []dtype.Shape) error {
			return inferGrid(p, out, in)
		},
		InferType: op.FloatType[GridGeneratorParams],
		Grad:      gridSecond,
		Ref:       inType(makeGridGrad[float32], makeGridGrad[float64]),
	})
}

// gridSecond applies the generator, without its constant part, to the gradient. The affine
// generator has no constant part.
func gridSecond(g *op.Grad, p GridGeneratorParams) []op.Entry {
	h, none := g.Head(0), op.NoParams{}
	if p.TransformType == "affine" {
		return []op.Entry{GridGenerator.Apply(p, h)}
	}
	at := func(x op.Entry) op.Entry { return GridGenerator.Apply(p, x) }
	factor := prim.ElemwiseSub.Apply(none, at(prim.OnesLike.Apply(none, h)),
		at(prim.ZerosLike.Apply(none, h)))
	return []op.Entry{prim.ElemwiseMul.Apply(none, h, factor)}
}

func inferGrid(p GridGeneratorParams, in, out []dtype.Shape) error {
	grid := dtype.Shape{-1, 2, -1, -1}
	if p.TransformType == "warp" {
		if err := op.Require("data", &in[0], grid); err != nil {
			return err
		}
		return op.Same("output", &in[0], &out[0])
	}
	if err := twoSizes("target_shape", p.TargetShape); err != nil {
		return err
	}
	if err := op.Require("data", &in[0], dtype.Shape{-1, 6}); err != nil {
		return err
	}
	grid[0], grid[2], grid[3] = in[0][0], p.TargetShape[0], p.TargetShape[1]
	if err := op.Require("output", &out[0], grid); err != nil {
		return err
	}
	in[0][0] = out[0][0]
	return nil
}

// coordinate returns the coordinate, -1 to 1, of position i of n.
func coordinate[T float](i, n int) T { return T(-1 + 2*float64(i)/float64(n-1)) }

// eachPoint calls f for the points of grids of a shape with their coordinates in the target; i is
// the index of x, and y is one plane further.
func eachPoint[T float](grid dtype.Shape, f func(image, i int, x, y T)) {
	h, w := grid[2], grid[3]
	for n := range grid[0] {
		for row := range h {
			for col := range w {
				f(n, n*2*h*w+row*w+col, coordinate[T](col, w), coordinate[T](row, h))
			}
		}
	}
}

func makeGrid[T float](p GridGeneratorParams, c *op.Call) error {
	x, y, s := read[T](c.In[0]), blank[T](c.Out[0]), c.Out[0].Shape
	plane := s[2] * s[3]
	if p.TransformType == "affine" {
		eachPoint(s, func(n, i int, px, py T) {
			for k := range 2 {
				m := x[6*n+3*k:]
				y[i+k*plane] = m[0]*px + m[1]*py + m[2]
			}
		})
		store(c.Out[0], y)
		return nil
	}
	for i := range y {
		position, half := i%s[3], (T(s[3])-1)/2
		if i/plane%2 == 1 {
			position, half = i/s[3]%s[2], (T(s[2])-1)/2
		}
		y[i] = (x[i]+T(position))/half - 1
	}
	store(c.Out[0], y)
	return nil
}

func makeGridGrad[T float](p GridGeneratorParams, c *op.Call) error {
	dy, dx, s := read[T](c.In[0]), blank[T](c.Out[0]), c.In[0].Shape
	plane := s[2] * s[3]
	if p.TransformType == "affine" {
		eachPoint(s, func(n, i int, px, py T) {
			for k := range 2 {
				m, g := dx[6*n+3*k:], dy[i+k*plane]
				m[0], m[1], m[2] = m[0]+g*px, m[1]+g*py, m[2]+g
			}
		})
		store(c.Out[0], dx)
		return nil
	}
	for i := range dx {
		half := (T(s[3]) - 1) / 2
		if i/plane%2 == 1 {
			half = (T(s[2]) - 1) / 2
		}
		dx[i] = dy[i] / half
	}
	store(c.Out[0], dx)
	return nil
}
