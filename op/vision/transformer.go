package vision

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/prim"
)

// SpatialTransformerParams configures SpatialTransformer.
type SpatialTransformerParams struct {
	TargetShape   []int        `op:"target_shape" default:"(0, 0)" doc:"height and width of the output"`
	TransformType string       `op:"transform_type,required" enum:"affine" doc:"meaning of loc: an affine matrix"`
	SamplerType   string       `op:"sampler_type,required" enum:"bilinear" doc:"interpolation between elements"`
	CudnnOff      op.Opt[bool] `op:"cudnn_off" doc:"accepted for compatibility, without effect"`
}

// SpatialTransformer applies affine transformations to images.
var SpatialTransformer = op.Declare[SpatialTransformerParams]("SpatialTransformer")

func init() {
	SpatialTransformer.Define(op.Spec[SpatialTransformerParams]{
		Traits: op.Traits{
			Doc: `SpatialTransformer transforms each image by an affine matrix (Jaderberg et al. 2015).

Data has shape (n, c, h, w), loc (n, 6): two rows and three columns per image, as for GridGenerator.
The output is BilinearSampler of data at the grid that GridGenerator makes from loc. A network that
computes loc should have the identity (1, 0, 0, 0, 1, 0) as the initial bias.`,
			Once: "that of BilinearSampler has none",
		},
		Inputs:    prim.Inputs[SpatialTransformerParams]("data", "loc"),
		Infer:     inferTransformer,
		InferType: op.FloatType[SpatialTransformerParams],
		Grad: func(g *op.Grad, p SpatialTransformerParams) []op.Entry {
			back := bilinearSamplerGrad.Node(BilinearSamplerParams{}, g.Head(0), g.In(0),
				GridGenerator.Apply(p.grid(), g.In(1)))
			return []op.Entry{back.Entry(0), gridGeneratorGrad.Apply(p.grid(), back.Entry(1))}
		},
		Ref: inType(transform[float32], transform[float64]),
	})
}

// grid returns the parameters of the grid generator.
func (p SpatialTransformerParams) grid() GridGeneratorParams {
	return GridGeneratorParams{TransformType: p.TransformType, TargetShape: p.TargetShape}
}

func inferTransformer(p SpatialTransformerParams, in, out []dtype.Shape) error {
	grid := make([]dtype.Shape, 1)
	for range 2 { // the second round infers loc from data and output
		if err := inferGrid(p.grid(), in[1:], grid); err != nil {
			return err
		}
		pair := []dtype.Shape{in[0], grid[0]}
		if err := inferSampler(BilinearSamplerParams{}, pair, out); err != nil {
			return err
		}
		in[0], grid[0] = pair[0], pair[1]
	}
	return nil
}

func transform[T float](p SpatialTransformerParams, c *op.Call) error {
	s := c.Out[0].Shape
	points := make([]T, 2*s[0]*s[2]*s[3])
	grid := op.TensorOf(points, s[0], 2, s[2], s[3])
	loc := op.TensorOf(read[T](c.In[1]), c.In[1].Shape...)
	if err := makeGrid[T](p.grid(), &op.Call{In: []op.Tensor{loc},
		Out: []op.Tensor{grid}}); err != nil {
		return err
	}
	return sampleGrid[T](BilinearSamplerParams{}, &op.Call{In: []op.Tensor{c.In[0], grid},
		Out: c.Out})
}
