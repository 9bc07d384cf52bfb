package ps_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"gomx/kvstore/ps"
	"gomx/kvstore/ps/server"
	"gomx/kvstore/ps/worker"
	"gomx/kvstore/wire"
)

// types are all types of messages.
func types() (list []wire.Type) {
	for t := range 256 {
		if wire.Type(t).Valid() {
			list = append(list, wire.Type(t))
		}
	}
	return list
}

// garbage makes up a message that passes the decoder and means nothing.
func garbage(rng *rand.Rand, from wire.Node, inc uint32) wire.Message {
	all := types()
	small := func() uint64 {
		switch rng.IntN(4) {
		case 0:
			return rng.Uint64()
		case 1:
			return 1<<64 - 1 - rng.Uint64N(3)
		}
		return rng.Uint64N(6)
	}
	m := wire.Message{
		Type: all[rng.IntN(len(all))], Job: job, From: from, Incarnation: inc,
		Shard: uint32(rng.IntN(3)), Epoch: 1, Seq: small(), Clock: small(),
		Need: small(), KeySlice: wire.KeySlice{Key: uint32(rng.IntN(3)),
			Slices: uint16(1 + rng.IntN(2)), DType: uint8(rng.IntN(20)),
			Codec: uint8(rng.IntN(3) / 2), Total: small()},
		Flags: wire.Flags(rng.IntN(2048)) &^ wire.FlagPayloadCRC,
	}
	m.Payload = make([]byte, rng.IntN(9)*rng.IntN(40))
	for i := range m.Payload {
		if rng.IntN(3) == 0 {
			m.Payload[i] = byte(rng.IntN(256))
		}
	}
	if rng.IntN(3) == 0 {
		h := wire.Hello{Nonce: small() | 1, Rank: int32(rng.IntN(3)), Addr: "x"}
		m.Payload = h.Append(nil)
	}
	return m
}

// TestGarbageFromStrangersChangesNothing sends what no member of the job may send.
func TestGarbageFromStrangersChangesNothing(t *testing.T) {
	n, list := newNet(t, 2, 2, 2, worker.KeySpec{Total: 128}, nil)
	n.round(t, list, buffers(2, 128), buffers(2, 128))
	srv := n.machines[wire.Node{Role: wire.Server}].(*server.Server)
	type state struct {
		index uint64
		sum   uint32
	}
	states := func() (s [2]state) {
		for i := range s {
			s[i].index, s[i].sum, _ = srv.Checksum(uint32(i))
		}
		return s
	}
	before := states()
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 4))
	for range 20000 {
		from := wire.Node{Role: wire.Worker, Rank: uint16(rng.IntN(4))}
		m := garbage(rng, from, uint32(50+rng.IntN(3))) // an incarnation that nobody has
		switch rng.IntN(4) {
		case 0:
			m.Incarnation, m.Job = 4, job+1
		case 1:
			from.Rank++ // not whom the transport has authenticated
		case 2:
			m.From.Role, from.Role = wire.Server, wire.Server
		}
		srv.Handle(n.now, from, &m)
		srv.Out().Reset()
	}
	if after := states(); after != before {
		t.Errorf("seed %d: garbage changed %v to %v", seed, before, after)
	}
}

// TestGarbageFromMembersPanicsNobody sends nonsense in the names of members to everybody.
func TestGarbageFromMembersPanicsNobody(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 5))
	for range 20 {
		n, list := newNet(t, 2, 2, 2, worker.KeySpec{Total: 128}, nil)
		n.round(t, list, buffers(2, 128), buffers(2, 128))
		view := n.machines[wire.Node{Role: wire.Worker}].(*worker.Worker).View()
		for range 500 {
			from := n.order[rng.IntN(len(n.order))]
			to := n.order[rng.IntN(len(n.order))]
			inc := uint32(0)
			if me := view.Member(from); me != nil {
				inc = me.Incarnation
			}
			m := garbage(rng, from, inc)
			n.machines[to].Handle(n.now, from, &m)
			n.now += ps.Millisecond
			n.machines[to].Tick(n.now)
			out := n.machines[to].Out()
			for i := range out.Sends {
				if s := &out.Sends[i]; rng.IntN(2) == 0 && n.machines[s.To] != nil {
					n.machines[s.To].Handle(n.now, to, &s.Msg)
				}
			}
			out.Reset()
		}
	}
}

// pair is a job of one server and two workers with key 1.
func pair(t *testing.T) (*net, []*worker.Worker) {
	return newNet(t, 1, 2, 1, worker.KeySpec{Total: 64}, nil)
}

// wantError wants a call to have ended with an error.
func wantError(t *testing.T, done []ps.Done, id uint64, want error) {
	t.Helper()
	for _, d := range done {
		if d.ID == id {
			if !errors.Is(d.Err, want) {
				t.Errorf("got %v, want %v", d.Err, want)
			}
			return
		}
	}
	t.Errorf("the call has not ended, want %v", want)
}

// nextView gives a worker a view that differs from its own.
func nextView(n *net, w *worker.Worker, change func(v *wire.View)) {
	v := w.View().Clone()
	v.Number++
	change(v)
	m := viewOf(v)
	w.Handle(n.now, m.From, &m)
}

func TestCallEndsAtItsDeadline(t *testing.T) {
	n, list := pair(t)
	buf := make([]byte, 64)
	id, err := list[0].Push(n.now, worker.PushOp{Key: 1, Value: buf, Out: buf, Deadline: n.now +
		ps.Second})
	if err != nil {
		t.Fatal(err)
	}
	n.settle() // worker 1 does not push: the round stays open
	list[0].Tick(n.now + ps.Second)
	wantError(t, list[0].Out().Done, id, ps.ErrTimeout)
}

func TestCallEndsWhenTheWorkerIsReplaced(t *testing.T) {
	n, list := pair(t)
	buf := make([]byte, 64)
	id, err := list[0].Push(n.now, worker.PushOp{Key: 1, Value: buf})
	if err != nil {
		t.Fatal(err)
	}
	n.settle()
	nextView(n, list[0], func(v *wire.View) {
		v.Workers[0].Nonce, v.Workers[0].Incarnation = 999,
			v.Next
	})
	wantError(t, list[0].Out().Done, id, ps.ErrFenced)
	if _, err := list[0].Push(n.now, worker.PushOp{Key: 1, Value: buf}); !errors.Is(err,
		ps.ErrFenced) {
		t.Errorf("got %v, want %v", err, ps.ErrFenced)
	}
}

func TestCallEndsWhenItsShardIsLost(t *testing.T) {
	n, list := pair(t)
	id, err := list[0].Pull(n.now, 1, make([]byte, 64), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	nextView(n, list[0], func(v *wire.View) {
		for i := range v.Shards {
			v.Shards[i].Lost, v.Shards[i].Epoch = true, 2
		}
	})
	wantError(t, list[0].Out().Done, id, ps.ErrLost)
}

func TestCallEndsWhenTheServerRefuses(t *testing.T) {
	n, list := pair(t)
	if _, err := list[0].Init(n.now, 2, worker.KeySpec{Total: 64}, make([]byte, 64),
		0); err != nil {
		t.Fatal(err)
	}
	n.until(t, 1)
	id, err := list[1].Init(n.now, 2, worker.KeySpec{Total: 128}, nil, n.now+ps.Second)
	if err != nil {
		t.Fatal(err)
	}
	n.settle()
	wantError(t, n.done, id, ps.ErrRejected)
}

func TestMisuse(t *testing.T) {
	n, list := pair(t)
	buf := make([]byte, 64)
	table := func(w *worker.Worker, spec worker.TableSpec) (uint64, error) {
		_, id, err := w.Table(n.now, 4, spec, 0)
		return id, err
	}
	for name, f := range map[string]func() (uint64, error){
		"unknown key": func() (uint64, error) {
			return list[0].Push(n.now,
				worker.PushOp{Key: 5, Value: buf})
		},
		"length": func() (uint64, error) {
			return list[0].Push(n.now,
				worker.PushOp{Key: 1, Value: buf[:60]})
		},
		"room": func() (uint64, error) { return list[0].Pull(n.now, 1, buf[:60], 0, 0) },
		"twice": func() (uint64, error) {
			return list[0].Init(n.now, 1, worker.KeySpec{Total: 64},
				buf, 0)
		},
		"elements": func() (uint64, error) {
			return list[0].Init(n.now, 3, worker.KeySpec{Total: 63},
				buf[:63], 0)
		},
		"second join": func() (uint64, error) { return list[0].Join(n.now, 0) },
		"codes": func() (uint64, error) {
			return list[0].Push(n.now, worker.PushOp{Key: 1, Codec: 2, Codes: [][]byte{buf, buf}})
		},
		"room to push": func() (uint64, error) {
			return list[0].Push(n.now, worker.PushOp{Key: 1, Value: buf, Out: buf[:8]})
		},
		"pull unknown": func() (uint64, error) { return list[0].Pull(n.now, 5, buf, 0, 0) },
		"value": func() (uint64, error) {
			return list[0].Init(n.now, 3,
				worker.KeySpec{Total: 64}, buf[:8], 0)
		},
		"whole and too large": func() (uint64, error) {
			return list[0].Init(n.now, 3, worker.KeySpec{Total: 1<<28 + 64, Whole: true}, nil, 0)
		},
		"more slices than the window": func() (uint64, error) {
			return list[1].Init(n.now, 3, worker.KeySpec{Total: 2000 << 20}, nil, 0)
		},
		"table of nothing": func() (uint64, error) {
			return table(list[0],
				worker.TableSpec{Rows: 0, RowSize: 4})
		},
		"rows of nothing": func() (uint64, error) {
			return table(list[0],
				worker.TableSpec{Rows: 4})
		},
		"rows too large": func() (uint64, error) {
			return table(list[0],
				worker.TableSpec{Rows: 4, RowSize: 32<<20 + 4})
		},
		"parts of elements": func() (uint64, error) {
			return table(list[0],
				worker.TableSpec{Rows: 4, RowSize: 6})
		},
		"table twice": func() (uint64, error) {
			_, id, err := list[0].Table(n.now, 1, worker.TableSpec{Rows: 4, RowSize: 4}, 0)
			return id, err
		},
		"a long note": func() (uint64, error) {
			return list[0].Regroup(n.now, 0, make([]byte, ps.MaxNote+1), 0)
		},
		"clock of unknown": func() (uint64, error) { return 0, list[0].SetClock(5, 1) },
		"staleness":        func() (uint64, error) { return 0, list[0].SetStaleness(1) },
	} {
		if _, err := f(); !errors.Is(err, ps.ErrUsage) {
			t.Errorf("%s: got %v, want %v", name, err, ps.ErrUsage)
		}
	}
}

// TestMemoryIsPromisedBeforeItIsNeeded wants a server to refuse a key of which it could not hold a
// round of every worker.
func TestMemoryIsPromisedBeforeItIsNeeded(t *testing.T) {
	s, err := server.New(server.Config{Job: job, Nonce: 1, Workers: 2, Memory: 1 << 12})
	if err != nil {
		t.Fatal(err)
	}
	v := &wire.View{Job: job, Number: 1, Next: 4,
		Servers: []wire.Member{{Node: wire.Node{Role: wire.Server}, Incarnation: 1, Alive: true,
			Nonce: 1}},
		Workers: []wire.Member{{Node: wire.Node{Role: wire.Worker}, Incarnation: 2, Alive: true,
			Nonce: 2}, {Node: wire.Node{Role: wire.Worker, Rank: 1}}},
		Shards: []wire.Shard{{Epoch: 1, Primary: wire.Replica{Server: 0, Incarnation: 1}}},
	}
	view := viewOf(v)
	s.Handle(0, view.From, &view)
	s.Out().Reset()
	for i, want := range []wire.Type{wire.TypeInit, wire.TypeReject} {
		m := wire.Message{Type: wire.TypeInit, Flags: wire.FlagCreate, Job: job,
			From: wire.Node{Role: wire.Worker}, Incarnation: 2, Epoch: 1,
			KeySlice: wire.KeySlice{Key: uint32(i), Slices: 1, Total: 512},
			Payload:  make([]byte, 512)}
		s.Handle(0, m.From, &m)
		out := s.Out()
		if len(out.Sends) != 1 || out.Sends[0].Msg.Type != want {
			t.Errorf("key %d: got %v, want %s", i, out.Sends, want)
		}
		out.Reset()
	}
}
