package ps_test

import (
	"testing"

	"gomx/kvstore/ps"
	"gomx/kvstore/ps/server"
	"gomx/kvstore/ps/worker"
	"gomx/kvstore/wire"
)

// What a member of a job may leave on a server, and what it may not: parked pulls, and the log.

// window is the default of pushes that may be uncommitted.
const window = 1024

// silentBackup is a job of two servers, two workers and key 1, which has no rounds. The backup of
// its shard hears and says nothing.
func silentBackup(t *testing.T) (n *net, list []*worker.Worker, srv *server.Server, shard uint32) {
	t.Helper()
	n, list = newNet(t, 2, 2, 2, worker.KeySpec{Total: 64, Direct: true}, nil)
	shard = ps.ShardOf(ps.ID{Key: 1}, 2)
	srv = n.machines[wire.Node{Role: wire.Server,
		Rank: list[0].View().Shards[shard].Primary.Server}].(*server.Server)
	n.lose = func(from, to wire.Node, m *wire.Message) bool {
		return from.Role == wire.Server && to.Role == wire.Server
	}
	return n, list, srv, shard
}

// TestPullsThatWaitAreBounded lets a worker ask for more than anybody has reason to: for a round of
// the future under thousands of names, and for rows of steps to come, with lists of megabytes.
func TestPullsThatWaitAreBounded(t *testing.T) {
	x := newTested(t)
	for _, w := range x.list {
		if _, _, err := w.Table(x.n.now, 4, worker.TableSpec{Rows: 1 << 20, RowSize: 16},
			0); err != nil {
			t.Fatal(err)
		}
	}
	x.n.until(t, 2)
	_, sum, _ := x.srv.Checksum(0)
	flood := func(from int, n int, change func(m *wire.Message)) {
		for range n {
			m := x.message(wire.TypePull, change)
			m.From.Rank, m.Incarnation = uint16(from), x.list[from].Incarnation()
			x.srv.Handle(x.n.now, m.From, m)
		}
		x.srv.Out().Reset()
	}
	flood(0, 5*window, func(m *wire.Message) { m.Key, m.Need = 1, 9 })
	if got := x.srv.Stats().Parked; got != 2*window {
		t.Errorf("%d pulls of a worker wait, want %d of %d", got, 2*window, 5*window)
	}
	flood(1, 1, func(m *wire.Message) { m.Key, m.Need = 1, 9 })
	if got := x.srv.Stats().Parked; got != 2*window+1 {
		t.Errorf("%d pulls wait, want the other worker's as well", got)
	}
	ids := make([]uint32, 1<<20-8)
	for i := range ids {
		ids[i] = uint32(i)
	}
	list := rowList(0, ids...)
	flood(1, 200, func(m *wire.Message) {
		m.Key, m.Flags, m.Payload, m.Need = 4, wire.FlagRows, list, 9
	})
	if got := x.srv.Stats().Parked - 2*window - 1; got != 32 {
		t.Errorf("%d reads of a MiB of rows wait, want 32", got)
	}
	x.n.pass(5 * ps.Second)
	if st := x.srv.Stats(); st.Parked != 0 {
		t.Errorf("%d pulls wait that nobody repeats", st.Parked)
	}
	if _, same, _ := x.srv.Checksum(0); same != sum {
		t.Error("pulls have changed the state")
	}
	flood(0, window, func(m *wire.Message) { m.Key, m.Need = 1, 9 })
	if got := x.srv.Stats().Parked; got != window {
		t.Errorf("%d pulls wait after those before are gone, want %d", got, window)
	}
}

// TestTheLogIsBounded lets a worker send pushes, keys and optimizers while the backup takes nothing
// in: the log ends somewhere, nothing is committed, and when the backup is there again everything
// goes on.
func TestTheLogIsBounded(t *testing.T) {
	n, list, srv, shard := silentBackup(t)
	before, sum, _ := srv.Checksum(shard)
	send := func(m wire.Message) {
		m.Job, m.From, m.Incarnation, m.Epoch, m.Shard, m.Slices = job,
			wire.Node{Role: wire.Worker}, list[0].Incarnation(), 1, shard, 1
		srv.Handle(n.now, m.From, &m)
		srv.Out().Reset()
	}
	length := func() int { return srv.Stats().LogLength }
	for i := range 3 * window {
		send(wire.Message{Type: wire.TypePush, KeySlice: wire.KeySlice{Key: 1, Total: 64},
			Seq: uint64(i + 1), Clock: uint64(i + 1),
			Payload: make([]byte, 64)})
	}
	if got := length(); got != window {
		t.Errorf("%d pushes of a worker are in the log, want the %d of its window", got, window)
	}
	for i := range 3 * window {
		send(wire.Message{Type: wire.TypeInit, Flags: wire.FlagCreate,
			KeySlice: wire.KeySlice{Key: uint32(100 + i), Total: 64},
			Payload:  make([]byte, 64)})
		send(wire.Message{Type: wire.TypeOptimizer, Flags: wire.FlagCreate,
			Payload: (&wire.Spec{Version: uint64(i + 1), Name: "sgd"}).Append(nil)})
	}
	if got := length(); got != 2*window {
		t.Errorf("%d entries in the log, want %d: one window for each of 2 workers", got, 2*window)
	}
	if index, same, _ := srv.Checksum(shard); index != before || same != sum {
		t.Errorf("the state has changed at %d, want that of %d: nothing can be committed", index,
			before)
	}
	n.lose = nil
	n.pass(30 * ps.Second)
	if got := length(); got != 0 {
		t.Errorf("%d entries in the log when the backup is there again", got)
	}
	if index, _, _ := srv.Checksum(shard); index != before+2*window {
		t.Errorf("the state is at %d, want %d", index, before+2*window)
	}
}

// TestKeysInTheLogAreBounded sends large keys while the backup takes nothing in.
func TestKeysInTheLogAreBounded(t *testing.T) {
	n, list, srv, shard := silentBackup(t)
	const size = 16 << 20
	value := make([]byte, size)
	for i := range 20 {
		m := wire.Message{Type: wire.TypeInit, Flags: wire.FlagCreate,
			KeySlice: wire.KeySlice{Key: uint32(100 + i), Total: size, Slices: 1},
			Payload:  value,
			Job:      job, From: wire.Node{Role: wire.Worker}, Incarnation: list[0].Incarnation(),
			Epoch: 1, Shard: shard}
		srv.Handle(n.now, m.From, &m)
		srv.Out().Reset()
	}
	if got := srv.Stats().LogLength; got < 1 || got > 4 {
		t.Errorf("%d keys of 16 MiB are in the log, want at most the 4 that fit into 64 MiB", got)
	}
}
