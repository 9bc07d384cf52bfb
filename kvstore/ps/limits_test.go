package ps_test

import (
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"gomx/dtype"
	"gomx/kvstore/ps"
	"gomx/kvstore/ps/sched"
	"gomx/kvstore/ps/server"
	"gomx/kvstore/ps/worker"
	"gomx/kvstore/rows"
	"gomx/kvstore/wire"
)

// Every limit of a server and of a worker's calls, with what is just outside of it.

// tested is a job of one server and two workers with key 1 in rounds, key 2 without, and table 3 of
// 8 rows of 16 bytes.
type tested struct {
	n    *net
	list []*worker.Worker
	srv  *server.Server
	seq  uint64
}

func newTested(t *testing.T) *tested {
	t.Helper()
	n, list := pair(t)
	n.initKey(t, list, 2, worker.KeySpec{Total: 64, Direct: true})
	for _, w := range list {
		if _, _, err := w.Table(n.now, 3, worker.TableSpec{Rows: 8, RowSize: 16}, 0); err != nil {
			t.Fatal(err)
		}
	}
	n.until(t, 2)
	return &tested{n: n, list: list, srv: n.machines[leader].(*server.Server)}
}

// rowList is a list of rows, and so many bytes of values.
func rowList(bytes int, ids ...uint32) []byte {
	return append(wire.AppendIDs(nil, ids), make([]byte, bytes)...)
}

// table makes a message create a table, without some flags that are needed.
func table(s rows.Spec, without wire.Flags) func(m *wire.Message) {
	return func(m *wire.Message) {
		m.Key, m.Payload = 9, rows.AppendSpec(nil, s)
		m.Flags = (wire.FlagCreate | wire.FlagDirect | wire.FlagRows | wire.FlagSparse) &^ without
	}
}

// message is one from worker 0 about the only shard.
func (x *tested) message(typ wire.Type, change func(m *wire.Message)) *wire.Message {
	x.seq++
	m := &wire.Message{Type: typ, Job: job, From: wire.Node{Role: wire.Worker},
		Incarnation: x.list[0].Incarnation(), Epoch: 1,
		Seq: x.seq, Clock: 1, KeySlice: wire.KeySlice{Slices: 1, Total: 64}}
	change(m)
	return m
}

// refused reports whether the server refuses a message, and fails the test when it changes the
// shard's state by it.
func (x *tested) refused(t *testing.T, m *wire.Message) bool {
	t.Helper()
	i, sum, _ := x.srv.Checksum(0)
	before := x.srv.Stats()
	x.srv.Handle(x.n.now, m.From, m)
	x.srv.Out().Reset()
	after := x.srv.Stats()
	if j, same, _ := x.srv.Checksum(0); i != j || sum != same || after.Pushes != before.Pushes ||
		after.Parked != before.Parked {
		t.Errorf("%s changes the state", m)
	}
	return after.Refused+after.Rejected > before.Refused+before.Rejected
}

func TestServersRefuse(t *testing.T) {
	x := newTested(t)
	for name, m := range map[string]*wire.Message{
		"an encoding that is not known": x.message(wire.TypePush, func(m *wire.Message) {
			m.Key,
				m.Codec, m.Payload = 1, 9, make([]byte, 64)
		}),
		"a push of another length": x.message(wire.TypePush, func(m *wire.Message) {
			m.Key,
				m.Payload = 1, make([]byte, 60)
		}),
		"a direct push of another length": x.message(wire.TypePushPull,
			func(m *wire.Message) { m.Key, m.Payload = 2, make([]byte, 128) }),
		"a push of a key that is not here": x.message(wire.TypePush, func(m *wire.Message) {
			m.Key,
				m.Payload = 9, make([]byte, 64)
		}),
		"a pull of a key that is not here": x.message(wire.TypePull,
			func(m *wire.Message) { m.Key = 9 }),
		"a pull of a slice that is not": x.message(wire.TypePull, func(m *wire.Message) {
			m.Key,
				m.Slice, m.Slices = 1, 1, 2
		}),
		"a push of a whole table": x.message(wire.TypePush, func(m *wire.Message) {
			m.Key, m.Payload = 3, make([]byte, 128)
		}),
		"rows without a head": x.message(wire.TypePush,
			func(m *wire.Message) { m.Key, m.Payload = 3, make([]byte, 7) }),
		"more rows than there are bytes": x.message(wire.TypePush, func(m *wire.Message) {
			m.Key, m.Payload = 3, rowList(16, 1)
			binary.LittleEndian.PutUint32(m.Payload, math.MaxUint32)
		}),
		"more bytes than there are": x.message(wire.TypePush, func(m *wire.Message) {
			m.Key, m.Payload = 3, rowList(16, 1)
			binary.LittleEndian.PutUint32(m.Payload[4:], math.MaxUint32)
		}),
		"rows of a table that is not here": x.message(wire.TypePush,
			func(m *wire.Message) { m.Key, m.Payload = 8, rowList(16, 1) }),
		"rows of a key that is no table": x.message(wire.TypePush,
			func(m *wire.Message) { m.Key, m.Payload = 1, rowList(16, 1) }),
		"a row behind the last": x.message(wire.TypePush,
			func(m *wire.Message) { m.Key, m.Payload = 3, rowList(16, 8) }),
		"rows of another size": x.message(wire.TypePush,
			func(m *wire.Message) { m.Key, m.Payload = 3, rowList(8, 1) }),
		"rows in an encoding that is not known": x.message(wire.TypePush,
			func(m *wire.Message) { m.Key, m.Codec, m.Payload = 3, 9, rowList(16, 1) }),
		"a push and pull of a table": x.message(wire.TypePushPull,
			func(m *wire.Message) { m.Key, m.Payload = 3, rowList(16, 1) }),
		"a read of a list that is none": x.message(wire.TypePull,
			func(m *wire.Message) { m.Key, m.Flags = 3, wire.FlagRows }),
		"a read of rows with values": x.message(wire.TypePull, func(m *wire.Message) {
			m.Key, m.Flags, m.Payload = 3, wire.FlagRows, rowList(16, 1)
		}),
		"a read of a row behind the last": x.message(wire.TypePull, func(m *wire.Message) {
			m.Key, m.Flags, m.Payload = 3, wire.FlagRows, rowList(0, 8)
		}),
		"a read of a whole table": x.message(wire.TypePull, func(m *wire.Message) {
			m.Key, m.Payload = 3, rowList(0, 1)
		}),
		"a read of rows of a key that is no table": x.message(wire.TypePull, func(m *wire.Message) {
			m.Key, m.Flags, m.Payload = 1, wire.FlagRows, rowList(0, 1)
		}),
		"an init with another length": x.message(wire.TypeInit,
			func(m *wire.Message) { m.Key, m.Total = 1, 128 }),
		"an init with another type": x.message(wire.TypeInit,
			func(m *wire.Message) { m.Key, m.DType = 1, uint8(dtype.Float64) }),
		"an init with more slices": x.message(wire.TypeInit,
			func(m *wire.Message) { m.Key, m.Slices = 1, 2 }),
		"an init of another kind": x.message(wire.TypeInit,
			func(m *wire.Message) { m.Key, m.Flags = 1, wire.FlagDirect }),
		"an init without slices": x.message(wire.TypeInit,
			func(m *wire.Message) { m.Key, m.Flags, m.Slices = 9, wire.FlagCreate, 0 }),
		"an init of an unknown type": x.message(wire.TypeInit, func(m *wire.Message) {
			m.Key, m.Flags, m.DType, m.Payload = 9, wire.FlagCreate, 99, make([]byte, 64)
		}),
		"an init of a slice that is too large": x.message(wire.TypeInit,
			func(m *wire.Message) { m.Key, m.Flags, m.Total = 9, wire.FlagCreate, 1<<28+64 }),
		"an init of absurd length": x.message(wire.TypeInit,
			func(m *wire.Message) { m.Key, m.Flags, m.Total = 9, wire.FlagCreate, math.MaxUint64 }),
		"an init without its value": x.message(wire.TypeInit,
			func(m *wire.Message) { m.Key, m.Flags = 9, wire.FlagCreate }),
		"a table of rows of no bytes": x.message(wire.TypeInit, table(rows.Spec{Rows: 9}, 0)),
		"a table with a part of an element": x.message(wire.TypeInit,
			table(rows.Spec{Rows: 9, Row: 6}, 0)),
		"a table that is too large": x.message(wire.TypeInit,
			table(rows.Spec{Rows: 1 << 33, Row: 4}, 0)),
		"a table with rounds": x.message(wire.TypeInit,
			table(rows.Spec{Rows: 9, Row: 4}, wire.FlagDirect)),
		"a table without rows": x.message(wire.TypeInit,
			table(rows.Spec{Rows: 9, Row: 4}, wire.FlagSparse)),
		"a table without a description": x.message(wire.TypeInit, func(m *wire.Message) {
			table(rows.Spec{Rows: 9, Row: 4}, 0)(m)
			m.Payload = m.Payload[:8]
		}),
		"a table with another number of rows": x.message(wire.TypeInit, func(m *wire.Message) {
			table(rows.Spec{Rows: 9, Row: 16}, wire.FlagCreate)(m)
			m.Key, m.Total = 3, 8*16
		}),
		"an optimizer that cannot be read": x.message(wire.TypeOptimizer,
			func(m *wire.Message) { m.Flags, m.Payload = wire.FlagCreate, []byte{1, 2, 3} }),
		"a type for workers": x.message(wire.TypeAck, func(*wire.Message) {}),
		"a shard that is not here": x.message(wire.TypePull, func(m *wire.Message) {
			m.Key,
				m.Shard = 1, 7
		}),
		"an old incarnation": x.message(wire.TypePull, func(m *wire.Message) {
			m.Key,
				m.Incarnation = 1, 1
		}),
		"another job": x.message(wire.TypePull, func(m *wire.Message) {
			m.Key,
				m.Job = 1, job+1
		}),
		"a message for another process": x.message(wire.TypePull, func(m *wire.Message) {
			m.Key,
				m.Target = 1, 99
		}),
		"a log entry from a worker": x.message(wire.TypeReplicate, func(*wire.Message) {}),
		"an old epoch": x.message(wire.TypePull, func(m *wire.Message) {
			m.Key,
				m.Epoch = 1, 0
		}),
		"a batch that ends early": x.message(wire.TypeBatch,
			func(m *wire.Message) { m.Payload = make([]byte, wire.ItemSize-1) }),
		"a batch of unknown messages": x.message(wire.TypeBatch,
			func(m *wire.Message) { m.Payload = make([]byte, wire.ItemSize) }),
		"a batch in a batch": x.message(wire.TypeBatch,
			func(m *wire.Message) {
				m.Payload = wire.AppendItem(nil,
					&wire.Message{Type: wire.TypeBatch})
			}),
		"a slice behind the last in a batch": x.message(wire.TypeBatch, func(m *wire.Message) {
			m.Payload = wire.AppendItem(nil, &wire.Message{Type: wire.TypePush, Epoch: 1, Seq: 1,
				Clock: 1, KeySlice: wire.KeySlice{Key: 1, Slice: 3, Slices: 2},
				Payload: make([]byte, 64)})
		}),
	} {
		if m.Type == wire.TypePush || m.Type == wire.TypePushPull {
			m.Seq = 1 // it is its turn
		}
		if !x.refused(t, m) {
			t.Errorf("%s: not refused", name)
		}
	}
}

// TestPushesOutOfBoundsWait sends pushes whose turn is not, of rounds that are too early, and of a
// worker that has not begun: they change nothing, and a server goes on at once, whatever their
// clocks.
func TestPushesOutOfBoundsWait(t *testing.T) {
	x := newTested(t)
	for name, m := range map[string]*wire.Message{
		"the second first": x.message(wire.TypePush, func(m *wire.Message) {
			m.Key, m.Seq = 1,
				2
		}),
		"behind the window": x.message(wire.TypePush, func(m *wire.Message) {
			m.Key, m.Seq = 1,
				1025
		}),
		"the last of all": x.message(wire.TypePush, func(m *wire.Message) {
			m.Key, m.Seq = 1,
				math.MaxUint64
		}),
		"three rounds ahead": x.message(wire.TypePush, func(m *wire.Message) {
			m.Key, m.Seq,
				m.Clock = 1, 1, 3
		}),
		"the last round": x.message(wire.TypePush, func(m *wire.Message) {
			m.Key, m.Seq,
				m.Clock = 1, 1, math.MaxUint64
		}),
		"a probe of all": x.message(wire.TypeProbe, func(m *wire.Message) { m.Seq = 0 }),
		"a probe of none": x.message(wire.TypeProbe,
			func(m *wire.Message) { m.Seq = math.MaxUint64 }),
	} {
		m.Payload = make([]byte, 64)
		if m.Flags != 0 {
			m.Payload = nil
		}
		if x.refused(t, m) {
			t.Errorf("%s: refused, it may come again", name)
		}
	}
	// Nobody is left who makes the rounds in between.
	for _, w := range x.list {
		w.Leave()
	}
	x.n.settle()
	x.n.pass(ps.Second)
	m := x.message(wire.TypePush, func(m *wire.Message) {
		m.Key, m.Seq, m.Clock, m.Payload = 1, 1,
			math.MaxUint64, make([]byte, 64)
	})
	x.srv.Handle(x.n.now, m.From, m)
}

// TestAWorkerThatHasNotBegunIsNotHeard lets a worker of a job under Shrink push before it has said
// where it starts.
func TestAWorkerThatHasNotBegunIsNotHeard(t *testing.T) {
	n, list := netConfig{servers: 1, workers: 2, replicas: 1, policy: ps.Shrink}.open(t,
		worker.KeySpec{Total: 64})
	w, err := worker.New(worker.Config{Job: job, Rank: 1, Nonce: 555, Workers: 2,
		Policy: ps.Shrink})
	if err != nil {
		t.Fatal(err)
	}
	one := wire.Node{Role: wire.Worker, Rank: 1}
	n.machines[one] = w
	n.pass(ps.Second) // it has a place and does not join
	list[0].Leave()
	n.pass(ps.Second)
	srv := n.machines[leader].(*server.Server)
	before := srv.Stats()
	m := wire.Message{Type: wire.TypePush, Job: job, From: one, Incarnation: w.Incarnation(),
		Epoch: 1, Seq: 1, Clock: math.MaxUint64, KeySlice: wire.KeySlice{Key: 1, Slices: 1,
			Total: 64},
		Payload: make([]byte, 64)}
	srv.Handle(n.now, one, &m)
	if got := srv.Stats(); got.Pushes != before.Pushes {
		t.Errorf("%d pushes were taken in, want %d", got.Pushes, before.Pushes)
	}
}

// TestBackupsRefuse sends a backup what its primary never sends.
func TestBackupsRefuse(t *testing.T) {
	n, list := newNet(t, 2, 2, 2, worker.KeySpec{Total: 64}, nil)
	shard := ps.ShardOf(ps.ID{Key: 1}, 2)
	place := list[0].View().Shards[shard]
	srv := n.machines[wire.Node{Role: wire.Server, Rank: place.Backup.Server}].(*server.Server)
	index, sum, _ := srv.Checksum(shard)
	entry := func(c wire.Contributor, payload int) []byte {
		b := make([]byte, wire.EntrySize(1)+payload)
		wire.PutEntry(b[:wire.EntrySize(1)], 1)
		wire.PutContributor(b, 0, c)
		return b
	}
	good := wire.Contributor{Outcome: wire.Applied, Incarnation: list[0].Incarnation(), Seq: 1}
	for name, change := range map[string]func(m *wire.Message){
		"no kind":         func(m *wire.Message) { setKind(m, 0) },
		"an unknown kind": func(m *wire.Message) { setKind(m, 99) },
		"an unknown rank": func(m *wire.Message) {
			m.Payload = entry(wire.Contributor{Rank: 2,
				Outcome: wire.Applied}, 64)
		},
		"no outcome":          func(m *wire.Message) { m.Payload = entry(wire.Contributor{}, 64) },
		"another length":      func(m *wire.Message) { m.Payload = entry(good, 60) },
		"an unknown key":      func(m *wire.Message) { m.Key = 9 },
		"no head":             func(m *wire.Message) { m.Payload = make([]byte, 4) },
		"a head cut off":      func(m *wire.Message) { m.Payload = []byte{9, 0, 0, 0, 0, 0, 0, 0} },
		"a join of nobody":    func(m *wire.Message) { setKind(m, 6); m.Key = 1 << 16 },
		"an unknown encoding": func(m *wire.Message) { setKind(m, 3); m.Codec = 9 },
		"a former kind":       func(m *wire.Message) { setKind(m, 5) },
		"a key without type":  func(m *wire.Message) { setKind(m, 1); m.Key, m.DType = 9, 99 },
	} {
		m := wire.Message{Type: wire.TypeReplicate, Job: job, From: wire.Node{Role: wire.Server,
			Rank: place.Primary.Server}, Incarnation: place.Primary.Incarnation,
			Shard: shard, Epoch: place.Epoch, KeySlice: wire.KeySlice{Key: 1, Slices: 1, Total: 64},
			Payload: entry(good, 64)}
		m.SetLogPlace(wire.LogPlace{Index: index + 1, Clock: 1, Kind: 2})
		change(&m)
		before := srv.Stats().Refused
		srv.Handle(n.now, m.From, &m)
		srv.Out().Reset()
		if i, same, _ := srv.Checksum(shard); i != index || same != sum ||
			srv.Stats().Refused == before {
			t.Errorf("%s: taken in", name)
		}
	}
}

// setKind changes what the entry of a Replicate does.
func setKind(m *wire.Message, kind uint8) {
	p := m.LogPlace()
	p.Kind = kind
	m.SetLogPlace(p)
}

// TestConfigurations wants configurations that make no sense to be refused.
func TestConfigurations(t *testing.T) {
	good := sched.Config{Servers: 2, Workers: 2, Replicas: 2}
	for name, change := range map[string]func(c *sched.Config){
		"no servers":         func(c *sched.Config) { c.Servers = 0 },
		"too many servers":   func(c *sched.Config) { c.Servers = 1 << 16 },
		"no workers":         func(c *sched.Config) { c.Workers = 0 },
		"no copies":          func(c *sched.Config) { c.Replicas = 0 },
		"three copies":       func(c *sched.Config) { c.Replicas = 3 },
		"copies on one":      func(c *sched.Config) { c.Servers = 1 },
		"another job's view": func(c *sched.Config) { c.View = &wire.View{Job: 9} },
	} {
		c := good
		change(&c)
		if _, err := sched.New(c); !errors.Is(err, ps.ErrUsage) {
			t.Errorf("scheduler with %s: got %v, want %v", name, err, ps.ErrUsage)
		}
	}
	for name, c := range map[string]server.Config{
		"no workers": {Nonce: 1}, "no nonce": {Workers: 1}, "too many workers": {Nonce: 1,
			Workers: 1 << 16},
		"no worker to wait for": {Nonce: 1, Workers: 2, Backups: 2}, "negative backups": {Nonce: 1,
			Workers: 2, Backups: -1},
	} {
		if _, err := server.New(c); !errors.Is(err, ps.ErrUsage) {
			t.Errorf("server with %s: got %v, want %v", name, err, ps.ErrUsage)
		}
	}
	for name, c := range map[string]worker.Config{
		"no nonce":             {Workers: 1},
		"a negative staleness": {Nonce: 1, Workers: 1, Staleness: -2},
	} {
		if _, err := worker.New(c); !errors.Is(err, ps.ErrUsage) {
			t.Errorf("worker with %s: got %v, want %v", name, err, ps.ErrUsage)
		}
	}
}

// TestPlainAddsEveryType compares sums with those of Go's own types.
func TestPlainAddsEveryType(t *testing.T) {
	le := binary.LittleEndian
	for typ, want := range map[dtype.Type][2][]byte{
		dtype.Float64: {le.AppendUint64(nil, math.Float64bits(1.5)),
			le.AppendUint64(nil, math.Float64bits(3))},
		dtype.Float32: {le.AppendUint32(nil, math.Float32bits(-0.25)),
			le.AppendUint32(nil, math.Float32bits(-0.5))},
		dtype.Float16: {le.AppendUint16(nil, uint16(dtype.HalfOf(0.5))),
			le.AppendUint16(nil, uint16(dtype.HalfOf(1)))},
		dtype.BFloat16: {le.AppendUint16(nil, uint16(dtype.BF16Of(0.5))),
			le.AppendUint16(nil, uint16(dtype.BF16Of(1)))},
		dtype.Int8:  {{0x81}, {0x02}},
		dtype.Uint8: {{0xff}, {0xfe}},
		dtype.Bool:  {{1}, {1}},
		dtype.Int32: {le.AppendUint32(nil, 1<<31+3), le.AppendUint32(nil, 6)},
		dtype.Int64: {le.AppendUint64(nil, 1<<63+3), le.AppendUint64(nil, 6)},
	} {
		// the second at an odd address
		a, b := append([]byte(nil), want[0]...), append([]byte{0}, want[0]...)[1:]
		if err := (ps.Plain{}).Check(b, len(a), typ, 0); err != nil {
			t.Errorf("%s: %v", typ, err)
		}
		ps.Plain{}.Add(a, b, typ, 0)
		if string(a) != string(want[1]) {
			t.Errorf("%s: %x and itself are %x, want %x", typ, want[0], a, want[1])
		}
		if err := (ps.Plain{}).Check(b, len(a), typ, 1); err == nil {
			t.Errorf("%s: an encoding is plain", typ)
		}
	}
	if err := (ps.Plain{}).Check(nil, 0, dtype.Type(99), 0); err == nil {
		t.Error("a type that is not known: no error")
	}
}

// TestTablesRefuse calls a table with what does not fit it.
func TestTablesRefuse(t *testing.T) {
	n, list := pair(t)
	const row = 16 << 20
	small, id, err := list[0].Table(n.now, 3, worker.TableSpec{Rows: 8, RowSize: 16}, 0)
	if err != nil {
		t.Fatal(err)
	}
	large, other, err := list[0].Table(n.now, 4, worker.TableSpec{Rows: 3, RowSize: row}, 0)
	if err != nil || id == other {
		t.Fatal(id, other, err)
	}
	n.until(t, 2)
	delta := make([]byte, row)
	for name, f := range map[string]func() error{
		"a row behind the last": func() error { return small.Inc(8, delta[:16]) },
		"half a row":            func() error { return small.Inc(0, delta[:8]) },
		"fewer deltas than rows": func() error {
			return small.BatchInc([]uint32{1, 2},
				delta[:16])
		},
		"a bad row among good": func() error {
			return small.BatchInc([]uint32{1, 9},
				delta[:32])
		},
		"a get behind the last": func() error { return get(n, small, []uint32{8}, delta[:16]) },
		"a get with too few room": func() error {
			return get(n, small, []uint32{1, 2},
				delta[:16])
		},
		"more than a step holds": func() error {
			return errors.Join(large.Inc(0, delta), large.Inc(1, delta), large.Inc(2, delta))
		},
	} {
		if err := f(); !errors.Is(err, ps.ErrUsage) {
			t.Errorf("%s: got %v, want %v", name, err, ps.ErrUsage)
		}
	}
}

func get(n *net, t *worker.Table, rows []uint32, out []byte) error {
	_, err := t.Get(n.now, rows, out, 0)
	return err
}

// TestAGetOfManyRowsTakesSeveralMessages reads rows again and again in one call: more than a
// message holds.
func TestAGetOfManyRowsTakesSeveralMessages(t *testing.T) {
	n, list := newNet(t, 1, 1, 1, worker.KeySpec{Total: 64}, nil)
	const row = 16 << 20
	table, _, err := list[0].Table(n.now, 3, worker.TableSpec{Rows: 6, RowSize: row}, 0)
	if err != nil {
		t.Fatal(err)
	}
	n.until(t, 1)
	delta := make([]byte, row)
	putFloat(delta, 0, 3)
	if err := table.Inc(1, delta); err != nil {
		t.Fatal(err)
	}
	if _, err := list[0].Clock(n.now, 0); err != nil {
		t.Fatal(err)
	}
	n.until(t, 1)
	pulls := 0
	n.lose = func(_, _ wire.Node, m *wire.Message) bool {
		if m.Type == wire.TypePull {
			pulls++
		}
		return false
	}
	out := make([]byte, 7*row)
	if err := get(n, table, []uint32{1, 0, 1, 5, 3, 2, 1}, out); err != nil {
		t.Fatal(err)
	}
	n.until(t, 1)
	for i, want := range []float32{3, 0, 3, 0, 0, 0, 3} {
		if v := getFloat(out[i*row:], 0); v != want {
			t.Errorf("copy %d of a row begins with %v, want %v", i, v, want)
		}
	}
	if pulls != 3 {
		t.Errorf("%d pulls, want 3 of two rows each", pulls)
	}
}

// TestNoSliceIsTwoRoundsAhead lets one server hear nothing, while a worker pushes a key of the
// other one again and again: the second push waits until the first push of the other key is
// committed, and its error names the server that is deaf.
func TestNoSliceIsTwoRoundsAhead(t *testing.T) {
	spec := worker.KeySpec{Total: 64}
	n, list := newNet(t, 2, 1, 1, spec, nil)
	n.initKey(t, list, 2, spec)
	near, far := ps.ShardOf(ps.ID{Key: 1}, 2), ps.ShardOf(ps.ID{Key: 2}, 2)
	if near == far {
		t.Fatal("keys 1 and 2 are on the same shard")
	}
	deaf := wire.Node{Role: wire.Server, Rank: uint16(far)}
	n.lose = func(_, to wire.Node, m *wire.Message) bool {
		return to == deaf && m.Type == wire.TypePush
	}
	n.pushKey(t, list[0], 2)
	n.pushKey(t, list[0], 1)
	n.until(t, 1)
	id, err := list[0].Push(n.now, worker.PushOp{Key: 1, Value: make([]byte, 64),
		Deadline: n.now + ps.Second})
	if err != nil {
		t.Fatal(err)
	}
	n.pushKey(t, list[0], 1)
	n.pass(2 * ps.Second)
	var late *ps.Error
	if len(n.done) != 1 || n.done[0].ID != id || !errors.As(n.done[0].Err, &late) ||
		late.Peer != deaf || !errors.Is(late, ps.ErrTimeout) {
		t.Errorf("got %+v, want %v at %s", n.done, ps.ErrTimeout, deaf)
	}
	node := wire.Node{Role: wire.Server, Rank: uint16(near)}
	version := func() uint64 {
		_, v, _ := n.machines[node].(*server.Server).Value(ps.ID{Key: 1})
		return v
	}
	if v := version(); v != 1 {
		t.Errorf("key 1 is at version %d while key 2 is at 0, want 1", v)
	}
	n.done, n.lose = nil, nil
	n.pass(2 * ps.Second)
	if len(n.done) != 2 || version() != 3 {
		t.Errorf("%d calls ended and key 1 is at version %d, want 2 and 3", len(n.done), version())
	}
}
