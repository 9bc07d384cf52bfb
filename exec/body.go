package exec

import (
	"slices"
	"unsafe"

	"gomx/compile"
	"gomx/op"
)

// body runs the program of a graph inside an operator, step after step in the goroutine of the
// operator's kernel. It is immutable; runners have the state of calls.
type body struct {
	*compile.Body
	scratch int          // bytes of the arena and of the kept forms
	kept    map[int]int  // offsets of kept forms in the scratch memory, by slot
	once    map[int]bool // steps that make forms of inputs that stay the same, by number
}

// line is the alignment of kept forms in scratch memory, in bytes.
const line = 64

// newBody makes a compiled graph ready to run.
func newBody(p *compile.Body) *op.Body {
	b := &body{Body: p, kept: map[int]int{}, once: map[int]bool{}}
	round := func(n int64) int { return int((n + line - 1) / line * line) }
	for _, r := range p.Memory.Rooms {
		b.scratch += round(r.Bytes)
	}
	threads := 1
	for i := range p.Steps {
		s := &p.Steps[i]
		threads = max(threads, s.Kernel.Threads)
		if s.Form == nil {
			continue
		}
		b.once[i] = !slices.ContainsFunc(s.Form.Inputs,
			func(slot int) bool { return !p.Fixed[slot] })
		for _, slot := range s.Form.Outputs {
			b.kept[slot] = b.scratch
			b.scratch += round(int64(p.Slots[slot].Desc.Bytes))
		}
	}
	return &op.Body{Scratch: b.scratch, Threads: threads, Over: b.over(), New: b.runner}
}

// over finds outputs that are written in place of an input, where no other step uses either.
func (b *body) over() (pairs [][2]int) {
	uses := map[int]int{}
	for i := range b.Steps {
		for _, o := range b.Steps[i].External {
			uses[o.Slot]++
		}
	}
	for i := range b.Steps {
		s := &b.Steps[i]
		if s.Kernel.Apart {
			continue
		}
		for _, pair := range s.Node.Op.Inplace {
			in, out := -1, -1
			for _, o := range s.External {
				switch {
				case uses[o.Slot] > 1:
				case o.Out && o.Index == pair[1]:
					out = slices.Index(b.Outputs, o.Slot)
				case !o.Out && o.Index == pair[0]:
					in = slices.Index(b.Inputs, o.Slot)
				}
			}
			if in >= 0 && out >= 0 &&
				b.Slots[b.Inputs[in]].Desc.Bytes == b.Slots[b.Outputs[out]].Desc.Bytes {
				pairs = append(pairs, [2]int{in, out})
			}
		}
	}
	return pairs
}

// runner is the state of one call of an operator: the calls of the kernels with their addresses.
type runner struct {
	b     *body
	calls []op.Call        // by step
	slots []unsafe.Pointer // addresses by slot
	base  unsafe.Pointer   // scratch memory that the calls' addresses were made for
}

func (b *body) runner() op.Runner {
	r := &runner{b: b, calls: make([]op.Call, len(b.Steps)),
		slots: make([]unsafe.Pointer, len(b.Slots))}
	for i := range b.Steps {
		c := b.Steps[i].Call
		c.In, c.Out = slices.Clone(c.In), slices.Clone(c.Out)
		r.calls[i] = c
	}
	return r
}

// Begin fills in the addresses that stay the same for a loop, and makes the forms of inputs that
// do.
func (r *runner) Begin(c *op.Call) error {
	if r.base != c.Scratch {
		r.locate(c.Scratch)
	}
	for k, slot := range r.b.Inputs {
		if slot >= 0 && r.b.Fixed[slot] {
			r.slots[slot] = c.In[k].Data
		}
	}
	for i := range r.b.Steps {
		if r.b.once[i] {
			if err := r.step(i, c); err != nil {
				return err
			}
		}
	}
	return nil
}

// locate fills in the addresses of operands in the arena.
func (r *runner) locate(base unsafe.Pointer) {
	r.base = base
	for i := range r.b.Steps {
		s, c := &r.b.Steps[i], &r.calls[i]
		for k := range s.Internal {
			o := &s.Internal[k]
			o.Of(c).Data = unsafe.Add(base, o.Offset)
		}
		if s.Scratch >= 0 {
			c.Scratch = unsafe.Add(base, s.Scratch)
		}
	}
	for slot, at := range r.b.kept {
		r.slots[slot] = unsafe.Add(base, at)
	}
}

// Run runs all steps but those that Begin has run.
func (r *runner) Run(c *op.Call) error {
	for k, slot := range r.b.Inputs {
		if slot >= 0 {
			r.slots[slot] = c.In[k].Data
		}
	}
	for i, slot := range r.b.Outputs {
		if slot >= 0 {
			r.slots[slot] = c.Out[i].Data
		}
	}
	for i := range r.b.Steps {
		if !r.b.once[i] {
			if err := r.step(i, c); err != nil {
				return err
			}
		}
	}
	return nil
}

// step runs the kernel of one step.
func (r *runner) step(i int, outer *op.Call) error {
	s, c := &r.b.Steps[i], &r.calls[i]
	if s.Skip {
		return nil
	}
	for k := range s.External {
		o := &s.External[k]
		o.Of(c).Data = r.slots[o.Slot]
	}
	if s.Node.Op.Random {
		c.Seed = outer.Seed.AtNode(s.Stream)
	}
	c.Queue = outer.Queue
	if err := s.Kernel.Run(c); err != nil {
		return describe(s, c, err)
	}
	return nil
}
