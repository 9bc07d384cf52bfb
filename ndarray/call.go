package ndarray

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"gomx/device"
	"gomx/engine"
	"gomx/op"
)

// inlineOperands is the number of operands that a call holds without another allocation.
const inlineOperands = 8

// maxRunParams is the number of parameters read at run time that a call holds without another
// allocation.
const maxRunParams = 4

// call is the argument block of one pushed operation. Blocks are pooled; the engine owns a block
// from the push to the end of runCall. The block of a skipped or failed operation is left to the
// garbage collector, because errors may still ask for its description.
type call struct {
	plan     *plan
	dev      device.Device
	args     op.Call
	tensors  [inlineOperands]op.Tensor
	values   [maxRunParams]float64      // memory of args.Values
	uses     [inlineOperands]engine.Use // used until the push has copied them
	describe func() string              // String, bound once

	// Used on devices with queues only.
	done     func(error)  // completes the engine's operation
	scratch  device.Block // freed when the device has completed the call
	complete func(error)  // completed, bound once
}

var calls = sync.Pool{New: func() any {
	c := &call{}
	c.describe = c.String
	return c
}}

// newCall fills in a block with the addresses of the operands.
func newCall(iv *invocation, p *plan, results []*Array) *call {
	c := calls.Get().(*call)
	c.plan, c.dev = p, iv.dev
	n := len(iv.in) + len(results)
	t := c.tensors[:]
	if n > len(t) {
		t = make([]op.Tensor, n)
	}
	c.args.In, c.args.Out = t[:len(iv.in):len(iv.in)], t[len(iv.in):n:n]
	for i, a := range iv.in {
		c.args.In[i].Desc = p.in[i]
		if !p.ignored[i] && a.chunk != nil {
			if c.args.In[i].Sparse = a.chunk.sparse; a.chunk.sparse == nil {
				c.args.In[i].Data = a.Pointer()
			}
		}
	}
	for i, a := range results {
		c.args.Out[i].Desc = p.kernel.Out[i]
		if c.args.Out[i].Sparse = a.chunk.sparse; a.chunk.sparse == nil {
			c.args.Out[i].Data = a.Pointer()
		}
	}
	c.args.Train = p.train
	c.args.Values = iv.op.AppendRun(c.values[:0], iv.params)
	if p.op.Random {
		c.args.Seed = iv.reserve(p)
	}
	return c
}

// runCall is the body of every operation.
func runCall(r *engine.Run) error {
	c := r.Arg.(*call)
	k := c.plan.kernel
	var scratch device.Block
	if k.Scratch > 0 {
		var err error
		if scratch, err = device.Alloc(c.dev, k.Scratch, device.PurposeScratch); err != nil {
			return err
		}
		defer scratch.Free()
		c.args.Scratch = scratch.Ptr
	}
	if p := r.Profile(); p != nil {
		defer record(p, c.plan, c.dev, r.Worker, p.Now())
	}
	if err := k.Run(&c.args); err != nil {
		return err
	}
	c.recycle()
	return nil
}

// record adds a call that has begun at a time to a profile.
func record(to *engine.Profile, p *plan, d device.Device, worker int, start time.Duration) {
	cost := p.op.Cost(p.params, p.in, p.out)
	to.Kernel(engine.Kernel{Node: p.op.Name, Op: p.op.Name, Bytes: cost.Bytes, FLOPs: cost.FLOPs,
		Lane: engine.Lane{Device: d}, Worker: worker, Start: start})
}

// waitCall is the body of operations that wait for operations on other devices. They have a
// goroutine of their own, because the workers of the engine are needed for the others.
func waitCall(r *engine.Run, done func(error)) {
	go func() { done(runCall(r)) }()
}

// queueCall is the body of operations on devices with queues: it appends the kernel's work to the
// queue.
func queueCall(r *engine.Run, done func(error)) {
	c := r.Arg.(*call)
	q, err := device.QueueOf(c.dev, device.QueueCompute)
	if err != nil {
		done(err)
		return
	}
	if c.complete == nil {
		c.complete = c.completed
	}
	c.done, c.args.Queue = done, q
	if err = r.Begin(q); err == nil {
		err = c.put()
	}
	r.Finish(q, c.complete, err)
}

// put puts the kernel's work on the queue of the arguments. The scratch memory stays until settle.
func (c *call) put() (err error) {
	k := c.plan.kernel
	if k.Scratch > 0 {
		if c.scratch, err = device.Alloc(c.dev, k.Scratch, device.PurposeScratch); err != nil {
			return err
		}
		c.args.Scratch = c.scratch.Ptr
	}
	return k.Run(&c.args)
}

// settle frees the scratch memory of a call that the device has completed, and recycles the block
// unless the call failed.
func (c *call) settle(err error) {
	c.scratch.Free()
	c.scratch = device.Block{}
	if err == nil {
		c.recycle()
	}
}

// completed runs when the device has completed the call.
func (c *call) completed(err error) {
	done := c.done
	c.done = nil
	c.settle(err)
	done(err)
}

// recycle clears the block's references and returns it to the pool. It clears only the parts that
// were used: a block has half a kilobyte.
func (c *call) recycle() {
	used := min(len(c.args.In)+len(c.args.Out), inlineOperands)
	clear(c.tensors[:used])
	clear(c.uses[:used])
	c.plan, c.args = nil, op.Call{}
	calls.Put(c)
}

// String describes the operands, for errors.
func (c *call) String() string {
	var b strings.Builder
	b.WriteString(c.plan.describeInputs())
	b.WriteString(" → ")
	for i, d := range c.plan.out {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%v %v", d.DType, d.Shape)
	}
	return b.String()
}
