package worker

import (
	"fmt"
	"slices"

	"gomx/kvstore/ps"
	"gomx/kvstore/ps/node"
	"gomx/kvstore/wire"
)

// Unbounded is the staleness of stores in which nobody waits for anybody.
const Unbounded = -1

// Config says how a worker works. Job, Workers, Policy, Backups, Window, Ahead and Credit are
// the same as the servers'.
type Config struct {
	Job     uint64 // drawn at the start of the job
	Rank    uint16 // place of the worker among the workers of the job
	Nonce   uint64 // drawn anew by every process; not 0
	Addr    string // where the worker listens, if it does
	Workers int    // workers with which the job began; ranks beyond have come later
	// NoServers says that the job has no servers: the worker keeps its place in the job, and takes
	// part in barriers.
	NoServers bool
	Policy    ps.Policy
	// Backups is the number of backup workers: rounds close when all but so many have contributed.
	Backups int
	// Staleness is of pulls of keys without rounds: clocks that others may be behind, or Unbounded.
	Staleness int
	// Window is how many pushes to one shard may be uncommitted; 1024.
	Window int
	// Ahead is how many rounds of one slice may be under way; 2.
	Ahead int
	// Credit is how many bytes may be on their way to one shard that the server has not taken in;
	// 4 MiB.
	Credit int
	// SliceSize is the size in bytes above which keys are sliced; 1 MiB.
	SliceSize uint64
	// Timeout is how long a call without a deadline may take; 120 s.
	Timeout ps.Time
	Timing  ps.Timing
}

// fill sets the defaults of zero fields.
func (c *Config) fill() {
	node.FillLimits(&c.Window, &c.Ahead, &c.Credit)
	if c.SliceSize == 0 {
		c.SliceSize = 1 << 20
	}
	if c.Timeout <= 0 {
		c.Timeout = 120 * ps.Second
	}
	c.Timing.Fill()
}

// Worker is a job's client. Its calls return an identifier at once; how they end is a Done in the
// Outbox, by the call's deadline at the latest. Memory that a call was given (values to push, room
// for pulled values) belongs to the worker until then.
//
// A worker is a state machine: one goroutine drives it.
type Worker struct {
	*agent
	calls
	routes
	failing
	progress
	joiner
	keyset
	barriers
	snapshotting
	regrouping
}

// Stats counts the work of a worker.
type Stats struct {
	Pushes  uint64 // slices pushed and committed
	Late    uint64 // slices of Pushes whose round was closed without them: they count nowhere
	Pulls   uint64 // slices pulled
	Resends uint64 // messages sent again
	Stale   uint64 // answers dropped because a later version had been seen
	Calls   int    // calls that have not ended
	Flying  int    // pushes that are not committed
}

// New returns a worker that asks the scheduler for its place. It speaks when it is driven: the
// first Tick sends the hello.
func New(c Config) (*Worker, error) {
	c.fill()
	switch {
	case c.Nonce == 0:
		return nil, fmt.Errorf("ps: worker with nonce 0: %w", ps.ErrUsage)
	case c.Staleness < Unbounded:
		return nil, fmt.Errorf("ps: staleness %d: %w", c.Staleness, ps.ErrUsage)
	}
	w := &Worker{agent: newAgent(c)}
	w.me.Dispatch = w.dispatch
	ag, cs, rt, fa, pg := w.agent, &w.calls, &w.routes, &w.failing, &w.progress
	w.calls = calls{agent: ag}
	w.routes = routes{agent: ag, calls: cs}
	w.failing = failing{ag, cs, rt}
	w.progress = progress{agent: ag}
	w.joiner = joiner{agent: ag, calls: cs, routes: rt, failing: fa, progress: pg,
		cursors: map[ps.ID]wire.CursorEntry{}}
	w.keyset = keyset{ag, cs, rt, pg, &w.joiner, map[uint32]*workerKey{}, map[uint32]*Table{}}
	w.barriers = barriers{agent: ag, calls: cs, progress: pg}
	w.snapshotting = snapshotting{agent: ag, calls: cs}
	w.regrouping = regrouping{agent: ag, calls: cs}
	return w, nil
}

// Out returns the worker's outbox. The caller carries it out and resets it. Small messages to one
// server are put into batches here, so it is to be asked for once all messages that are there have
// been handled.
func (w *Worker) Out() *ps.Outbox {
	w.me.Out.Pack()
	if len(w.lent) > 0 {
		w.reap()
	}
	return &w.me.Out
}

// Release takes back the Hold of a Send, in the goroutine that drives the worker. It may end calls,
// whose Done is in the outbox then.
func (w *Worker) Release(l *ps.Loan) {
	l.Return()
	w.reap()
}

// View returns the worker's view, nil before it has one. It must not be changed.
func (w *Worker) View() *wire.View { return w.me.View }

// Incarnation returns the worker's own, 0 before it has a place.
func (w *Worker) Incarnation() uint32 { return w.me.Inc }

// Fenced reports whether another process has taken the worker's place: all calls end with
// ErrFenced.
func (w *Worker) Fenced() bool { return w.me.Fenced }

// Stats returns the figures of the worker so far. Calls and Flying are of now, the others grow.
func (w *Worker) Stats() Stats {
	st := w.stats
	st.Calls = len(w.open)
	for _, r := range w.shards {
		st.Flying += r.flight.Len()
	}
	return st
}

// Handle takes in a message that a transport received from a node. The message and its payload are
// not kept.
func (w *Worker) Handle(now ps.Time, from wire.Node, m *wire.Message) {
	w.start(now)
	if !w.me.Ours(from, m) {
		return
	}
	if err := w.me.Unpack(m); err != nil {
		w.me.Out.Report(ps.EventRefused, m.From, m.Shard, m.Epoch, err.Error())
	}
}

// dispatch takes in one message: workers do not speak to each other.
func (w *Worker) dispatch(m *wire.Message) {
	switch m.From.Role {
	case wire.Scheduler:
		w.fromScheduler(m)
	case wire.Server:
		w.fromServer(m)
	}
}

// fromScheduler takes in a view, the end of a barrier or snapshot, the node that one of them waits
// for, or the news that another process has the place.
func (w *Worker) fromScheduler(m *wire.Message) {
	w.me.Hear(m)
	switch m.Type {
	case wire.TypeView:
		w.adoptView(m)
	case wire.TypeReject:
		if w.me.Evicted(m) {
			w.failAll(ps.ErrFenced)
		}
	case wire.TypeBarrierDone:
		w.barrierDone(m.BarrierCalls())
	case wire.TypeSnapshotDone:
		w.snapshotDone(m)
	case wire.TypeWaiting:
		switch x := m.Wait(); {
		case x.Of == wire.TypeBarrier && x.Seq == w.called:
			w.hearWaiting(w.barrier, x.On)
		case x.Of == wire.TypeSnapshot:
			w.hearWaiting(w.snap, x.On)
		case x.Of == wire.TypeRegroup:
			w.hearWaiting(w.change, x.On)
		}
	}
}

// adoptView takes over a view and sends messages again that went to a server which no longer
// serves. A view that says that the place is taken, or a shard lost, ends all calls.
func (w *Worker) adoptView(m *wire.Message) {
	if !w.me.Adopt(m) {
		return
	}
	if w.me.Fenced {
		w.failAll(ps.ErrFenced)
		return
	}
	if w.me.Inc == 0 {
		if w.me.View.Over() { // a job that has ended takes nobody in
			w.failAll(ps.ErrOver)
		}
		return
	}
	// Under Shrink rounds have closed without a worker that was given up, so it cannot go on. The
	// last worker of a job without servers stays in the group.
	me := w.me.View.Member(w.me.Self)
	if !me.Alive && !me.Left && w.cfg.Policy == ps.Shrink &&
		!(w.cfg.NoServers && slices.Contains(w.me.View.Group.Ranks, w.me.Self.Rank)) {
		w.me.Fenced, w.leftBehind = true, true
		w.failAll(ps.ErrLeftBehind)
		return
	}
	for i := range w.me.View.Shards {
		if i == len(w.shards) {
			w.shards = append(w.shards, newRoute(uint32(i)))
		}
		w.redirect(w.shards[i], w.me.View.Shards[i])
	}
	// A job that has lost a shard cannot give this step's results: calls end, once and for all.
	if w.lost == nil {
		if w.lost = ps.LostError(w.me.View); w.lost != nil {
			w.failAll(w.lost)
		}
	}
	w.regrouped()
	w.askCursors()
}

// fromServer takes in a message about a shard. Only the primary counts that the worker knows; a
// later epoch makes it ask for the view.
func (w *Worker) fromServer(m *wire.Message) {
	if int(m.Shard) >= len(w.shards) {
		return
	}
	r := w.shards[m.Shard]
	if m.From.Rank != r.primary.Server || m.Incarnation != r.primary.Incarnation {
		if m.Epoch > r.epoch {
			w.me.Asked = true
		}
		return
	}
	if m.Epoch != r.epoch {
		if m.Epoch < r.epoch {
			return
		}
		w.me.Asked = true
		if m.Type == wire.TypeReject && !leads(m.Refusal().Reason) {
			return
		}
		// The primary is the one we know, and has seen a newer view: so we can go on.
		if r.returned(m.Epoch) {
			r.received = 0
			r.passCommitted()
		}
		r.epoch = m.Epoch
		w.again(r)
	}
	switch m.Type {
	case wire.TypeAck:
		w.acked(r, m)
	case wire.TypeValue:
		w.value(r, m)
	case wire.TypeReject:
		w.rejected(r, m)
	case wire.TypeInit, wire.TypeOptimizer, wire.TypeCursor:
		w.answered(r, m)
	case wire.TypeWaiting:
		w.hearWaiting(w.waitingFor(r, m), m.Wait().On)
	}
}

// leads reports whether a server that refuses a message for a reason is the shard's primary in the
// epoch that it names. A former primary may know that another one is, and must not be taken for the
// primary of that epoch.
func leads(why wire.Reason) bool {
	return why != wire.ReasonNotPrimary && why != wire.ReasonIncarnation
}

// Tick lets time pass: heartbeats, repetitions and deadlines. It should be called every few
// milliseconds: a deadline is noticed at the first tick behind it.
func (w *Worker) Tick(now ps.Time) {
	w.start(now)
	waits := w.waitsFor()
	if w.behind.Role == wire.Worker {
		waits = int32(w.behind.Rank)
	}
	w.me.Tick(now, wire.Heartbeat{Clock: w.position(), Waiting: waits,
		Start: w.started, Loose: w.usesNoRounds(), Leaves: w.cfg.NoServers && w.wantsLeave})
	if err := w.err(); err != nil {
		w.failAll(err)
	}
	if w.me.Fenced {
		return
	}
	// Ending a call removes it from the list, and perhaps others with it: from the last on, within
	// bounds.
	for i := len(w.open) - 1; i >= 0; i-- { // before their memory is lent again
		if i < len(w.open) && now >= w.open[i].deadline {
			w.expire(w.open[i])
		}
	}
	for _, r := range w.shards {
		w.tickRoute(r)
	}
	w.repeatBarrier()
	w.repeatSnapshot()
	w.repeatRegroup()
}

// Gone reports whether the scheduler knows that the worker has left.
func (w *Worker) Gone() bool { return w.me.Gone() }

// Leave says goodbye to the scheduler: rounds no longer wait for this worker. It should be called
// when all pushes are committed (Drained), and ticks should go on until Gone. Calls that are under
// way end with ErrClosed.
func (w *Worker) Leave() {
	w.me.Leave()
	w.failAll(ps.ErrClosed)
}

// Drained reports whether all pushes are committed: then nothing of this worker is lost with it.
func (w *Worker) Drained() bool {
	for _, r := range w.shards {
		if r.flight.Len() > 0 || len(r.ready) > 0 {
			return false
		}
	}
	return true
}

// MaxShards returns the number of shards, 0 before the view names them.
func (w *Worker) MaxShards() int { return len(w.shards) }

// answered takes in the answer to something that is not a pull. An answer of another type than the
// question, or to a question that has been answered, is dropped.
func (w *Worker) answered(r *route, m *wire.Message) {
	p := w.asking(m.Seq)
	if p == nil || p.shard != r.id {
		return
	}
	switch {
	case p.kind == wire.TypeAskCursor && p.flags&wire.FlagStart != 0:
		if m.Type != wire.TypeCursor || m.Flags&wire.FlagStart == 0 {
			return
		}
		w.startedOn()
	case p.kind == wire.TypeAskCursor:
		if m.Type != wire.TypeCursor || !w.tookCursor(r, m) {
			return
		}
	case p.kind != m.Type:
		return
	}
	w.finish(p)
}

// rejected takes in a refusal. Where the view is to blame the worker asks for a new one, and the
// message is repeated under it; where the call itself is wrong it ends.
func (w *Worker) rejected(r *route, m *wire.Message) {
	switch x := m.Refusal(); x.Reason {
	case wire.ReasonEpoch, wire.ReasonNotPrimary, wire.ReasonIncarnation:
		w.me.Asked = true
	case wire.ReasonUnknownKey:
		// Created by another worker in a moment, or being rebuilt: repeated when it is time.
	default:
		if p := w.meant(r, x.Of, x.Seq); p != nil {
			w.fail(p.call, fmt.Errorf("%w: %s", ps.ErrRejected, x.Reason))
		}
	}
}
