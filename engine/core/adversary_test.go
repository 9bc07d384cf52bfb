package core

import (
	"errors"
	"flag"
	"fmt"
	"math/rand"
	"slices"
	"testing"
)

var adversaries = flag.Int("adversaries", 1000, "random schedules of the core")

// fakeCell is a piece of memory that operations of the adversary use; it notices overlaps.
type fakeCell struct {
	name    string
	v       *Var
	value   uint64
	readers int
	writing bool
}

// fakeOp is an operation of the adversary: a host operation runs between its start and its end, a
// queued one is first put on the queue of its lane.
type fakeOp struct {
	o       *Op
	name    string
	rules   Rules
	id      uint64
	lane    int // 0 is the host
	fail    bool
	waits   []any
	started bool
	ended   bool // also the event that marks the end of a queued operation
	issued  bool
	retired bool
	cause   string // what a serial run says about its inputs
}

// adversary drives a core through a random legal order of events.
type adversary struct {
	t       *testing.T
	c       Core
	r       *rand.Rand
	cells   []*fakeCell
	ops     []*fakeOp
	byRec   map[*Op]*fakeOp
	next    int
	ready   []*fakeOp           // handed out, not started
	host    []*fakeOp           // host operations that run
	entered []*fakeOp           // queued operations whose body runs and has not issued
	queues  [4][]*fakeOp        // work of the lanes, the first may run
	ends    []*fakeOp           // complete on their device, not reported
	waiting map[*Waiter]awaited // and how many writes of their variable must be complete
	behind  bool                // things have happened that collect has not seen
	oracle  []fakeModel
}

// awaited is the goal of a waiter.
type awaited struct {
	cell   *fakeCell
	writes uint64
}

type fakeModel struct {
	value  uint64
	cause  string
	writes uint64
}

func newAdversary(t *testing.T, seed int64) *adversary {
	a := &adversary{t: t, r: rand.New(rand.NewSource(seed)), byRec: map[*Op]*fakeOp{},
		waiting: map[*Waiter]awaited{}}
	for i := range 2 + a.r.Intn(8) {
		a.cells = append(a.cells, &fakeCell{name: fmt.Sprint("v", i), v: &Var{}})
	}
	a.oracle = make([]fakeModel, len(a.cells))
	lanes := a.r.Intn(4) // from the host alone to three lanes
	for i := range 60 {
		a.ops = append(a.ops, a.makeOp(i, a.r.Intn(lanes+1)))
	}
	return a
}

func (a *adversary) makeOp(i, lane int) *fakeOp {
	f := &fakeOp{o: &Op{}, name: fmt.Sprint("op", i), id: uint64(i + 1), lane: lane,
		fail: a.r.Intn(15) == 0}
	if lane > 0 {
		f.rules = Queued
	}
	if a.r.Intn(10) == 0 {
		f.rules |= Always
	}
	perm := a.r.Perm(len(a.cells))
	uses := make([]Use, min(a.r.Intn(5), len(perm)))
	for j := range uses {
		uses[j] = Use{Var: a.cells[perm[j]].v, Mode: Mode(a.r.Intn(3))}
	}
	f.o.SetUses(uses)
	f.o.SetRules(int32(lane), f.rules)
	a.byRec[f.o] = f
	return f
}

func (a *adversary) cell(v *Var) *fakeCell {
	for _, c := range a.cells {
		if c.v == v {
			return c
		}
	}
	panic("no such cell")
}

// serial runs f in the oracle.
func (a *adversary) serial(f *fakeOp) {
	cause, sum := "", f.id
	for _, u := range f.o.Uses() {
		m := &a.oracle[a.index(u.Var)]
		if u.Mode != Overwrite {
			sum = sum*31 + m.value
			if cause == "" {
				cause = m.cause
			}
		}
	}
	f.cause = cause
	for _, u := range f.o.Uses() {
		m := &a.oracle[a.index(u.Var)]
		if u.Mode == Read {
			continue
		}
		m.value = sum
		m.writes++
		switch {
		case cause != "" && (m.cause == "" || u.Mode == Overwrite):
			m.cause = cause
		case cause != "":
		case f.fail:
			m.cause = f.name
		default:
			m.cause = ""
		}
	}
}

func (a *adversary) index(v *Var) int {
	for i, c := range a.cells {
		if c.v == v {
			return i
		}
	}
	panic("no such cell")
}

// start begins the work of f, on the host or on its device.
func (a *adversary) start(f *fakeOp) {
	f.started = true
	if f.cause != "" && f.lane == 0 && !f.rules.Is(Always) {
		a.t.Fatalf("%s runs although its inputs are poisoned by %s", f.name, f.cause)
	}
	for _, u := range f.o.Uses() {
		c := a.cell(u.Var)
		if c.writing || u.Mode != Read && c.readers > 0 {
			a.t.Fatalf("%s starts to %v %s, which has %d readers, written %v", f.name, u.Mode,
				c.name, c.readers, c.writing)
		}
		if u.Mode == Read {
			c.readers++
		} else {
			c.writing = true
		}
	}
}

// end ends the work of f.
func (a *adversary) end(f *fakeOp) {
	f.ended = true
	sum := f.id
	for _, u := range f.o.Uses() {
		if c := a.cell(u.Var); u.Mode != Overwrite {
			sum = sum*31 + c.value
		}
	}
	for _, u := range f.o.Uses() {
		if c := a.cell(u.Var); u.Mode == Read {
			c.readers--
		} else {
			c.writing, c.value = false, sum
		}
	}
}

func (a *adversary) report(f *fakeOp) {
	var failure error
	if f.fail {
		failure = errors.New(f.name)
	}
	a.c.Done(f.o, failure)
}

// take removes a random element.
func take(r *rand.Rand, l *[]*fakeOp) *fakeOp {
	i := r.Intn(len(*l))
	f := (*l)[i]
	*l = append((*l)[:i:i], (*l)[i+1:]...)
	return f
}

// step lets one random thing happen that may happen, and returns false when nothing can.
func (a *adversary) step() bool {
	var can []func()
	if a.next < len(a.ops) {
		can = append(can, a.submit)
	}
	if len(a.ready) > 0 {
		can = append(can, a.enter)
	}
	if len(a.host) > 0 {
		can = append(can, func() {
			f := take(a.r, &a.host)
			a.end(f)
			a.report(f)
		})
	}
	if len(a.entered) > 0 {
		can = append(can, a.issue)
	}
	for lane := range a.queues {
		if q := a.queues[lane]; len(q) > 0 && (q[0].started || a.mayStart(q[0])) {
			can = append(can, func() { a.runDevice(lane) })
		}
	}
	if len(a.ends) > 0 {
		can = append(can, func() { a.report(take(a.r, &a.ends)) })
	}
	switch {
	case len(can) > 0:
		can[a.r.Intn(len(can))]()
	case !a.behind:
		return false
	}
	// A driver may let several things happen before it looks.
	if a.behind = len(can) > 0 && a.r.Intn(3) == 0; !a.behind {
		a.collect()
	}
	return true
}

func (a *adversary) submit() {
	f := a.ops[a.next]
	a.next++
	a.serial(f)
	a.c.Submit(f.o)
	if i := a.r.Intn(len(a.cells)); a.r.Intn(4) == 0 && a.cells[i].v.Writes() < a.oracle[i].writes {
		w := &Waiter{Writes: a.oracle[i].writes}
		a.c.Await(a.cells[i].v, w)
		a.waiting[w] = awaited{a.cells[i], w.Writes}
	}
}

// enter starts the body of a ready operation. The bodies of one lane run one at a time in the order
// of being ready.
func (a *adversary) enter() {
	f := a.ready[a.r.Intn(len(a.ready))]
	if f.lane > 0 {
		for _, g := range a.entered {
			if g.lane == f.lane {
				return
			}
		}
		for _, g := range a.ready {
			if g.lane == f.lane {
				f = g
				break
			}
		}
	}
	for i, g := range a.ready {
		if g == f {
			a.ready = append(a.ready[:i:i], a.ready[i+1:]...)
			break
		}
	}
	if f.lane == 0 {
		a.start(f)
		a.host = append(a.host, f)
		return
	}
	f.waits = a.c.Waits(f.o, nil)
	a.entered = append(a.entered, f)
}

// issue puts a queued operation on the queue of its lane; now and then a body forgets to say so and
// only reports the end.
func (a *adversary) issue() {
	f := take(a.r, &a.entered)
	a.queues[f.lane] = append(a.queues[f.lane], f)
	if a.r.Intn(10) > 0 {
		f.issued = true
		a.c.Issued(f.o, f)
	}
}

func (a *adversary) mayStart(f *fakeOp) bool {
	for _, w := range f.waits {
		if !w.(*fakeOp).ended {
			return false
		}
	}
	return true
}

func (a *adversary) runDevice(lane int) {
	f := a.queues[lane][0]
	if !f.started {
		a.start(f)
		return
	}
	a.end(f)
	a.queues[lane] = a.queues[lane][1:]
	a.ends = append(a.ends, f)
}

// collect takes the results of the core.
func (a *adversary) collect() {
	for o := a.c.Ready(); o != nil; o = a.c.Ready() {
		f := a.byRec[o]
		if f.started {
			a.t.Fatalf("%s is ready twice", f.name)
		}
		a.ready = append(a.ready, f)
	}
	list := a.c.Retired()
	for o := list.Pop(); o != nil; o = list.Pop() {
		f := a.byRec[o]
		if f.retired {
			a.t.Fatalf("%s is retired twice", f.name)
		}
		f.retired = true
		a.checkLast(f)
	}
	for w := a.c.Woken(); w != nil; w = a.c.Woken() {
		goal := a.waiting[w]
		if goal.cell.v.Writes() < goal.writes {
			a.t.Fatalf("a waiter for %d writes of %s was woken after %d", goal.writes,
				goal.cell.name, goal.cell.v.Writes())
		}
		delete(a.waiting, w)
	}
	a.checkState()
}

// checkLast checks that f, which has just been retired, knows which variables it left unused.
func (a *adversary) checkLast(f *fakeOp) {
	live := a.live()
	for i := range f.o.Uses() {
		u := &f.o.Uses()[i]
		if got, want := u.Last(), len(live[u.Var]) == 0; got != want {
			a.t.Fatalf("%s was the last to use %s: %v, want %v", f.name, a.cell(u.Var).name, got,
				want)
		}
	}
}

// live lists the live uses of each variable in the order of submission.
func (a *adversary) live() map[*Var][]*Use {
	live := map[*Var][]*Use{}
	for _, f := range a.ops[:a.next] {
		for i := range f.o.Uses() {
			if u := &f.o.Uses()[i]; !f.retired {
				live[u.Var] = append(live[u.Var], u)
			}
		}
	}
	return live
}

// checkState compares the state between two events with the live uses.
func (a *adversary) checkState() {
	live, poisoned := a.live(), 0
	must := func(name string, err error) {
		if err != nil {
			a.t.Fatalf("%s: %v", name, err)
		}
	}
	must("core", a.c.check())
	for _, c := range a.cells {
		must(c.name, checkVar(c.v, live[c.v]))
		if c.v.Quiet() != (len(live[c.v]) == 0) {
			a.t.Fatalf("%s is quiet: %v, with %d live uses", c.name, c.v.Quiet(), len(live[c.v]))
		}
		if c.v.Poison() != nil {
			poisoned++
		}
	}
	if got := a.c.Counts().Poisoned; got != poisoned {
		a.t.Fatalf("got %d poisoned variables, want %d", got, poisoned)
	}
	alive := 0
	for _, f := range a.ops[:a.next] {
		if !f.retired {
			alive++
			must(f.name, checkOp(f.o, func(u *Use) []*Use {
				return live[u.Var][:slices.Index(live[u.Var], u)]
			}))
		}
	}
	if a.c.Live() != alive {
		a.t.Fatalf("got %d live operations, want %d", a.c.Live(), alive)
	}
}

// check compares the end of a run with the oracle.
func (a *adversary) check() {
	if a.c.Live() != 0 || len(a.waiting) != 0 {
		a.t.Fatalf("at the end %d operations are live and %d waiters asleep", a.c.Live(),
			len(a.waiting))
	}
	var want Counts
	for _, f := range a.ops {
		if !f.retired || !f.started && (f.cause == "" || f.rules.Is(Always)) {
			a.t.Fatalf("%s is retired %v and ran %v", f.name, f.retired, f.started)
		}
		if f.o.Skipped() == f.started {
			a.t.Fatalf("%s is skipped %v and ran %v", f.name, f.o.Skipped(), f.started)
		}
		if f.o.Skipped() {
			want.Skipped++
		} else if f.fail {
			want.Failed++
		}
	}
	for i, c := range a.cells {
		a.checkCell(c, a.oracle[i])
		if c.v.Poison() != nil {
			want.Poisoned++
		}
	}
	if got := a.c.Counts(); got != want {
		a.t.Fatalf("got counts %+v, want %+v", got, want)
	}
	if first := a.c.TakeFirst(); (first != nil) != (want.Failed > 0) || a.c.TakeFirst() != nil {
		a.t.Fatalf("got first failure %v of %d, once", first, want.Failed)
	}
}

// checkCell compares one variable at the end of a run with the oracle.
func (a *adversary) checkCell(c *fakeCell, m fakeModel) {
	v, cause := c.v, ""
	if p := v.Poison(); p != nil {
		cause = p.Cause.Error()
	}
	if cause != m.cause || v.Writes() != m.writes || cause == "" && c.value != m.value {
		a.t.Fatalf("%s: got cause %q, value %x, %d writes; want %q, %x, %d", c.name, cause, c.value,
			v.Writes(), m.cause, m.value, m.writes)
	}
	if !v.Quiet() || v.tail != nil {
		a.t.Fatalf("%s is not quiet at the end: %+v", c.name, v)
	}
	if r := v.order; r != nil && (r.front != nil || r.reads != 0 || r.write.op != nil ||
		len(r.behind) > 0) {
		a.t.Fatalf("the issue order of %s is not empty at the end: %+v", c.name, *r)
	}
}

// TestAdversary drives the core through random legal orders of events with up to three asynchronous
// lanes that fail now and then, and compares the results with a serial run.
func TestAdversary(t *testing.T) {
	for seed := range int64(*adversaries) {
		if ok := t.Run("", func(t *testing.T) {
			a := newAdversary(t, seed)
			for a.step() {
			}
			a.check()
		}); !ok {
			t.Fatalf("failed with seed %d", seed)
		}
	}
}
