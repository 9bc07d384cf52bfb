package control

import (
	"unsafe"

	"gomx/op"
)

// looper is the kernel of a loop for operands of known description. All steps use one runner and
// one scratch memory; rows are read and written where they lie.
type looper struct {
	l          *loop
	body, cond *unit
	rows       int   // most steps
	rowBytes   []int // by input of the body; 0 for inputs that are no rows
	spare      []int // offsets of two buffers for each state; -1: not needed
	over       []int // by state: input of the body that the new state may overwrite; -1: none
	pred       int   // offset of the result of the condition
	needSteps  bool

	sessions pool[*loopSession]
}

type loopSession struct {
	body, cond *session
	cur        []unsafe.Pointer // values of the states
}

// prepare makes the kernel of a loop.
func (l *loop) prepare(a *op.Args) (*op.Prepared, error) {
	if a.Ready == nil && a.Device.Kind != 0 {
		return nil, op.ErrUnsupported
	}
	k := &looper{l: l, rows: max(l.max, 0)}
	g := l.full().graph
	b := op.BodyArgs{Graph: g, Train: a.Train, Fixed: make([]bool, len(l.from)),
		Need: make([]bool, len(g.Outputs))}
	k.rowBytes = make([]int, len(l.from))
	for i, s := range l.from {
		d := a.In[s.input]
		if s.kind == row {
			k.rows = max(k.rows, d.Shape[0])
			d = op.Plain(d.DType, tail(d.Shape))
			k.rowBytes[i] = d.Bytes
		}
		b.Fixed[i] = s.kind == fixed
		b.In = append(b.In, d)
	}
	for i := range b.Need {
		b.Need[i] = !l.stacked(i) || a.Needs(i)
	}
	k.needSteps = l.cond != nil && a.Needs(len(g.Outputs))
	mem := &area{}
	var err error
	if k.body, err = ready(a, mem, b); err != nil {
		return nil, err
	}
	threads := k.body.Threads
	if l.cond != nil {
		if k.cond, err = readyPred(a, mem, l.cond, l.condOf, b.Train); err != nil {
			return nil, err
		}
		k.pred = mem.part(k.cond.out[0].Bytes)
		threads = max(threads, k.cond.Threads)
	}
	k.buffers(a, mem)
	k.sessions.make = func() *loopSession {
		s := &loopSession{body: k.body.open(a.Train), cur: make([]unsafe.Pointer, l.states())}
		if k.cond != nil {
			s.cond = k.cond.open(a.Train)
		}
		return s
	}
	return &op.Prepared{Scratch: mem.bytes, Threads: threads, Run: k.run}, nil
}

// readyPred makes a condition ready.
func readyPred(a *op.Args, mem *area, g *op.Graph, from []source, train bool) (*unit, error) {
	b := op.BodyArgs{Graph: g, Train: train, Fixed: make([]bool, len(from)), Need: []bool{true}}
	for i, s := range from {
		b.In = append(b.In, a.In[s.input])
		b.Fixed[i] = s.kind == fixed
	}
	return ready(a, mem, b)
}

// buffers plans the memory of states between steps: a state that is overwritten in place lies in
// the output, others change between the output and one buffer. Where nobody wants the output there
// is one more buffer in its place.
func (k *looper) buffers(a *op.Args, mem *area) {
	l := k.l
	for j := range l.states() {
		over := -1
		for _, pair := range k.body.Over {
			if s := l.from[pair[0]]; pair[1] == l.outs+j && s.kind == state && s.state == j {
				over = pair[0]
			}
		}
		bytes := k.body.out[l.outs+j].Bytes
		here, there := -1, -1
		if !a.Needs(l.outs + j) {
			here = mem.part(bytes)
		}
		if over < 0 {
			there = mem.part(bytes)
		}
		k.spare = append(k.spare, here, there)
		k.over = append(k.over, over)
	}
}

// run runs all steps.
func (k *looper) run(c *op.Call) error {
	s := k.sessions.take()
	defer k.sessions.give(s)
	l := k.l
	s.body.Scratch, s.body.Queue = unsafe.Add(c.Scratch, k.body.at), c.Queue
	cur := s.cur
	for i, src := range l.from {
		if src.kind != row {
			s.body.In[i].Data = c.In[src.input].Data
		}
	}
	for j := range cur {
		cur[j] = c.In[l.first[j]].Data
	}
	steps := k.rows
	if l.counted {
		steps = int(*(*int64)(c.In[l.inputs-1].Data))
	}
	if err := k.begin(s, c); err != nil {
		return err
	}
	done := 0
	for ; done < steps; done++ {
		if k.cond != nil {
			if ok, err := k.test(s.cond, c, cur, done); err != nil || !ok {
				if err != nil {
					return err
				}
				break
			}
		}
		if err := k.step(s.body, c, cur, done, steps); err != nil {
			return err
		}
	}
	k.finish(c, cur, done)
	return nil
}

// begin readies the runners of a session.
func (k *looper) begin(s *loopSession, c *op.Call) error {
	if err := s.body.Begin(&s.body.Call); err != nil || k.cond == nil {
		return err
	}
	s.cond.Scratch, s.cond.Queue = unsafe.Add(c.Scratch, k.cond.at), c.Queue
	for i, src := range k.l.condOf {
		s.cond.In[i].Data = c.In[src.input].Data
	}
	return s.cond.Begin(&s.cond.Call)
}

// test runs the condition.
func (k *looper) test(s *session, c *op.Call, cur []unsafe.Pointer, step int) (bool, error) {
	for i, src := range k.l.condOf {
		if src.kind == state {
			s.In[i].Data = cur[src.state]
		}
	}
	s.Out[0].Data = unsafe.Add(c.Scratch, k.pred)
	s.Seed = c.Seed.AtStep(1, step)
	err := s.Run(&s.Call)
	return err == nil && truth(s.Out[0]), err
}

// home is the memory that the last value of a state goes to.
func (k *looper) home(c *op.Call, j int) unsafe.Pointer {
	if at := k.spare[2*j]; at >= 0 {
		return unsafe.Add(c.Scratch, at)
	}
	return c.Out[k.l.outs+j].Data
}

// step runs the body once. cur has the states, which it replaces by the new ones.
func (k *looper) step(s *session, c *op.Call, cur []unsafe.Pointer, step, steps int) error {
	l := k.l
	at := step
	if l.reverse {
		at = steps - 1 - step
	}
	for j := range cur {
		home := k.home(c, j)
		i := l.outs + j
		if k.over[j] >= 0 {
			copyMemory(home, cur[j], s.Out[i].Bytes)
			cur[j] = home
		}
		s.Out[i].Data = home
		if cur[j] == home && k.over[j] < 0 {
			s.Out[i].Data = unsafe.Add(c.Scratch, k.spare[2*j+1])
		}
	}
	for i, src := range l.from {
		switch src.kind {
		case row:
			s.In[i].Data = unsafe.Add(c.In[src.input].Data, at*k.rowBytes[i])
		case state:
			s.In[i].Data = cur[src.state]
		}
	}
	for i := range s.Out {
		if l.stacked(i) && k.body.args.Need[i] {
			s.Out[i].Data = unsafe.Add(c.Out[i].Data, at*s.Out[i].Bytes)
		}
	}
	s.Seed = c.Seed.AtStep(0, step)
	if err := s.Run(&s.Call); err != nil {
		return err
	}
	for j := range cur {
		cur[j] = s.Out[l.outs+j].Data
	}
	return nil
}

// finish moves the states into the outputs, and clears the rows of steps that were not taken.
func (k *looper) finish(c *op.Call, cur []unsafe.Pointer, done int) {
	l := k.l
	for j := range cur {
		if k.spare[2*j] < 0 {
			copyMemory(c.Out[l.outs+j].Data, cur[j], k.body.out[l.outs+j].Bytes)
		}
	}
	for i, d := range k.body.out {
		if l.stacked(i) && k.body.args.Need[i] {
			clearMemory(unsafe.Add(c.Out[i].Data, done*d.Bytes), c.Out[i].Shape.Size()*
				d.DType.Size()-done*d.Bytes)
		}
	}
	if k.needSteps {
		*(*int64)(c.Out[len(k.body.out)].Data) = int64(done)
	}
}
