package control

import (
	"sync"
	"unsafe"

	"gomx/dtype"
	"gomx/op"
)

// line is the alignment of parts of scratch memory, in bytes.
const line = 64

// area divides scratch memory into parts.
type area struct{ bytes int }

// part returns the offset of a new part.
func (a *area) part(bytes int) int {
	at := a.bytes
	a.bytes += (bytes + line - 1) / line * line
	return at
}

// unit is a graph made ready, with its places in the scratch memory and the sizes of its operands.
type unit struct {
	*op.Body
	args op.BodyArgs
	out  []op.Desc
	at   int // offset of its scratch memory
}

// ready makes a graph ready for inputs of known description. The scratch memory is a part of a.
func ready(a *op.Args, mem *area, b op.BodyArgs) (*unit, error) {
	u := &unit{args: b}
	shapes, types := make([]dtype.Shape, len(b.In)), make([]dtype.Type, len(b.In))
	for k, d := range b.In {
		shapes[k], types[k] = d.Shape, d.DType
	}
	outShapes := make([]dtype.Shape, len(b.Graph.Outputs))
	outTypes := make([]dtype.Type, len(b.Graph.Outputs))
	for i := range outTypes {
		outTypes[i] = dtype.Unknown
	}
	if err := inferShapes(b.Graph, shapes, outShapes); err != nil {
		return nil, err
	}
	if err := inferTypes(b.Graph, types, outTypes); err != nil {
		return nil, err
	}
	for i := range outShapes {
		if b.Need[i] && (!outShapes[i].Known() || outTypes[i] == dtype.Unknown) {
			return nil, op.Errorf("subgraphs", "output %s has the shape %v and the type %v: not "+
				"enough is known to run it", b.Graph.Outputs[i], outShapes[i], outTypes[i])
		}
		u.out = append(u.out, op.Plain(outTypes[i], outShapes[i]))
	}
	var err error
	if a.Ready != nil {
		u.Body, err = a.Ready(b)
	} else {
		u.Body, err = interpreted(a, b, u.out)
	}
	if err != nil {
		return nil, err
	}
	u.at = mem.part(u.Scratch)
	return u, nil
}

// session is one running graph: a runner and the operands of its calls.
type session struct {
	op.Runner
	op.Call
}

// open makes a session of a unit.
func (u *unit) open(train bool) *session {
	s := &session{Runner: u.New()}
	s.Train = train
	s.In, s.Out = make([]op.Tensor, len(u.args.In)), make([]op.Tensor, len(u.out))
	for k, d := range u.args.In {
		s.In[k].Desc = d
	}
	for i, d := range u.out {
		s.Out[i].Desc = d
	}
	return s
}

// pool keeps values that calls of a kernel use one at a time.
type pool[T any] struct {
	mu   sync.Mutex
	free []T
	make func() T
}

func (p *pool[T]) take() T {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.free); n > 0 {
		v := p.free[n-1]
		p.free = p.free[:n-1]
		return v
	}
	return p.make()
}

func (p *pool[T]) give(v T) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = append(p.free, v)
}

// truth reads the result of a condition.
func truth(t op.Tensor) bool {
	size := t.DType.Size()
	if t.DType.IsFloat() {
		return !zeroFloat(t)
	}
	for _, b := range unsafe.Slice((*byte)(t.Data), size) {
		if b != 0 {
			return true
		}
	}
	return false
}

// zeroFloat reports whether a number is zero of either sign: all bits but the sign are zero.
func zeroFloat(t op.Tensor) bool {
	bytes := unsafe.Slice((*byte)(t.Data), t.DType.Size())
	for i, b := range bytes {
		if i == len(bytes)-1 {
			b &= 0x7f
		}
		if b != 0 {
			return false
		}
	}
	return true
}

func clearMemory(p unsafe.Pointer, bytes int) {
	if p != nil && bytes > 0 {
		clear(unsafe.Slice((*byte)(p), bytes))
	}
}

func copyMemory(to, from unsafe.Pointer, bytes int) {
	if to != from && bytes > 0 {
		copy(unsafe.Slice((*byte)(to), bytes), unsafe.Slice((*byte)(from), bytes))
	}
}
