package gluon

import (
	"sync/atomic"

	"gomx/initializer"
	nd "gomx/ndarray"
)

// Block is a network with one input and one output. Its parameters and parts are found in the
// exported fields of the struct; see the package documentation.
type Block interface {
	Forward(x *nd.Array) *nd.Array
}

// Func is a block without parameters: a function of one array.
type Func func(x *nd.Array) *nd.Array

// Forward calls f.
func (f Func) Forward(x *nd.Array) *nd.Array { return f(x) }

// Net is a block with the operations that concern it as a whole. Its hooks run in every call, also
// where the network is hybridized.
type Net struct {
	Hooks
	root   any
	call   func(in []*nd.Array) []*nd.Array
	hybrid atomic.Pointer[hybrid] // nil: the network runs line by line
}

// New makes a network of a block with one input and one output.
func New(b Block) *Net {
	return Wrap(b, func(in []*nd.Array) []*nd.Array { return []*nd.Array{b.Forward(in[0])} })
}

// Wrap makes a network of a block with any inputs and outputs: call calls its Forward. call gets as
// many arrays as Call is given, and checks their number itself.
func Wrap(root any, call func(in []*nd.Array) []*nd.Array) *Net {
	n := &Net{root: root, call: call}
	n.Params() // declares them, and gives them their names
	return n
}

// OneTape puts arrays that are on no tape on the tape of the others, so that parameters that are read
// by any of them get gradients. It returns in itself if there is nothing to do. An array gets a
// gradient only if one is attached to it. Layers with several arguments begin with it.
func OneTape(in []*nd.Array) []*nd.Array {
	var tape *nd.Tape
	apart := false
	for _, a := range in {
		if a == nil {
			continue
		}
		if t := a.Tape(); t != nil {
			tape = t
		} else {
			apart = true
		}
	}
	if tape == nil || !apart {
		return in
	}
	out := make([]*nd.Array, len(in))
	for i, a := range in {
		if out[i] = a; a != nil && a.Tape() == nil {
			out[i] = tape.Watch(a)
		}
	}
	return out
}

// Forward calls the network with one input and returns its first output. It panics with *op.Error
// where shapes do not fit or parameters have no values.
func (n *Net) Forward(x *nd.Array) *nd.Array { return n.Call(x)[0] }

// Call calls the network. If an argument is on a tape, all are: see [OneTape].
func (n *Net) Call(in ...*nd.Array) []*nd.Array {
	call := n.Enter(n, in...)
	var out []*nd.Array
	if h := n.hybrid.Load(); h != nil {
		out = h.forward(in)
	} else {
		out = n.call(OneTape(in))
	}
	if call != nil && len(out) > 0 {
		call.Leave(out[0], out[1:]...)
	}
	return out
}

// Apply calls f for the blocks of the network, parts before the blocks that hold them; see [Apply].
func (n *Net) Apply(f func(path string, block any)) { Apply(n.root, f) }

// Params lists the parameters.
func (n *Net) Params() *Params {
	ps := ParamsOf(n.root)
	ps.net = n
	return ps
}

// Init is Params().Init.
func (n *Net) Init(init initializer.Initializer, opts ...InitOption) error {
	return n.Params().Init(init, opts...)
}

// Save is Params().Save.
func (n *Net) Save(path string, opts ...SaveOption) error { return n.Params().Save(path, opts...) }

// Load is Params().Load.
func (n *Net) Load(path string, opts ...LoadOption) error { return n.Params().Load(path, opts...) }
