package zoo

import (
	"gomx/gluon"
	"gomx/gluon/nn"
	nd "gomx/ndarray"
)

// Classifier is a network that classifies pictures of shape (n, 3, height, width). Features
// computes features of them, Output the scores of the classes, of shape (n, classes), without a
// softmax. To classify something else, a program keeps Features and puts in another Output.
type Classifier struct {
	Features, Output gluon.Block

	scope gluon.Scope
}

// Forward returns the scores.
func (c *Classifier) Forward(x *nd.Array) *nd.Array {
	return gluon.Pass(&c.Output, gluon.Pass(&c.Features, x))
}

// Scope says how MXNet names the network.
func (c *Classifier) Scope() gluon.Scope { return c.scope }

// classifier makes a network whose class MXNet calls so.
func classifier(class string, c config, features, output gluon.Block) *Classifier {
	return &Classifier{Features: features, Output: output, scope: scopeOf(class, c.prefix)}
}

// scopeOf is the scope of a network of a class, or with a prefix of its own.
func scopeOf(class, prefix string) gluon.Scope {
	if prefix != "" {
		return gluon.Scope{Prefix: prefix}
	}
	return gluon.Scope{Prefix: class, Numbered: true}
}

// named is a sequence of blocks with a prefix for the names of its parts, such as "stage1_".
type named struct {
	prefix string
	Blocks nn.Sequential `gluon:"+"`
}

// Forward calls the blocks in order.
func (n *named) Forward(x *nd.Array) *nd.Array { return n.Blocks.Forward(x) }

// Scope says how MXNet names the sequence.
func (n *named) Scope() gluon.Scope { return gluon.Scope{Prefix: n.prefix} }

// branches joins the channels of blocks with the same input, under a prefix for their names.
type branches struct {
	nn.Concurrent
	prefix string
}

// Scope says how MXNet names the branches.
func (b *branches) Scope() gluon.Scope { return gluon.Scope{Prefix: b.prefix} }

// parallel joins the channels of blocks with the same input.
func parallel(blocks ...gluon.Block) *nn.Concurrent {
	return &nn.Concurrent{Axis: 1, Blocks: blocks}
}

// conv is a convolution without bias.
func conv(channels, kernel, stride, pad int) *nn.Conv2D {
	return &nn.Conv2D{Channels: channels, Kernel: nn.Square(kernel), Strides: nn.Square(stride),
		Pad: nn.Square(pad), NoBias: true}
}

// relu is the activation of most networks.
const relu = nn.Activation("relu")
