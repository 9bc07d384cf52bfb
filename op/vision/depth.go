package vision

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// BlockParams configures DepthToSpace and SpaceToDepth.
type BlockParams struct {
	BlockSize int `op:"block_size,required" min:"1" max:"65536" doc:"height and width of the blocks"`
}

// DepthToSpace and SpaceToDepth convert between channels and blocks of positions.
var (
	DepthToSpace = op.Declare[BlockParams]("depth_to_space")
	SpaceToDepth = op.Declare[BlockParams]("space_to_depth")
)

func init() {
	DepthToSpace.Define(op.Spec[BlockParams]{
		Traits: op.Traits{
			Doc: `DepthToSpace rearranges channels into blocks of positions.

Data of shape (n, b·b·c, h, w) becomes (n, c, h·b, w·b): channel (i·b + j)·c + k of a position is
row i, column j of its block in channel k.`,
		},
		Infer: func(p BlockParams, in, out []dtype.Shape) error {
			return inferBlocks(p, [2]string{"data", "output"}, &in[0], &out[0])
		},
		Grad: func(g *op.Grad, p BlockParams) []op.Entry {
			return []op.Entry{SpaceToDepth.Apply(p, g.Head(0))}
		},
		Ref: func(p BlockParams, c *op.Call) error {
			shape, deep, wide := p.views(c.In[0], c.Out[0])
			loop.Copy(shape, wide, deep)
			return nil
		},
	})
	SpaceToDepth.Define(op.Spec[BlockParams]{
		Traits: op.Traits{
			Doc: `SpaceToDepth rearranges blocks of positions into channels, the inverse of DepthToSpace.

Data of shape (n, c, h·b, w·b) becomes (n, b·b·c, h, w).`,
		},
		Infer: func(p BlockParams, in, out []dtype.Shape) error {
			return inferBlocks(p, [2]string{"output", "data"}, &out[0], &in[0])
		},
		Grad: func(g *op.Grad, p BlockParams) []op.Entry {
			return []op.Entry{DepthToSpace.Apply(p, g.Head(0))}
		},
		Ref: func(p BlockParams, c *op.Call) error {
			shape, deep, wide := p.views(c.Out[0], c.In[0])
			loop.Copy(shape, deep, wide)
			return nil
		},
	})
}

// inferBlocks infers the shape with many channels and the one with large planes from each other.
func inferBlocks(p BlockParams, names [2]string, deep, wide *dtype.Shape) error {
	if err := op.Require(names[0], deep, featureMap()); err != nil {
		return err
	}
	if err := op.Require(names[1], wide, featureMap()); err != nil {
		return err
	}
	b := p.BlockSize
	c, okC := over((*deep)[1], b*b)
	if !okC {
		return op.Errorf(names[0], "shape %v, want a multiple of %d channels", *deep, b*b)
	}
	h, okH := over((*wide)[2], b)
	w, okW := over((*wide)[3], b)
	if !okH || !okW {
		return op.Errorf(names[1], "shape %v, want planes of blocks of %d·%d", *wide, b, b)
	}
	if err := op.Require(names[1], wide, dtype.Shape{(*deep)[0], c, times((*deep)[2], b),
		times((*deep)[3], b)}); err != nil {
		return err
	}
	return op.Require(names[0], deep, dtype.Shape{(*wide)[0], times((*wide)[1], b*b), h, w})
}

// views returns both arrays as views with the axes (n, c, h, i, w, j), where i and j are positions
// in a block.
func (p BlockParams) views(deep, wide op.Tensor) (dtype.Shape, loop.View, loop.View) {
	b, s := p.BlockSize, deep.Shape
	shape := dtype.Shape{s[0], s[1] / (b * b), s[2], b, s[3], b}
	plane := s[2] * s[3]
	block := shape[1] * plane // from one column of a block to the next
	d := loop.View{Tensor: deep, Strides: []int{s[1] * plane, plane, s[3], b * block, 1, block}}
	return shape, d, loop.View{Tensor: wide, Strides: shape.Strides()}
}
