package vision

import (
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/philox"
)

// ImageRandomFlipLeftRight and ImageRandomFlipTopBottom mirror images at random.
var (
	ImageRandomFlipLeftRight = op.Declare[op.NoParams]("_image_random_flip_left_right")
	ImageRandomFlipTopBottom = op.Declare[op.NoParams]("_image_random_flip_top_bottom")
)

func init() {
	defineRandomFlip(ImageRandomFlipLeftRight, 1,
		"ImageRandomFlipLeftRight mirrors columns from right to left with probability 1/2.")
	defineRandomFlip(ImageRandomFlipTopBottom, 0,
		"ImageRandomFlipTopBottom mirrors rows from bottom to top with probability 1/2.")
}

// defineRandomFlip defines an operator that reverses one axis or not.
func defineRandomFlip(h op.Handle[op.NoParams], axis int, doc string) {
	h.Define(op.Spec[op.NoParams]{
		Traits: op.Traits{Doc: doc + `

Data has shape (h, w, c) with 1 or 3 channels. As in MXNet, gradients pass unchanged.`,
			Aliases: []string{"_npx_" + h.Name}, Random: true, Moves: true},
		Infer: inferPicture[op.NoParams],
		Grad: func(g *op.Grad, _ op.NoParams) []op.Entry {
			return []op.Entry{g.Head(0)}
		},
		Ref: func(_ op.NoParams, c *op.Call) error {
			from := loop.Dense(c.In[0])
			if flips(c.Seed) {
				from = mirrored(c.In[0], axis)
			}
			loop.Copy(c.Out[0].Shape, loop.Dense(c.Out[0]), from)
			return nil
		},
	})
}

// flips draws whether an image is mirrored.
func flips(s op.Seed) bool { return philox.Unit(philox.Block(s, 0, 0)[0]) < 0.5 }

// mirrored returns a view of an image with one axis reversed.
func mirrored(t op.Tensor, axis int) loop.View {
	v := loop.Dense(t)
	v.Off = (t.Shape[axis] - 1) * v.Strides[axis]
	v.Strides[axis] *= -1
	return v
}
