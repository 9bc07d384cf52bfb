package ps_test

import (
	"fmt"
	"testing"

	"gomx/kvstore/ps"
	"gomx/kvstore/ps/sched"
	"gomx/kvstore/ps/server"
	"gomx/kvstore/ps/worker"
	"gomx/kvstore/wire"
)

// net connects machines without a network: what one sends the other handles before anything else
// happens.
type net struct {
	now      ps.Time
	machines map[wire.Node]machine
	order    []wire.Node
	done     []ps.Done
	saves    []ps.Save
	header   []byte
	events   func(ps.Event)
	// lose says which messages do not arrive, when it is set.
	lose func(from, to wire.Node, m *wire.Message) bool
}

// netConfig is what a net is made of.
type netConfig struct {
	servers, workers, replicas int
	backups                    int
	policy                     ps.Policy
	opts                       func(*worker.Config)
}

func newNet(t testing.TB, servers, workers, replicas int, key worker.KeySpec,
	opts func(*worker.Config)) (*net, []*worker.Worker) {
	t.Helper()
	return netConfig{servers: servers, workers: workers, replicas: replicas, opts: opts}.open(t,
		key)
}

func (nc netConfig) open(t testing.TB, key worker.KeySpec) (*net, []*worker.Worker) {
	t.Helper()
	servers, workers, replicas, opts := nc.servers, nc.workers, nc.replicas, nc.opts
	n := &net{machines: map[wire.Node]machine{}}
	add := func(node wire.Node, m machine, err error) {
		if err != nil {
			t.Fatal(err)
		}
		n.machines[node] = m
		n.order = append(n.order, node)
	}
	sched, err := sched.New(sched.Config{Job: job, Servers: servers, Workers: workers,
		Shards: servers, Replicas: replicas, Policy: nc.policy})
	add(wire.Node{Role: wire.Scheduler}, sched, err)
	for i := range servers {
		s, err := server.New(server.Config{Job: job, Rank: uint16(i), Nonce: uint64(i + 1),
			Workers: workers, Backups: nc.backups, Policy: nc.policy})
		add(wire.Node{Role: wire.Server, Rank: uint16(i)}, s, err)
	}
	var list []*worker.Worker
	for i := range workers {
		c := worker.Config{Job: job, Rank: uint16(i), Nonce: uint64(100 + i), Workers: workers,
			Backups: nc.backups, Policy: nc.policy, Staleness: worker.Unbounded}
		if opts != nil {
			opts(&c)
		}
		w, err := worker.New(c)
		add(wire.Node{Role: wire.Worker, Rank: uint16(i)}, w, err)
		list = append(list, w)
	}
	for _, w := range list {
		if _, err := w.Join(n.now, 0); err != nil {
			t.Fatal(err)
		}
	}
	n.until(t, workers)
	for _, w := range list {
		if _, err := w.Init(n.now, 1, key, make([]byte, key.Total), 0); err != nil {
			t.Fatal(err)
		}
	}
	n.until(t, workers)
	return n, list
}

// settle carries out what machines want until none wants anything.
func (n *net) settle() {
	for busy := true; busy; {
		busy = false
		for _, node := range n.order {
			m := n.machines[node]
			out := m.Out()
			if out.Empty() {
				continue
			}
			busy = true
			for i := range out.Sends {
				s := &out.Sends[i]
				n.header = s.Msg.AppendHeader(n.header[:0])
				n.deliver(node, s)
				if s.Hold == nil {
					continue
				}
				switch m := m.(type) {
				case *server.Server:
					m.Release(s.Hold)
				case *worker.Worker:
					m.Release(s.Hold)
				}
			}
			for _, e := range out.Events {
				if n.events != nil {
					n.events(e)
				}
			}
			n.done = append(n.done, out.Done...)
			for _, save := range out.Saves {
				save.Data = wholePart(&save)
				n.saves = append(n.saves, save)
			}
			durable(m, n.now)
		}
	}
}

// durable resets a machine's outbox, and makes durable at once what a scheduler wants so.
func durable(m machine, now ps.Time) {
	out := m.Out()
	view, manifest := out.View, out.Manifest
	out.Reset()
	s, ok := m.(*sched.Scheduler)
	if ok && manifest != nil {
		s.Recorded(now, manifest.Clock, nil)
	}
	if ok && view != nil {
		s.Persisted(now, view.Number)
	}
}

// heartbeat returns a heartbeat of somebody who knows a view.
func heartbeat(view uint64) wire.Message {
	m := wire.Message{Type: wire.TypeHeartbeat, Job: job, Payload: (&wire.Heartbeat{}).Append(nil)}
	m.SetViewNumber(view)
	return m
}

// viewOf returns the message by which the scheduler tells a view.
func viewOf(v *wire.View) wire.Message {
	m := wire.Message{Type: wire.TypeView, Job: job, From: wire.Node{Role: wire.Scheduler},
		Payload: v.Append(nil)}
	m.SetViewNumber(v.Number)
	return m
}

// deliver hands a message over.
func (n *net) deliver(from wire.Node, s *ps.Send) {
	if n.machines[s.To] == nil {
		return
	}
	if n.lose != nil {
		n.sift(from, s)
		return
	}
	n.machines[s.To].Handle(n.now, from, &s.Msg)
}

// sift hands over the messages that are not lost, those of batches one by one.
func (n *net) sift(from wire.Node, s *ps.Send) {
	if s.Msg.Type != wire.TypeBatch {
		if !n.lose(from, s.To, &s.Msg) {
			n.machines[s.To].Handle(n.now, from, &s.Msg)
		}
		return
	}
	items := s.Msg.Items()
	var m wire.Message
	for {
		if ok, err := items.Next(&m); !ok || err != nil {
			return
		}
		if !n.lose(from, s.To, &m) {
			n.machines[s.To].Handle(n.now, from, &m)
		}
	}
}

// pass lets time pass.
func (n *net) pass(d ps.Time) {
	for end := n.now + d; n.now < end; {
		n.now += 10 * ps.Millisecond
		for _, node := range n.order {
			n.machines[node].Tick(n.now)
		}
		n.settle()
	}
}

// until lets time pass until so many calls have ended.
func (n *net) until(t testing.TB, calls int) {
	for range 1000 {
		n.settle()
		if len(n.done) >= calls {
			break
		}
		n.now += 10 * ps.Millisecond
		for _, node := range n.order {
			n.machines[node].Tick(n.now)
		}
	}
	if len(n.done) != calls {
		t.Fatalf("%d calls ended, want %d", len(n.done), calls)
	}
	for _, d := range n.done {
		if d.Err != nil {
			t.Fatal(d.Err)
		}
	}
	n.done = n.done[:0]
}

// round lets every worker push and pull once.
func (n *net) round(t testing.TB, list []*worker.Worker, grads, outs [][]byte) {
	for i, w := range list {
		if _, err := w.Push(n.now, worker.PushOp{Key: 1, Value: grads[i],
			Out: outs[i]}); err != nil {
			t.Fatal(err)
		}
	}
	n.now += ps.Millisecond
	n.until(t, len(list))
}

func buffers(n int, size uint64) (list [][]byte) {
	for range n {
		list = append(list, make([]byte, size))
	}
	return list
}

// TestSteadyStateAllocatesNothing counts what one step of three workers allocates in all machines
// together: rounds and pushes that are applied at once, with one copy and with two, with and
// without backup workers, pushed and pulled in one message or in two, of one large key and of many
// small ones.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	const large, small, many = 3 << 16, 512, 20
	for name, tt := range map[string]struct {
		nc    netConfig
		key   worker.KeySpec
		keys  uint32
		apart bool
	}{
		"rounds":             {netConfig{replicas: 1}, worker.KeySpec{Total: large}, 1, false},
		"rounds, two copies": {netConfig{replicas: 2}, worker.KeySpec{Total: large}, 1, false},
		"push, then pull":    {netConfig{replicas: 2}, worker.KeySpec{Total: large}, 1, true},
		"small keys":         {netConfig{replicas: 2}, worker.KeySpec{Total: small}, many, false},
		"small keys apart":   {netConfig{replicas: 2}, worker.KeySpec{Total: small}, many, true},
		"backup workers": {netConfig{replicas: 2, backups: 1}, worker.KeySpec{Total: large}, 1,
			false},
		"direct": {netConfig{replicas: 1}, worker.KeySpec{Total: large, Direct: true}, 1,
			false},
		"direct, two copies": {netConfig{replicas: 2}, worker.KeySpec{Total: large, Direct: true},
			1,
			false},
		"small direct keys": {netConfig{replicas: 2}, worker.KeySpec{Total: small, Direct: true},
			many,
			true},
	} {
		t.Run(name, func(t *testing.T) {
			tt.nc.servers, tt.nc.workers = 2, 3
			tt.nc.opts = func(c *worker.Config) { c.SliceSize = 1 << 16 }
			n, list := tt.nc.open(t, tt.key)
			for key := range tt.keys - 1 {
				n.initKey(t, list, 2+key, tt.key)
			}
			grads, outs := buffers(3, tt.key.Total), buffers(3*int(tt.keys), tt.key.Total)
			step := func() { n.step(t, list, tt.keys, grads, outs, tt.apart) }
			for range 30 {
				step()
			}
			if got := testing.AllocsPerRun(100, step); got != 0 {
				t.Errorf("got %v allocations per step of 3 workers, want 0", got)
			}
		})
	}
}

// step lets every worker push and pull all keys once.
func (n *net) step(t testing.TB, list []*worker.Worker, keys uint32, grads, outs [][]byte,
	apart bool) {
	calls := 0
	for i, w := range list {
		for key := range keys {
			out := outs[i*int(keys)+int(key)]
			op := worker.PushOp{Key: 1 + key, Value: grads[i]}
			if !apart {
				op.Out = out
			}
			_, err := w.Push(n.now, op)
			calls++
			if err == nil && apart {
				_, err = w.Pull(n.now, 1+key, out, 0, 0)
				calls++
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	n.now += ps.Millisecond
	n.until(t, calls)
}

func BenchmarkPushPull(b *testing.B) {
	for _, workers := range []int{1, 3} {
		for _, replicas := range []int{1, 2} {
			for _, total := range []uint64{4 << 10, 1 << 20} {
				b.Run(fmt.Sprintf("workers=%d/replicas=%d/bytes=%d", workers, replicas, total),
					func(b *testing.B) {
						n, list := newNet(b, 2, workers, replicas, worker.KeySpec{Total: total},
							nil)
						grads, outs := buffers(workers, total), buffers(workers, total)
						b.SetBytes(int64(workers) * int64(total))
						b.ReportAllocs()
						for b.Loop() {
							n.round(b, list, grads, outs)
						}
					})
			}
		}
	}
}
