package nn

import (
	"gomx/gluon"
	nd "gomx/ndarray"
)

// Sequential calls blocks one after the other. Its parameters are named by the blocks' numbers:
// "0.weight".
type Sequential []gluon.Block

// Forward calls the blocks in order.
func (s Sequential) Forward(x *nd.Array) *nd.Array {
	for _, b := range s {
		x = b.Forward(x)
	}
	return x
}

// Concurrent calls blocks with the same input and joins their outputs.
//
// MXNet: gluon.contrib.nn.HybridConcurrent.
type Concurrent struct {
	Axis   int           // of the outputs, along which they are joined; -1 is the last
	Blocks []gluon.Block `gluon:"+"`
}

// Forward returns the joined outputs.
func (c *Concurrent) Forward(x *nd.Array) *nd.Array {
	outs := make([]*nd.Array, len(c.Blocks))
	for i, b := range c.Blocks {
		outs[i] = b.Forward(x)
	}
	return nd.Concat(outs, nd.ConcatParams{Dim: nd.Some(c.Axis)})
}

// Identity returns its input.
type Identity struct{}

// Forward returns x.
func (Identity) Forward(x *nd.Array) *nd.Array { return x }

// Flatten joins all axes but the first.
type Flatten struct{}

// Forward returns x as a matrix with a row per sample.
func (Flatten) Forward(x *nd.Array) *nd.Array { return x.Flatten() }
