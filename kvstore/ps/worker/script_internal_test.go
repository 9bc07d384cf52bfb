package worker

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"gomx/dtype"
	"gomx/internal/script"
	"gomx/kvstore/ps"
	"gomx/kvstore/ps/node"
	"gomx/kvstore/rows"
	"gomx/kvstore/wire"
)

var rewrite = flag.Bool("rewrite", false, "write the answers in the scripts of testdata anew")

// TestScripts plays the scripts in testdata: a worker without a network, to which a script plays
// its program, the scheduler, the servers and the clock.
//
//	job workers=2 servers=2 shards=2   begins: worker 0 of the job
//	place shard=1 primary=1            changes the scheduler's view, which is told by
//	view                               so that the worker adopts it
//	do push key=1 v=1,2,3,4            a call of the program; its end is an answer
//	s0 ack need=1 acks=1:1             a message of server 0
//	tick 300                           300 ms later; ticks 3 is 3 times 100 ms
//	group number=1 ranks=0,1           the view has another group
//	state                              state of the worker
//	standing                           its knowledge of the group
func TestScripts(t *testing.T) {
	script.Files(t, *rewrite, func(t *testing.T) func(*strings.Builder, []string) {
		return (&stage{t: t}).command
	})
}

// stage is a worker and its surroundings.
type stage struct {
	*script.World
	t       *testing.T
	w       *Worker
	at      ps.Time
	out     *strings.Builder
	results map[uint64][]byte // room for the results of calls, by identifier
	tables  map[uint32]*Table
	lent    []*ps.Loan // that no transport has given back
	keeping bool       // the transport is slow
}

// command plays one line.
func (st *stage) command(out *strings.Builder, words []string) {
	st.out = out
	o := script.Parse(words[1:])
	switch words[0] {
	case "job":
		st.job(o)
		return
	case "view":
		m := wire.Message{Type: wire.TypeView, Payload: st.View.Append(nil)}
		m.SetViewNumber(st.View.Number)
		st.tell(node.Scheduler, &m)
	case "do":
		st.call(o)
	case "tick":
		st.at += ps.Time(o.Number(o.First(), 0)) * ps.Millisecond
		st.w.Tick(st.at)
	case "ticks": // the last outbox counts
		answers := st.out
		for range o.Number(o.First(), 0) {
			st.out = &strings.Builder{}
			st.carryOut()
			st.out = answers
			st.at += 100 * ps.Millisecond
			st.w.Tick(st.at)
		}
	case "keep":
		st.keeping = true
	case "release":
		st.keeping = false
		st.release()
	case "state":
		st.describe()
	case "standing":
		s := st.w.Standing()
		fmt.Fprintf(st.out, "  group %d of %v, member %v, changes %v, leaves %v\n", s.Group.Number,
			s.Group.Ranks, s.Member, s.Changes, s.Leaves)
	default:
		if st.Change(words) {
			return
		}
		from, ok := script.NodeOf(words[0])
		if !ok {
			panic("no such command")
		}
		st.tell(from, st.Message(from, o))
	}
	st.carryOut()
	if err := st.w.Audit(); err != nil {
		st.t.Errorf("%v: %v", words, err)
	}
}

func (st *stage) tell(from wire.Node, m *wire.Message) {
	m.From, m.Job = from, 1
	st.w.Handle(st.at, from, m)
}

// job begins a script.
func (st *stage) job(o script.Options) {
	workers := int(o.Number("workers", 1))
	c := Config{Job: 1, Nonce: 10, Workers: workers, Backups: int(o.Number("backups", 0)),
		Rank: uint16(o.Number("rank", 0)), Staleness: o.Int("staleness", 0),
		Window: int(o.Number("window", 64)), Ahead: int(o.Number("ahead", 0)),
		Credit: int(o.Number("credit", 0)), SliceSize: o.Number("slice", 0)}
	c.Nonce += uint64(c.Rank)
	if o.Has("shrink") {
		c.Policy = ps.Shrink
	}
	w, err := New(c)
	if err != nil {
		panic(err)
	}
	st.World = script.NewWorld(int(o.Number("servers", 1)), workers, int(o.Number("shards", 1)))
	*st = stage{World: st.World, t: st.t, w: w, at: 100 * ps.Second, out: st.out,
		results: map[uint64][]byte{}, tables: map[uint32]*Table{}}
	if o.Has("joined") { // all shards are new
		for i := range st.View.Shards {
			st.View.Shards[i].Primary.Server = uint16(i % len(st.View.Servers))
			st.View.Shards[i].Primary.Incarnation = uint32(1 + i%len(st.View.Servers))
		}
		st.join()
	}
}

// join joins a job whose shards have nothing, without a line in the script.
func (st *stage) join() {
	var quiet strings.Builder
	out := st.out
	st.command(&quiet, []string{"view"})
	st.command(&quiet, []string{"do", "join"})
	for i := range st.View.Shards {
		server := fmt.Sprintf("s%d", st.View.Shards[i].Primary.Server)
		st.command(&quiet, []string{server, "cursor", fmt.Sprintf("shard=%d", i),
			fmt.Sprintf("seq=%d", 1<<20*(i+1)+i), "cursor"})
	}
	if !st.w.joined {
		panic("it has not joined")
	}
	st.out = out
}

// call makes a call of the program.
func (st *stage) call(o script.Options) {
	key := uint32(o.Number("key", 1))
	deadline := ps.Time(0)
	if o.Has("within") {
		deadline = st.at + ps.Time(o.Number("within", 0))*ps.Millisecond
	}
	values := script.Payload(o)
	var room []byte
	if o.Has("out") {
		room = make([]byte, o.Number("out", 16))
	}
	var id uint64
	var err error
	switch o.First() {
	case "join":
		id, err = st.w.Join(st.at, deadline)
	case "init":
		id, err = st.w.Init(st.at, key, KeySpec{Total: o.Number("total", uint64(len(values))),
			Direct: o.Has("direct"), Whole: o.Has("whole"), DType: dtype.Type(o.Int("dtype", 0)),
			Sparse: matrixOf(o), First: wideRowsOf(o), CacheRows: o.Int("cache", 0)},
			values, deadline)
	case "push":
		op := PushOp{Key: key, Value: values, Out: room, Priority: int8(o.Int("prio", 0)),
			IDs: wideRowsOf(o), Deadline: deadline, Codec: uint8(o.Number("codec", 0))}
		if op.Codec != 0 {
			op.Value = nil
			for ; len(values) > 0; values = values[4:] {
				op.Codes = append(op.Codes, values[:4])
			}
		}
		id, err = st.w.Push(st.at, op)
	case "pull":
		id, err = st.w.Pull(st.at, key, room, int8(o.Int("prio", 0)), deadline)
	case "pullrows":
		ids := wideRowsOf(o)
		room = make([]byte, o.Number("out", 0))
		id, err = PullRows(st.w, st.at, RowsPull{Key: key, IDs: ids, Out: room, Deadline: deadline})
		if id == 0 && err == nil {
			fmt.Fprintf(st.out, "  at once %s\n", script.Values(room))
		}
	case "regroup":
		id, err = st.w.Regroup(st.at, o.Number("round", 0), []byte(o["note"]), deadline)
	case "wantleave":
		st.w.WantLeave()
	case "optimizer":
		id, err = st.w.SetOptimizer(st.at, wire.Spec{Version: o.Number("version", 1), Name: "sgd"},
			deadline)
	case "table":
		var table *Table
		table, id, err = st.w.Table(st.at, key, TableSpec{
			DType: dtype.Type(o.Int("dtype", 0)), Rows: uint32(o.Number("rows", 0)),
			RowSize: o.Int("size", 0), CacheRows: o.Int("cache", 0),
			Init: rows.Init{Scale: float64(o.Int("first", 0))}}, deadline)
		if err == nil {
			st.tables[key] = table
		}
	case "inc":
		err = st.tables[key].BatchInc(rowsOf(o), values)
	case "get":
		ids := rowsOf(o)
		room = make([]byte, int(o.Number("out", uint64(len(ids)*st.tables[key].key.sparse.Row))))
		id, err = st.tables[key].Get(st.at, ids, room, deadline)
		if id == 0 && err == nil {
			fmt.Fprintf(st.out, "  at once %s\n", script.Values(room))
		}
	case "clock":
		id, err = st.w.Clock(st.at, deadline)
	case "barrier":
		id, err = st.w.Barrier(st.at, deadline)
	case "snapshot":
		id, err = st.w.Snapshot(st.at, o.Number("clock", 0), deadline)
	case "snapshotall":
		id, err = st.w.SnapshotAll(st.at, o.Number("number", 0), deadline)
	case "leave":
		st.w.Leave()
	case "staleness":
		err = st.w.SetStaleness(o.Int("staleness", 0))
	case "skip":
		fmt.Fprintf(st.out, "  skips %d\n", st.w.Skip())
	case "setclock":
		err = st.w.SetClock(key, o.Number("clock", 0))
	default:
		panic("no such call")
	}
	if err != nil && id != 0 {
		panic("a call that is refused has an identifier")
	} else if err != nil {
		fmt.Fprintf(st.out, "  refused: %v\n", err)
	} else if id != 0 {
		fmt.Fprintf(st.out, "  call %d\n", id)
	}
	if id != 0 {
		st.results[id] = room
	}
}

// rowsOf returns the numbers of rows of a line.
func rowsOf(o script.Options) (ids []uint32) {
	for _, n := range o.Numbers("rows") {
		ids = append(ids, uint32(n))
	}
	return ids
}

// wideRowsOf is rowsOf for keys that may have more rows than a table.
func wideRowsOf(o script.Options) (ids []uint64) {
	for _, id := range rowsOf(o) {
		ids = append(ids, uint64(id))
	}
	return ids
}

// matrixOf returns the description of a sparse key of a line: sparse=9/2 has 9 rows of 2 numbers.
func matrixOf(o script.Options) *rows.Spec {
	if !o.Has("sparse") {
		return nil
	}
	sp := &rows.Spec{DType: dtype.Float32}
	if _, err := fmt.Sscanf(o["sparse"], "%d/%d", &sp.Rows, &sp.Row); err != nil {
		panic(err)
	}
	sp.Row *= 4
	return sp
}

// carryOut writes the worker's outbox to the script, and empties it.
func (st *stage) carryOut() {
	out := st.w.Out()
	for i := range out.Sends {
		x := &out.Sends[i]
		script.Each(&x.Msg, func(m *wire.Message) {
			fmt.Fprintf(st.out, "  to %s: %s\n", x.To, script.Spell(m))
		})
		if x.Hold != nil {
			st.lent = append(st.lent, x.Hold)
		}
	}
	for _, n := range out.Recall {
		fmt.Fprintf(st.out, "  recall %s\n", n)
	}
	for _, e := range out.Events {
		fmt.Fprintf(st.out, "  event %d %s shard %d epoch %d %s\n", e.Kind, e.Node, e.Shard,
			e.Epoch, e.Text)
	}
	for _, d := range out.Done {
		fmt.Fprintf(st.out, "  done %d: %v, %s, clock %d", d.ID, d.Err, d.Outcome, d.Clock)
		if room := st.results[d.ID]; room != nil && d.Err == nil {
			fmt.Fprintf(st.out, " %s", script.Values(room))
		}
		fmt.Fprintln(st.out)
	}
	if out.Fatal != nil {
		fmt.Fprintf(st.out, "  fatal: %v\n", out.Fatal)
	}
	out.Reset()
	if !st.keeping && len(st.lent) > 0 {
		st.release()
	}
}

// release gives all memory back that messages refer to, which may end calls.
func (st *stage) release() {
	list := st.lent
	st.lent = nil
	for _, l := range list {
		st.w.Release(l)
	}
	if len(st.w.me.Out.Done) > 0 {
		st.carryOut()
	}
}

// describe writes the state of the worker to the script.
func (st *stage) describe() {
	w := st.w
	fmt.Fprintf(st.out, "  %+v lent %d drained %v gone %v error %v\n", w.Stats(), w.Lent(),
		w.Drained(), w.Gone(), w.Err())
	fmt.Fprintf(st.out, "  clock %d resumed %d position %d waits for %d\n", w.Clocks(), w.Resumed(),
		w.position(), w.waitsFor())
	for _, r := range w.shards {
		fmt.Fprintf(st.out, "  shard %d: epoch %d server %d next %d received %d flight %d from %d"+
			" bytes %d ready %d lost %v\n", r.id, r.epoch, r.primary.Server, r.next, r.received,
			r.flight.Len(), r.flight.First, r.bytes, len(r.ready), r.lost)
	}
	for key := range uint32(8) {
		k := w.keys[key]
		if k == nil {
			continue
		}
		for _, sl := range k.slices {
			fmt.Fprintf(st.out, "  key %d/%d on %d, %d to %d: clock %d of %d seen %d flying %d"+
				" queue %d\n", key, sl.id.Slice, sl.shard, sl.lo, sl.hi, sl.clock, w.Pushes(key),
				sl.seen, sl.flying, len(sl.queue))
		}
		if t := w.byKey[key]; t != nil {
			sp := t.key.sparse
			fmt.Fprintf(st.out, "  table %d: %d rows of %d bytes, %d changed, %d cached, %d "+
				"spare\n",
				key, sp.Rows, sp.Row, len(t.log), len(sp.cache.rows), len(t.spare))
		}
	}
}
