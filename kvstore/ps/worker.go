package ps

import (
	"fmt"

	"gomx/dtype"
	"gomx/kvstore/wire"
)

// Unbounded is the staleness of stores in which nobody waits for anybody.
const Unbounded = -1

// defaultCredit is how many bytes a worker may have on their way to one shard that the server has not taken in.
const defaultCredit = 4 << 20

// WorkerConfig says how a worker works. Job, Workers, Policy, Backups, Window, Ahead and
// Credit are those of the servers.
type WorkerConfig struct {
	Job       uint64
	Rank      uint16
	Nonce     uint64 // drawn anew by every process
	Addr      string // where the worker listens, if it does
	Workers   int
	Policy    Policy
	Backups   int
	Staleness int    // of pulls of keys without rounds: clocks that others may be behind, or Unbounded
	Window    int    // 1024
	Ahead     int    // 2
	Credit    int    // bytes on their way to one shard that the server has not taken in; 4 MiB
	SliceSize uint64 // bytes; keys that are longer are sliced; 1 MiB
	Timeout   Time   // of calls without a deadline; 120 s
	Timing    Timing
}

func (c *WorkerConfig) fill() {
	fillLimits(&c.Window, &c.Ahead, &c.Credit)
	if c.SliceSize == 0 {
		c.SliceSize = 1 << 20
	}
	if c.Timeout <= 0 {
		c.Timeout = 120 * Second
	}
	c.Timing.fill()
}

// Worker is a job's client. Its calls return an identifier at once; how they end is a Done in the Outbox, by the call's deadline at
// the latest. Memory that a call was given (values to push, room for what is pulled) belongs to the worker until then.
//
// A worker is a state machine: one goroutine drives it.
type Worker struct {
	member
	cfg      WorkerConfig
	now      Time
	shards   []*route
	keys     map[uint32]*workerKey
	calls    []*call
	slots    []*part // parts that wait for an answer which names them
	unused   []int
	lent     []*part // parts that are done, whose memory a transport still reads
	parts    []*part // unused
	spare    []*call // unused
	lastID   uint64
	lastReq  uint64
	order    uint64
	called   uint64 // calls for barriers
	passed   uint64 // of those, how many have ended
	calledAt uint64 // steps begun at the last of them
	started  uint64 // steps that processes before this one have ended
	barrier  *call
	knock    Time // when to ask for the barrier again
	joining  *call
	joined   bool
	resumed  uint64
	from     wire.StartPoint // where it starts, when rounds may close without it: the same on all shards
	cursors  map[ID]wire.CursorEntry
	tables   map[uint32]*Table
	clock    uint64   // steps ended by Clock
	begun    uint64   // pushes of the key that has most
	ticks    []uint64 // steps that earlier processes have ended, by shard
	steps    []int    // bytes of rows changed in this step, by shard
	snap     *call
	snapAt   uint64
	snapAll  bool
	stats    WorkerStats
	lost     error // shards are lost
}

// WorkerStats counts what a worker has done.
type WorkerStats struct {
	Pushes  uint64 // slices pushed
	Late    uint64 // of those, slices whose round was closed without them: they count nowhere
	Pulls   uint64 // slices pulled
	Resends uint64 // messages sent again
	Stale   uint64 // answers dropped because they were older than what had been seen
	Calls   int    // that have not ended
	Flying  int    // pushes that are not committed
}

// workerKey is a key as its worker knows it.
type workerKey struct {
	key    uint32
	dtype  dtype.Type
	total  uint64
	direct bool
	row    int // bytes of a row of a table, 0 for other keys
	slices []*slice
}

// slice is one slice of a key.
type slice struct {
	key    *workerKey
	id     ID
	shard  uint32
	lo, hi uint64
	clock  uint64  // pushes begun
	pushed bool    // some of them by this process
	old    uint64  // pushes that an earlier incarnation has committed
	base   uint64  // what clock began with
	there  uint64  // version that the server had then
	seen   uint64  // highest version pulled
	queue  []*part // pushes that wait for their turn
	flying int     // pushes that have it and are not committed
}

// loose reports whether rounds may close without this worker: then it does not repeat what it missed.
func (w *Worker) loose() bool { return w.cfg.Policy == Shrink || w.cfg.Backups > 0 }

// NewWorker returns a worker that asks the scheduler for its place.
func NewWorker(c WorkerConfig) (*Worker, error) {
	c.fill()
	switch {
	case c.Nonce == 0:
		return nil, fmt.Errorf("ps: worker with nonce 0: %w", ErrUsage)
	case int(c.Rank) >= c.Workers:
		return nil, fmt.Errorf("ps: worker %d of %d: %w", c.Rank, c.Workers, ErrUsage)
	case c.Staleness < Unbounded:
		return nil, fmt.Errorf("ps: staleness %d: %w", c.Staleness, ErrUsage)
	}
	w := &Worker{cfg: c, keys: map[uint32]*workerKey{}, cursors: map[ID]wire.CursorEntry{}, tables: map[uint32]*Table{}}
	w.member = newMember(identity{self: wire.Node{Role: wire.Worker, Rank: c.Rank}, job: c.Job, nonce: c.Nonce, size: c.Workers, addr: c.Addr}, c.Timing)
	return w, nil
}

// Out returns what the worker wants done. The caller carries it out and resets it.
func (w *Worker) Out() *Outbox {
	w.out.pack()
	if len(w.lent) > 0 {
		w.reap()
	}
	return &w.out
}

// Release takes back what a Send held.
func (w *Worker) Release(b *Buffer) {
	b.drop()
	w.reap()
}

// View returns the worker's view, nil before it has one. It must not be changed.
func (w *Worker) View() *wire.View { return w.view }

// Incarnation returns the worker's own, 0 before it has a place.
func (w *Worker) Incarnation() uint32 { return w.inc }

// Fenced reports whether another process has taken the worker's place: all calls end with ErrFenced.
func (w *Worker) Fenced() bool { return w.fenced }

// Err returns why calls fail from now on: the worker was replaced, a shard is lost, or the scheduler is gone. It is nil while the job
// can go on.
func (w *Worker) Err() error {
	switch {
	case w.fenced:
		return ErrFenced
	case w.lost != nil:
		return w.lost
	case w.alone:
		return w.silent()
	}
	return nil
}

// Stats returns what the worker has done so far.
func (w *Worker) Stats() WorkerStats {
	st := w.stats
	st.Calls = len(w.calls)
	for _, r := range w.shards {
		st.Flying += r.flight.len()
	}
	return st
}

// Handle takes in a message that a transport received from a node. The message and its payload are not kept.
func (w *Worker) Handle(now Time, from wire.Node, m *wire.Message) {
	w.start(now)
	if !w.ours(from, m) {
		return
	}
	if err := w.unpack(m, w); err != nil {
		w.out.event(EventRefused, m.From, m.Shard, m.Epoch, err.Error())
	}
}

// start begins a step. Where the worker has stood still, answers wait that its calls must see before they run out of time.
func (w *Worker) start(now Time) {
	w.now = now
	if w.wake(now) {
		for _, c := range w.calls {
			c.deadline = max(c.deadline, now+w.timing.Dead)
		}
	}
	if len(w.lent) > 0 {
		w.reap()
	}
}

func (w *Worker) dispatch(m *wire.Message) {
	switch m.From.Role {
	case wire.Scheduler:
		w.fromScheduler(m)
	case wire.Server:
		w.fromServer(m)
	}
}

func (w *Worker) fromScheduler(m *wire.Message) {
	w.hear(m)
	switch m.Type {
	case wire.TypeView:
		w.adoptView(m)
	case wire.TypeReject:
		if w.evicted(m) {
			w.failAll(ErrFenced)
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
		}
	}
}

// adoptView takes over a view and sends again what was meant for a server that no longer serves.
func (w *Worker) adoptView(m *wire.Message) {
	if !w.adopt(m) {
		return
	}
	if w.fenced {
		w.failAll(ErrFenced)
		return
	}
	if w.inc == 0 {
		if over(w.view) { // a job that has ended takes nobody in
			w.failAll(fmt.Errorf("%w: all its workers have left", ErrClosed))
		}
		return
	}
	me := w.view.Member(w.self)
	if !me.Alive && w.cfg.Policy == Shrink {
		w.fenced = true
		w.failAll(ErrFenced)
		return
	}
	for i := range w.view.Shards {
		if i == len(w.shards) {
			w.shards = append(w.shards, newRoute(uint32(i)))
		}
		w.redirect(w.shards[i], w.view.Shards[i])
	}
	if w.lost == nil {
		if w.lost = LostError(w.view); w.lost != nil {
			w.failAll(w.lost)
		}
	}
	w.askCursors()
}

func (w *Worker) fromServer(m *wire.Message) {
	if int(m.Shard) >= len(w.shards) {
		return
	}
	r := w.shards[m.Shard]
	if m.From.Rank != r.primary.Server || m.Incarnation != r.primary.Incarnation {
		if m.Epoch > r.epoch {
			w.asked = true
		}
		return
	}
	if m.Epoch != r.epoch {
		if m.Epoch < r.epoch {
			return
		}
		w.asked = true
		if m.Type == wire.TypeReject && !leads(m.Refusal().Reason) {
			return
		}
		// The primary is the one we know, and has seen a newer view: that is enough to go on.
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

// leads reports whether whoever refuses a message for a reason is the shard's primary in the epoch that it names. What has been the
// primary may know that another one is, and must not be taken for the primary of that epoch.
func leads(why wire.Reason) bool {
	return why != wire.ReasonNotPrimary && why != wire.ReasonIncarnation
}

// Tick lets time pass: heartbeats, repetitions and deadlines. It should be called every few milliseconds.
func (w *Worker) Tick(now Time) {
	w.start(now)
	w.tickMember(now, wire.Heartbeat{Clock: w.position(), Waiting: w.waitsFor(), Start: w.started})
	if err := w.Err(); err != nil {
		w.failAll(err)
	}
	if w.fenced {
		return
	}
	for i := len(w.calls) - 1; i >= 0; i-- { // before what would lend their memory again
		if i < len(w.calls) && now >= w.calls[i].deadline {
			w.expire(w.calls[i])
		}
	}
	for _, r := range w.shards {
		w.tickRoute(r)
	}
	if now >= w.knock {
		if w.barrier != nil {
			w.sendBarrier()
		}
		if w.snap != nil {
			w.sendSnapshot()
		}
	}
}

// Gone reports whether the scheduler knows that the worker has left.
func (w *Worker) Gone() bool { return w.gone() }

// Leave says goodbye to the scheduler: rounds no longer wait for this worker. It should be called when all pushes are committed, and
// ticks should go on until Gone.
func (w *Worker) Leave() {
	w.bye()
	w.failAll(ErrClosed)
}

// Drained reports whether all pushes are committed.
func (w *Worker) Drained() bool {
	for _, r := range w.shards {
		if r.flight.len() > 0 || len(r.ready) > 0 {
			return false
		}
	}
	return true
}

// MaxShards returns the number of shards, 0 before the view names them.
func (w *Worker) MaxShards() int { return len(w.shards) }

// SetStaleness replaces the staleness of WorkerConfig, for stores that are chosen after the worker has joined. It must be called
// before the first key or table is initialized.
func (w *Worker) SetStaleness(clocks int) error {
	if clocks < Unbounded {
		return fmt.Errorf("ps: staleness %d: %w", clocks, ErrUsage)
	}
	if len(w.keys) > 0 {
		return fmt.Errorf("ps: staleness set when there are keys: %w", ErrUsage)
	}
	w.cfg.Staleness = clocks
	return nil
}
