package gluon

import (
	"slices"
	"sync/atomic"

	nd "gomx/ndarray"
)

// Call is one call of a block, as hooks see it. Hooks do not change the arrays. While a network is
// traced the arrays have shapes and types but no values; see [Net.Hybridize].
type Call struct {
	Block any
	In    []*nd.Array
	Out   []*nd.Array // nil before the call

	hooks *hookList // nil: there are none
	watch observer  // of the recording; nil: there is none
	mark  any       // of watch, for the end of the call
}

// observer is told of the calls of blocks while a network is traced. The traced arrays lead to it.
type observer interface {
	nd.Listener
	// enter begins a call of a block. place is a pointer to the block, or to the variable that
	// holds it, or nil for the network itself.
	enter(block, place any) (mark any)
	// leave ends the call.
	leave(mark any, out []*nd.Array)
}

// observerOf returns the observer of the recording that traced arrays belong to, nil if there is
// none.
func observerOf(in []*nd.Array) observer {
	for _, a := range in {
		if a == nil {
			continue
		}
		if l := a.Tape().Listener(); l != nil {
			o, _ := l.(observer)
			return o
		}
	}
	return nil
}

// Hookable is a block that calls hooks: a layer of packages nn and rnn, or a block that embeds
// [Hooks].
type Hookable interface {
	// BeforeForward makes every call run f first. It returns a function that removes f.
	BeforeForward(f func(c *Call)) (remove func())
	// OnForward makes every call run f last. It returns a function that removes f.
	OnForward(f func(c *Call)) (remove func())
}

// Hooks is the part of a block that calls hooks. A block embeds it, and says where its Forward
// begins and ends:
//
//	type Residual struct {
//		gluon.Hooks
//		Body gluon.Block
//	}
//
//	func (r *Residual) Forward(x *nd.Array) *nd.Array {
//		call := r.Enter(r, x)
//		return call.Leave(x.Add(r.Body.Forward(x)))
//	}
//
// Without hooks a call costs a few nanoseconds more and allocates nothing. Hooks may be added and
// removed at any time; a call that is under way keeps the hooks that it began with.
//
// MXNet: Block.register_forward_pre_hook and register_forward_hook.
type Hooks struct{ list atomic.Pointer[hookList] }

// hookList holds the hooks of a block in the order in which they were added. It is not changed
// after it has been stored.
type hookList struct{ before, after []*hook }

// hook is a function with an identity.
type hook struct{ f func(c *Call) }

// BeforeForward makes every call of the block run f first, with the arguments in In. Several hooks
// run in the order in which they were added. The result removes f.
func (h *Hooks) BeforeForward(f func(c *Call)) (remove func()) {
	k := &hook{f}
	h.change(func(l *hookList) { l.before = append(slices.Clip(l.before), k) })
	return func() { h.change(func(l *hookList) { l.before = without(l.before, k) }) }
}

// OnForward makes every call of the block run f last, with the arguments in In and the results in
// Out. Several hooks run in the order in which they were added. The result removes f. A call that
// panics does not run f.
func (h *Hooks) OnForward(f func(c *Call)) (remove func()) {
	k := &hook{f}
	h.change(func(l *hookList) { l.after = append(slices.Clip(l.after), k) })
	return func() { h.change(func(l *hookList) { l.after = without(l.after, k) }) }
}

// without returns a new list without a hook.
func without(list []*hook, k *hook) []*hook {
	return slices.DeleteFunc(slices.Clone(list), func(o *hook) bool { return o == k })
}

// change stores a changed copy of the list; nil if it is empty then.
func (h *Hooks) change(f func(l *hookList)) {
	for {
		old, now := h.list.Load(), &hookList{}
		if old != nil {
			*now = *old
		}
		if f(now); len(now.before)+len(now.after) == 0 {
			now = nil
		}
		if h.list.CompareAndSwap(old, now) {
			return
		}
	}
}

// Enter begins a call of block, which embeds h. It runs the hooks of BeforeForward. The result is
// nil if there are no hooks; Leave accepts that.
func (h *Hooks) Enter(block any, in ...*nd.Array) *Call {
	l, o := h.list.Load(), observerOf(in)
	if l == nil && o == nil {
		return nil
	}
	c := &Call{Block: block, In: slices.Clone(in), hooks: l, watch: o}
	if o != nil {
		c.mark = o.enter(block, block)
	}
	if l != nil {
		for _, k := range l.before {
			k.f(c)
		}
	}
	return c
}

// Leave ends the call with its results: it runs the hooks of OnForward. It returns the first
// result.
func (c *Call) Leave(y *nd.Array, more ...*nd.Array) *nd.Array {
	if c == nil {
		return y
	}
	c.Out = append([]*nd.Array{y}, more...)
	if c.watch != nil {
		c.watch.leave(c.mark, c.Out)
	}
	if c.hooks != nil {
		for _, k := range c.hooks.after {
			k.f(c)
		}
	}
	return y
}

// Hooked gives hooks to a block that has none: a layer that is a value, such as nn.Flatten{} or
// nn.Activation("relu"), a container, or a block of another package. The parts of the block are the
// parts of Hooked.
//
//	flat := &gluon.Hooked{Block: nn.Flatten{}}
//	flat.OnForward(func(c *gluon.Call) { log.Print(c.Out[0].Shape()) })
type Hooked struct {
	Hooks
	Block Block
}

// Forward calls the block.
func (h *Hooked) Forward(x *nd.Array) *nd.Array {
	return h.Enter(h, x).Leave(h.Block.Forward(x))
}

// Held returns the block.
func (h *Hooked) Held() any { return h.Block }

// holder is a block that stands for another block: it has the parts of that block and its type in
// a Summary.
type holder interface{ Held() any }

// Pass calls a block for the container that holds it, b being the place in the container: an
// element of a slice, or a field. It is (*b).Forward(x), and lets Summary and Export know the
// place.
func Pass(b *Block, x *nd.Array) *nd.Array {
	return EnterPart(b, x).Leave((*b).Forward(x))
}

// EnterPart is [Hooks.Enter] for a container that calls one of its parts, b being the place of the
// part in the container: an element of a slice, or a field. It lets Summary and Export know the
// place, also of a part without hooks; Pass does so for a Block.
func EnterPart[B any](b *B, in ...*nd.Array) *Call {
	o := observerOf(in)
	if o == nil {
		return nil
	}
	return &Call{Block: *b, In: slices.Clone(in), watch: o, mark: o.enter(*b, b)}
}
