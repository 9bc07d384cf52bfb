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
	for i := range s {
		x = gluon.Pass(&s[i], x)
	}
	return x
}

// Concurrent calls blocks with the same input and joins their outputs.
//
// MXNet: gluon.contrib.nn.HybridConcurrent.
type Concurrent struct {
	gluon.Hooks
	Axis   int           // of the outputs, along which they are joined; -1 is the last
	Blocks []gluon.Block `gluon:"+"`
}

// Forward returns the joined outputs.
func (c *Concurrent) Forward(x *nd.Array) *nd.Array {
	call, outs := c.Enter(c, x), make([]*nd.Array, len(c.Blocks))
	for i := range c.Blocks {
		outs[i] = gluon.Pass(&c.Blocks[i], x)
	}
	return call.Leave(nd.Concat(outs, nd.ConcatParams{Dim: nd.Some(c.Axis)}))
}

// Identity returns its input.
type Identity struct{}

// Forward returns x.
func (Identity) Forward(x *nd.Array) *nd.Array { return x }

// Flatten joins all axes but the first.
type Flatten struct{}

// Forward returns x as a matrix with a row per sample.
func (Flatten) Forward(x *nd.Array) *nd.Array { return x.Flatten() }
