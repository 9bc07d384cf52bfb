package gluon

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"gomx/device"
	"gomx/dtype"
	nd "gomx/ndarray"
	"gomx/op"
	sym "gomx/symbol"
)

// HybridOption changes how Hybridize compiles.
type HybridOption func(*hybridConfig)

type hybridConfig struct {
	most      int // graphs kept
	noFusion  bool
	without   []string
	recompute float64
	streams   int
	precision dtype.Type // float32: as traced
	products  op.Opt[device.Products]
}

// MaxGraphs bounds the number of compiled graphs that a network keeps; the graph that has not been
// used for the longest time goes first. The default is 32.
func MaxGraphs(n int) HybridOption { return func(c *hybridConfig) { c.most = max(1, n) } }

// NoFusion compiles without the passes that rewrite the graph: results are then equal, bit for bit,
// to those of the network that runs line by line.
func NoFusion() HybridOption { return func(c *hybridConfig) { c.noFusion = true } }

// Without names passes of package compile to leave out.
func Without(passes ...string) HybridOption {
	return func(c *hybridConfig) { c.without = append(c.without, passes...) }
}

// Recompute trades time for memory in training: the backward part computes values again instead of
// keeping them, until this share of the planned memory is reached, or the least that is possible.
func Recompute(share float64) HybridOption { return func(c *hybridConfig) { c.recompute = share } }

// Streams is the number of queues of a device, at most 4, that branches of the graph run on side by
// side.
func Streams(n int) HybridOption { return func(c *hybridConfig) { c.streams = n } }

// MixedPrecision makes layers that are mostly products compute in float16 or bfloat16, as
// module.MixedPrecision does. Parameters, their gradients, arguments and outputs stay float32, and
// so do losses, exponentials and sums. Gradients of float16 are not scaled inside: multiply the loss
// by Trainer.LossScale.
func MixedPrecision(t dtype.Type) HybridOption {
	return func(c *hybridConfig) { c.precision = t }
}

// NarrowProducts sets the classes of products that processors compute in bfloat16 with
// MixedPrecision; without it, package narrow chooses the classes that this processor computes
// faster than in float32.
func NarrowProducts(p device.Products) HybridOption {
	return func(c *hybridConfig) { c.products = op.Some(p) }
}

// hybrid is the compiled side of a network.
type hybrid struct {
	config hybridConfig
	call   func(in []*nd.Array) []*nd.Array
	params func() *Params
	last   atomic.Pointer[compiled] // graph of the last call, which is tried first

	mu     sync.Mutex // guards the fields below; held while a graph is traced and compiled
	graphs map[string]*compiled
	clock  uint64 // calls that the last graph did not serve
	traces int    // how often the network has been traced
}

// Hybridize makes the network run compiled from now on: the next call traces Forward, which records
// the operations on arrays without values, and compiles the graph with all passes and a planned
// memory. Graphs are kept by shapes and types of the arguments, device and mode; arguments of
// another kind are traced anew.
//
// Forward then runs in Go only when it is traced: it must not depend on anything but its arguments,
// its parameters and values that do not change. Reading a value while it is traced is an error that
// names the line. Random numbers, moving averages, gradients and errors are the same as without
// Hybridize; so are the results, up to the rounding of fused operators (see [NoFusion]). A call with
// a sparse argument, with a row_sparse parameter that other operators than lookups read, or with a
// gradient that is a sum of sparse ones, runs line by line, and a notice says so once.
//
// A call with an argument on a tape is one recorded step, and all arguments count as being on the
// tape; gradients are computed for those that have one attached, or depend on an array that has, and
// for no others. Networks inside of a hybridized one become part of its graph.
func (n *Net) Hybridize(opts ...HybridOption) {
	h := &hybrid{config: hybridConfig{most: 32}, call: n.call, params: n.Params,
		graphs: map[string]*compiled{}}
	for _, o := range opts {
		o(&h.config)
	}
	n.hybrid.Store(h)
}

// fresh returns the same configuration without graphs.
func (h *hybrid) fresh() *hybrid {
	return &hybrid{config: h.config, call: h.call, params: h.params, graphs: map[string]*compiled{}}
}

// Unhybridize makes the network run line by line again.
func (n *Net) Unhybridize() { n.hybrid.Store(nil) }

// compiled returns the graph of the last call of a hybridized network, nil if there is none.
func (n *Net) compiled() *compiled {
	if h := n.hybrid.Load(); h != nil {
		return h.last.Load()
	}
	return nil
}

// MemoryPlan says where everything between the arguments and the outputs of a hybridized network
// lies, for arguments like the last call's: gradients too, if the last call was for training.
// A network without a call since Hybridize, or with sparse arrays, has no plan.
func (n *Net) MemoryPlan() (*sym.MemoryPlan, error) {
	switch c := n.compiled(); {
	case c == nil:
		return nil, errors.New("gluon: MemoryPlan: the network has no compiled graph: call " +
			"Hybridize, and the network once")
	case c.fn == nil:
		return nil, errors.New("gluon: MemoryPlan: the network runs line by line, because an " +
			"array is sparse")
	default:
		return c.fn.MemoryPlan()
	}
}

// forward runs the compiled network.
func (h *hybrid) forward(in []*nd.Array) []*nd.Array {
	for i, a := range in {
		if a == nil {
			panic(&op.Error{Op: "gluon", Arg: fmt.Sprintf("input %d", i), Msg: "the array is nil",
				Site: op.CallSite()})
		}
		if a.Traced() {
			return h.call(in) // part of the graph of another network
		}
	}
	if len(in) == 0 {
		return h.call(in)
	}
	c, err := h.find(in)
	if err == nil && c.fn == nil {
		return h.call(in)
	}
	if err == nil {
		var out []*nd.Array
		if out, err = c.run(in); err == nil {
			return out
		}
	}
	panic(op.WithOp(err, "gluon", "", ""))
}

// find returns the compiled graph for arguments.
func (h *hybrid) find(in []*nd.Array) (*compiled, error) {
	var buf [128]byte
	key := appendKey(buf[:0], in)
	if c := h.last.Load(); c != nil && c.key == string(key) && c.current() {
		return c, nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.graphs[string(key)]
	if c != nil && !c.current() {
		c.close()
		c = nil
	}
	if c == nil {
		var err error
		if c, err = h.compile(in); err != nil {
			return nil, err
		}
		c.key = string(key)
		h.graphs[c.key] = c
	}
	h.clock++
	c.used = h.clock
	h.evict()
	h.last.Store(c)
	return c, nil
}

// appendKey appends the facts about arguments that a graph depends on.
func appendKey(b []byte, in []*nd.Array) []byte {
	d, flags := in[0].Device(), byte(0)
	b = append(b, byte(d.Kind), byte(d.ID), byte(device.MaxTier()))
	for _, a := range in {
		if t := a.Tape(); t != nil {
			if flags |= 1; t.Training() {
				flags |= 2
			}
		}
	}
	for _, a := range in {
		wanted := byte(0)
		if flags != 0 && a.Differentiated() {
			wanted = 1
		}
		shape := a.Shape()
		b = append(b, byte(a.DType())<<1|wanted, byte(a.Storage()), byte(len(shape)))
		for _, n := range shape {
			b = binary.AppendUvarint(b, uint64(n))
		}
	}
	return append(b, flags)
}

// evict drops the graphs that have not been used for the longest time. The caller holds mu.
func (h *hybrid) evict() {
	for len(h.graphs) > h.config.most {
		var oldest *compiled
		for _, c := range h.graphs {
			if oldest == nil || c.used < oldest.used {
				oldest = c
			}
		}
		delete(h.graphs, oldest.key)
		oldest.close()
	}
}
