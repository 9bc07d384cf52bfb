package vision

import (
	"gomx/op"
	"gomx/op/loop"
)

// ImageFlipLeftRight and ImageFlipTopBottom mirror images.
var (
	ImageFlipLeftRight = op.Declare[op.NoParams]("_image_flip_left_right")
	ImageFlipTopBottom = op.Declare[op.NoParams]("_image_flip_top_bottom")
)

func init() {
	defineFlip(ImageFlipLeftRight, 1, `ImageFlipLeftRight mirrors an image of shape (h, w, c) with 1 or 3 channels: columns from right to left.`)
	defineFlip(ImageFlipTopBottom, 0, `ImageFlipTopBottom mirrors an image of shape (h, w, c) with 1 or 3 channels: rows from bottom to top.`)
}

// defineFlip defines an operator that reverses one axis.
func defineFlip(h op.Handle[op.NoParams], axis int, doc string) {
	h.Define(op.Spec[op.NoParams]{
		Traits: op.Traits{Doc: doc, Aliases: []string{"_npx_" + h.Name}},
		Infer:  inferPicture[op.NoParams],
		Grad: func(g *op.Grad, p op.NoParams) []op.Entry {
			return []op.Entry{h.Apply(p, g.Head(0))}
		},
		Ref: func(_ op.NoParams, c *op.Call) error {
			loop.Copy(c.Out[0].Shape, loop.Dense(c.Out[0]), mirrored(c.In[0], axis))
			return nil
		},
	})
}
