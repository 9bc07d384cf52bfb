package ps_test

import (
	"encoding/binary"
	"errors"
	"math"

	"gomx/dtype"
	"gomx/kvstore/ps"
	"gomx/kvstore/ps/server"
	"gomx/kvstore/ps/worker"
	"gomx/kvstore/wire"
)

// kind says what the workers of a run do.
type kind int

const (
	rounds   kind = iota // push and pull in rounds; the result is compared with a plain loop
	counting             // pushes in rounds that are counted, for policies that leave some out
	single               // pushes that are applied one by one
	tables               // rows
)

// workload is what the workers of a run do.
type workload struct {
	kind   kind
	steps  int
	keys   int
	slices int
	fused  bool
	mom    bool // with an optimizer that has a state
	snap   int  // a snapshot at this clock, 0: none
	hasty  bool // pushes and pulls have short deadlines; what is not there by then is pulled again
	// in rounds: gradients depend on no weights, and the program waits for pushes of key 0 alone
	apart  bool
	sparse bool // keys have rows
}

// elems is the length of a slice: a slot for every push of every worker.
func (l workload) elems(workers int) int { return (workers*l.slots() + 15) / 16 * 16 }

// slots leaves room for pushes that are repeated under another number.
func (l workload) slots() int { return l.steps * 3 }

// push is what became of one push, by key and slot.
type pushed struct {
	key     int
	slot    int
	ended   bool
	err     error
	outcome wire.Outcome
}

// program is what a worker process runs. It is a state machine too: run goes on as far as it can.
type program struct {
	sim      *sim
	rank     int
	load     workload
	w        *worker.Worker
	phase    int
	step     int
	pending  map[uint64]*pending
	async    map[uint64]*pending // calls that the program does not wait for
	weights  [][]byte
	grads    [][]byte
	table    *worker.Table
	rowBuf   []byte
	rows     []uint32
	stop     int // steps to do
	finished bool
	dead     bool
	thought  bool
	slot     int                // next unused, in counting runs
	pushes   map[[2]int]*pushed // by key and slot
	seen     map[uint32]uint64  // clocks pulled by this process, per key
	own      map[int]bool       // keys that this process has pushed
	at       map[int]int        // clocks from which the staleness of what it has of keys counts
	snapped  bool
}

// pending is a call that has not ended.
type pending struct {
	op       string
	key      int
	deadline ps.Time
	push     *pushed
	after    func()
	value    []byte // what is pushed
	out      []byte // room for what is pulled
}

const (
	phaseJoin = iota
	phaseInit
	phaseBarrier
	phaseFirst
	phaseStep
	phaseRead
	phaseLast
	phaseOver
)

// start begins the program in a new process.
func (p *program) start(w *worker.Worker) {
	if p.pushes == nil {
		p.pushes = map[[2]int]*pushed{}
	}
	p.w, p.phase, p.step, p.dead, p.finished, p.thought = w, phaseJoin, 0, false, false, false
	p.pending, p.async = map[uint64]*pending{}, map[uint64]*pending{}
	p.seen, p.own = map[uint32]uint64{}, map[int]bool{}
	p.at = map[int]int{}
	p.weights, p.grads = nil, nil
	n := 4 * p.load.slices * p.load.elems(p.sim.cfg.workers)
	for range p.load.keys {
		p.weights = append(p.weights, make([]byte, n))
		p.grads = append(p.grads, make([]byte, n))
	}
}

func (p *program) call(op string, key int, id uint64, err error) *pending {
	if err != nil {
		if errors.Is(err, ps.ErrFenced) {
			p.fenced()
		} else if p.sim.alone && errors.Is(err, ps.ErrNoScheduler) {
			p.sim.ends[p.sim.worker[p.rank].node] = err
			p.dead = true
		} else {
			p.sim.fail("worker %d: %v", p.rank, err)
		}
		return &pending{}
	}
	c := &pending{op: op, key: key, deadline: p.sim.now + p.sim.wait}
	p.pending[id] = c
	return c
}

// fenced ends the process; a new one takes its place.
func (p *program) fenced() {
	if p.dead {
		return
	}
	p.dead = true
	proc := p.sim.worker[p.rank]
	gen := proc.gen
	p.sim.after(ps.Second, func() {
		if proc.gen == gen {
			p.sim.boot(proc)
		}
	})
}

// ended takes in how a call ended.
func (p *program) ended(d ps.Done) {
	c := p.pending[d.ID]
	if c == nil {
		c = p.async[d.ID]
		delete(p.async, d.ID)
	}
	if c == nil {
		return
	}
	delete(p.pending, d.ID)
	if p.sim.now > c.deadline+2*tickEvery+recallTakes && p.sim.worker[p.rank].pausedU == 0 &&
		!p.sim.alone {
		p.sim.fail("I7: %s of key %d by worker %d ended %.3f s late", c.op, c.key, p.rank,
			float64(p.sim.now-c.deadline)/1e9)
	}
	if c.push != nil {
		c.push.ended, c.push.err, c.push.outcome = true, d.Err, d.Outcome
	}
	switch {
	case errors.Is(d.Err, ps.ErrFenced):
		p.fenced()
		return
	case errors.Is(d.Err, ps.ErrTimeout) && p.load.hasty && (c.op == "push" || c.op == "pull"):
		p.tooLate(c)
		return
	case p.sim.alone && errors.Is(d.Err, ps.ErrNoScheduler):
		p.sim.ends[p.sim.worker[p.rank].node] = d.Err
		p.dead = true
		return
	case d.Err != nil:
		p.sim.fail("worker %d: %v", p.rank, d.Err)
		p.dead = true
		return
	}
	if c.op == "pull" || c.op == "push" && c.out != nil {
		key := uint32(c.key)
		if d.Clock < p.seen[key] && p.load.kind != single && p.load.kind != tables {
			p.sim.fail("I5: worker %d sees key %d at clock %d after %d", p.rank, key, d.Clock,
				p.seen[key])
		}
		p.seen[key] = max(p.seen[key], d.Clock)
	}
	if c.after != nil {
		c.after()
	}
}

// until is the deadline of a push or pull that begins now.
func (p *program) until() ps.Time {
	if p.load.hasty {
		return p.sim.now + 100*ps.Millisecond + ps.Time(p.sim.rng.Int64N(int64(ps.Second)))
	}
	return p.sim.now + p.sim.wait
}

// tooLate goes on after a push or pull whose deadline has passed. What it was given is used for
// something else at once; the push is done when it can be, with the values that it had.
func (p *program) tooLate(c *pending) {
	p.sim.late++
	for _, b := range [][]byte{c.value, c.out} {
		for i := range b {
			b[i] = 0xa5
		}
	}
	if c.out == nil {
		return
	}
	out := make([]byte, len(c.out)) // nobody writes to the old one any more
	p.weights[c.key] = out
	p.pullTo(c.key, out, c.after)
	spoilt := c.out
	p.sim.after(10*ps.Second, func() {
		for _, v := range spoilt {
			if v != 0xa5 {
				p.sim.fail("worker %d: room for key %d is written to after the call has ended",
					p.rank, c.key)
				return
			}
		}
	})
}

// think lets a worker compute for a while between its steps. It reports whether the program has to
// wait.
func (p *program) think() bool {
	if p.thought {
		p.thought = false
		return false
	}
	d := ps.Time(p.sim.rng.Int64N(int64(2 * ps.Millisecond)))
	if p.sim.cfg.think > 0 && p.sim.rng.IntN(2) == 0 {
		d = ps.Time(p.sim.rng.Int64N(int64(p.sim.cfg.think)))
	}
	proc := p.sim.worker[p.rank]
	gen := proc.gen
	c := &pending{op: "think", deadline: 1 << 62}
	id := uint64(1) << 60
	p.pending[id] = c
	p.sim.after(d, func() {
		if proc.gen == gen && proc.m != nil {
			delete(p.pending, id)
			p.thought = true
			if p.sim.now >= proc.pausedU {
				p.sim.drain(proc)
			}
		}
	})
	return true
}

// run goes on until it has to wait.
func (p *program) run() {
	for !p.dead && p.w != nil && len(p.pending) == 0 && p.phase != phaseOver {
		p.advance()
	}
}

func (p *program) advance() {
	now, until := p.sim.now, p.sim.now+p.sim.wait
	if p.phase == phaseInit || p.phase == phaseBarrier || p.phase == phaseLast {
		p.sim.moment()
	}
	switch p.phase {
	case phaseJoin:
		id, err := p.w.Join(now, until)
		p.call("join", 0, id, err)
		p.phase = phaseInit
	case phaseInit:
		p.init()
		p.phase = phaseBarrier
	case phaseBarrier:
		id, err := p.w.Barrier(now, until)
		p.call("barrier", 0, id, err)
		p.phase = phaseFirst
	case phaseFirst:
		p.phase = phaseStep
		p.resume()
	case phaseStep:
		p.next()
	case phaseRead:
		p.phase = phaseStep
		if p.load.apart {
			return
		}
		if !p.load.fused {
			p.pull()
		} else {
			p.look()
		}
	case phaseLast:
		switch err := p.w.Err(); { // perhaps no call is left to say so
		case errors.Is(err, ps.ErrFenced):
			p.fenced()
			return
		case p.sim.alone && errors.Is(err, ps.ErrNoScheduler):
			p.sim.ends[p.sim.worker[p.rank].node] = err
			p.dead = true
			return
		}
		if len(p.async) > 0 || (p.load.hasty || p.load.apart) && !p.w.Drained() {
			p.think()
			return
		}
		p.phase = phaseOver
		if p.load.kind == counting {
			// clocks of keys differ after a death: others may want more rounds than this worker has
			p.w.Leave()
		}
		p.finished = true
	}
}

// resume finds out where an earlier process has stopped.
func (p *program) resume() {
	if p.load.kind == tables {
		p.step = int(p.w.Clocks())
		return
	}
	p.step = int(p.w.Pushes(0))
	for k := range p.load.keys {
		p.step = min(p.step, int(p.w.Pushes(uint32(k))))
	}
	if p.load.kind == counting {
		p.step = min(p.stop, p.step)
	}
	p.pull()
}

// next begins a step.
func (p *program) next() {
	if p.load.snap > 0 && !p.snapped && p.rank == 0 && p.step == p.load.snap-1 {
		p.snapped = true
		p.sim.moment()
		// It ends while training goes on, or fails because a key has been faster.
		_, _ = p.w.Snapshot(p.sim.now, uint64(p.load.snap), p.sim.now+p.sim.wait)
	}
	if p.step >= p.stop {
		p.phase = phaseLast
		return
	}
	if p.think() {
		return
	}
	if p.sim.rng.IntN(2) == 0 {
		p.step += int(p.w.Skip())
		if p.step >= p.stop {
			return
		}
	}
	p.step++
	if p.load.kind == tables {
		p.tableStep()
		return
	}
	p.push()
	if p.phase == phaseStep {
		p.phase = phaseRead
	}
}

func (p *program) init() {
	now, until := p.sim.now, p.sim.now+p.sim.wait
	if p.load.kind == tables {
		width := p.sim.cfg.workers * p.load.slots()
		t, id, err := p.w.Table(now, 0, worker.TableSpec{Rows: 12, RowSize: 4 * width,
			CacheRows: 3},
			until)
		p.call("table", 0, id, err)
		p.table = t
		return
	}
	spec := worker.KeySpec{Total: uint64(len(p.weights[0])), Direct: p.load.kind == single}
	for k := range p.load.keys {
		value := p.load.initial(k, p.sim.cfg.workers)
		if p.load.sparse {
			if spec = p.load.keySpec(k, p.sim.cfg.workers); spec.First == nil {
				value = nil
			}
		}
		id, err := p.w.Init(now, uint32(k), spec, value, until)
		p.call("init", k, id, err)
	}
}

// initial is the value that a key begins with.
func (l workload) initial(key, workers int) []byte {
	b := make([]byte, 4*l.slices*l.elems(workers))
	switch {
	case l.sparse && key%2 == 1:
		l.firstRows(b, key, workers)
	case l.kind == rounds:
		for i := range len(b) / 4 {
			putFloat(b, i, gradient(99, key, 0, i, 0))
		}
	}
	return b
}

func putFloat(b []byte, i int, v float32) {
	binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(v))
}

func getFloat(b []byte, i int) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
}

// gradient is a number whose sum over ranks depends on the order.
func gradient(rank, key, step, i int, w float32) float32 {
	h := uint64(rank+1)*0x9E3779B97F4A7C15 ^ uint64(key+1)*0xC2B2AE3D27D4EB4F ^ uint64(
		step+1)*0x165667B19E3779F9 ^ uint64(i+1)*0x27D4EB2F165667C5
	h ^= h >> 29
	h *= 0xBF58476D1CE4E5B9
	h ^= h >> 32
	v := (1 + float32(h&0xffff)/65536) * float32(math.Ldexp(1, int(h>>16&15)-8))
	if h>>40&1 != 0 {
		v = -v
	}
	return v + w*0.125
}

// other is the element of another key's weights on which an element of a gradient depends.
func (l workload) other(weights [][]byte, k, i int) float32 {
	if l.apart {
		return 0
	}
	return getFloat(weights[(k+1)%l.keys], i)
}

func (p *program) fillGradients() {
	workers := p.sim.cfg.workers
	per := p.load.elems(workers)
	for k := range p.load.keys {
		clear(p.grads[k])
		if p.load.kind == rounds {
			for i := range len(p.grads[k]) / 4 {
				if !p.load.touches(p.rank, k, p.step, i/rowElems) {
					continue
				}
				putFloat(p.grads[k], i, gradient(p.rank, k, p.step, i, p.load.other(p.weights, k,
					i)))
			}
			continue
		}
		for sl := range p.load.slices {
			putFloat(p.grads[k], sl*per+p.rank*p.load.slots()+p.slotNow(), 1)
		}
	}
}

// slotNow is the slot of the current push.
func (p *program) slotNow() int {
	if p.load.kind == counting {
		return p.slot
	}
	return p.step - 1
}

func (p *program) push() {
	if p.load.kind == counting && p.slot >= p.load.slots() {
		p.phase = phaseLast
		p.step = p.stop
		return
	}
	if p.load.kind != rounds || p.load.apart {
		for k := range p.grads { // earlier pushes may be on their way
			p.grads[k] = make([]byte, len(p.grads[k]))
		}
	}
	p.fillGradients()
	now := p.sim.now
	for _, k := range p.sim.rng.Perm(p.load.keys) {
		until := p.until()
		if p.load.kind == single && p.w.Pushes(uint32(k)) >= uint64(p.step) {
			continue // an earlier process has done it
		}
		op := worker.PushOp{Key: uint32(k), Value: p.grads[k], Priority: int8(p.sim.rng.IntN(3)),
			Deadline: until}
		alone := p.load.apart && k > 0 // nobody waits for it
		if p.load.fused && !alone {
			op.Out = p.weights[k]
		}
		if p.load.sparse {
			op.IDs, op.Value = p.pushedRows(k)
		}
		id, err := p.w.Push(now, op)
		c := p.call("push", k, id, err)
		if alone && err == nil {
			delete(p.pending, id)
			p.async[id] = c
		}
		c.value, c.out, c.deadline = op.Value, op.Out, until
		p.own[k], p.at[k] = true, int(p.w.Pushes(uint32(k)))
		at := [2]int{k, p.slotNow()}
		if p.pushes[at] == nil {
			p.pushes[at] = &pushed{key: k, slot: p.slotNow()}
		}
		c.push = p.pushes[at]
	}
	p.slot++
	if p.load.kind != rounds && !p.load.fused && p.step < p.stop && p.sim.rng.IntN(2) == 0 {
		p.step++
		p.push()
		return
	}
	// Pulls may begin while pushes are on their way.
	if !p.load.fused && !p.load.apart && p.sim.rng.IntN(2) == 0 {
		p.pull()
	}
}

func (p *program) pull() {
	for _, k := range p.sim.rng.Perm(p.load.keys) {
		own, at := int(p.w.Pushes(uint32(k))), p.reached(k)
		p.at[k] = at
		p.pullTo(k, p.weights[k], func() { p.lookAt(k, own, at) })
	}
}

// pullTo pulls a key.
func (p *program) pullTo(k int, out []byte, after func()) {
	until := p.until()
	id, err := uint64(0), error(nil)
	if p.load.sparse {
		if id, err = p.pullRows(k, out, until); err == nil && id == 0 {
			after() // the worker has all rows
			return
		}
	} else {
		id, err = p.w.Pull(p.sim.now, uint32(k), out, 0, until)
	}
	c := p.call("pull", k, id, err)
	c.out, c.deadline, c.after = out, until, after
}

// reached returns the clock that the staleness of a pull counts from. A process that took over a
// place has come as far as all its keys, until it pushes.
func (p *program) reached(key int) int {
	at := int(p.w.Pushes(uint32(key)))
	for k := range p.load.keys {
		if n := int(p.w.Pushes(uint32(k))); !p.own[key] {
			at = min(at, n)
		}
	}
	return at
}

func (p *program) look() {
	for k := range p.load.keys {
		p.lookAt(k, int(p.w.Pushes(uint32(k))), p.at[k])
	}
}

// lookAt checks what was pulled of keys without rounds: own pushes, and those of others as far as
// the staleness says, are there, and nothing is there twice.
func (p *program) lookAt(k, own, at int) {
	if p.load.kind == rounds {
		return
	}
	workers := p.sim.cfg.workers
	per := p.load.elems(workers)
	for sl := range p.load.slices {
		for r := range workers {
			for slot := range p.load.slots() {
				v := getFloat(p.weights[k], sl*per+r*p.load.slots()+slot)
				if v != 0 && v != 1 {
					p.sim.fail("I1: push %d of worker %d to key %d slice %d counts %v times", slot,
						r, k, sl, v)
					return
				}
				if p.load.kind != single || v == 1 {
					continue
				}
				bound := at - p.sim.cfg.staleness
				if r == p.rank {
					bound = own
				} else if p.sim.cfg.staleness == worker.Unbounded {
					bound = 0
				}
				if slot+1 <= bound {
					p.sim.fail("I5: worker %d at clock %d lacks push %d of worker %d to key %d "+
						"slice %d, staleness %d", p.rank, own, slot+1, r, k, sl,
						p.sim.cfg.staleness)
					return
				}
			}
		}
	}
}

// rowsOf are the rows that a worker changes in a step.
func rowsOf(rank, step int) []uint32 {
	return []uint32{uint32(step*3+rank) % 12, uint32(step*5+rank*7+1) % 12, 11}
}

// tableStep reads rows, adds to some, reads again and ends the step.
func (p *program) tableStep() {
	workers := p.sim.cfg.workers
	width := workers * p.load.slots()
	delta := make([]byte, 4*width)
	putFloat(delta, p.rank*p.load.slots()+p.step-1, 1)
	done := map[uint32]bool{}
	for _, row := range rowsOf(p.rank, p.step) {
		if done[row] {
			continue
		}
		done[row] = true
		if err := p.table.Inc(row, delta); err != nil {
			p.sim.fail("inc: %v", err)
		}
	}
	p.rows = []uint32{uint32(p.sim.rng.IntN(12)), uint32(p.sim.rng.IntN(12)),
		rowsOf(p.rank, p.step)[0]}
	p.rowBuf = make([]byte, len(p.rows)*4*width)
	id, err := p.table.Get(p.sim.now, p.rows, p.rowBuf, p.sim.now+p.sim.wait)
	step := p.step
	if err == nil && id == 0 {
		p.lookRows(step)
		p.endTableStep()
		return
	}
	c := p.call("get", 0, id, err)
	c.after = func() {
		p.lookRows(step)
		p.endTableStep()
	}
}

// endTableStep ends a step. The next one may begin before all copies know.
func (p *program) endTableStep() {
	id, err := p.w.Clock(p.sim.now, p.sim.now+p.sim.wait)
	c := p.call("clock", 0, id, err)
	if err == nil && p.sim.rng.IntN(2) == 0 {
		delete(p.pending, id)
		p.async[id] = c
	}
}

// lookRows checks rows that were read in a step, before it ended.
func (p *program) lookRows(step int) {
	workers := p.sim.cfg.workers
	width := workers * p.load.slots()
	for i, row := range p.rows {
		for r := range workers {
			for s := 1; s <= p.load.steps; s++ {
				touched := false
				for _, x := range rowsOf(r, s) {
					touched = touched || x == row
				}
				v := getFloat(p.rowBuf[i*4*width:], r*p.load.slots()+s-1)
				bound := step - 1 - p.sim.cfg.staleness
				if r == p.rank {
					bound = step
				} else if p.sim.cfg.staleness == worker.Unbounded {
					bound = 0
				}
				switch {
				case v != 0 && (v != 1 || !touched):
					p.sim.fail("I1: step %d of worker %d counts %v times in row %d, sees worker "+
						"%d in step %d", s, r, v, row, p.rank, step)
				case v == 0 && touched && s <= bound:
					p.sim.fail("I5: worker %d in step %d lacks step %d of worker %d in row %d, "+
						"staleness %d", p.rank, step, s, r, row, p.sim.cfg.staleness)
				}
			}
		}
	}
}

// momentum is an optimizer with a state, for runs that must replicate it.
type momentum struct{ state map[ps.ID][]float32 }

func newMomentum(uint32) server.Updater { return &momentum{map[ps.ID][]float32{}} }

func (u *momentum) SetSpec(wire.Spec) error { return nil }
func (u *momentum) Active() bool            { return true }
func (u *momentum) Update(x server.Update) {
	n := len(x.Dst) / 4
	m := u.state[x.ID]
	if m == nil {
		m = make([]float32, n)
		u.state[x.ID] = m
	}
	for i := range n {
		m[i] = m[i]*0.5 + getFloat(x.Grad, i)
		putFloat(x.Dst, i, getFloat(x.Value, i)-m[i]*0.0625)
	}
}

func (u *momentum) UpdateRows(x server.RowUpdate) {
	row := x.Store.Spec.Row
	if widths, _ := x.Store.States(); len(widths) == 0 {
		x.Store.SetStates([]int{row}, 1)
	}
	for i, slot := range x.Slots {
		w, m := x.Store.Row(0, slot), x.Store.Row(1, slot)
		for j := range row / 4 {
			putFloat(m, j, getFloat(m, j)*0.5+getFloat(x.Grad[i*row:], j))
			putFloat(w, j, getFloat(w, j)-getFloat(m, j)*0.0625)
		}
	}
}

func (u *momentum) AppendState(dst []byte, id ps.ID) []byte {
	for _, v := range u.state[id] {
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(v))
	}
	return dst
}

func (u *momentum) SetState(id ps.ID, state []byte) error {
	m := make([]float32, len(state)/4)
	for i := range m {
		m[i] = getFloat(state, i)
	}
	u.state[id] = m
	if len(m) == 0 {
		delete(u.state, id)
	}
	return nil
}

// adder is an optimizer that adds gradients up, so that pushes in rounds can be counted.
type adder struct{}

func newAdder(uint32) server.Updater { return adder{} }

func (adder) SetSpec(wire.Spec) error { return nil }
func (adder) Active() bool            { return true }
func (adder) Update(x server.Update) {
	copy(x.Dst, x.Value)
	ps.Plain{}.Add(x.Dst, x.Grad, dtype.Float32, 0)
}
func (adder) UpdateRows(x server.RowUpdate) {
	row := x.Store.Spec.Row
	for i, slot := range x.Slots {
		ps.Plain{}.Add(x.Store.Row(0, slot), x.Grad[i*row:(i+1)*row], dtype.Float32, 0)
	}
}
func (adder) AppendState(dst []byte, _ ps.ID) []byte { return dst }
func (adder) SetState(ps.ID, []byte) error           { return nil }

// expected computes the values of a run in rounds by a plain loop: gradients summed in the order of
// ranks.
func (l workload) expected(workers, steps int) [][]byte {
	n := l.slices * l.elems(workers)
	var weights, mom [][]byte
	for k := range l.keys {
		weights = append(weights, l.initial(k, workers))
		mom = append(mom, make([]byte, 4*n))
	}
	for step := 1; step <= steps; step++ {
		before := append([][]byte(nil), weights...)
		for k := range l.keys {
			next := make([]byte, 4*n)
			for i := range n {
				w := getFloat(before[k], i)
				other := l.other(before, k, i)
				sum, some := float32(0), false
				for r := range workers {
					switch {
					case !l.touches(r, k, step, i/rowElems):
					case some:
						sum += gradient(r, k, step, i, other)
					default:
						sum, some = gradient(r, k, step, i, other), true
					}
				}
				if !some {
					putFloat(next, i, w)
					continue
				}
				if l.mom {
					m := getFloat(mom[k], i)*0.5 + sum
					putFloat(mom[k], i, m)
					sum = w - m*0.0625
				}
				putFloat(next, i, sum)
			}
			weights[k] = next
		}
	}
	return weights
}
