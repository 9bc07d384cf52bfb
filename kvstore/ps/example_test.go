package ps_test

import (
	"encoding/binary"
	"fmt"
	"math"

	"gomx/kvstore/ps"
	"gomx/kvstore/ps/sched"
	"gomx/kvstore/ps/server"
	"gomx/kvstore/ps/worker"
	"gomx/kvstore/wire"
)

// drive hands messages around between the machines of a job until nobody wants anything.
func drive(now ps.Time, machines map[wire.Node]machine) (done []ps.Done) {
	for busy := true; busy; {
		busy = false
		for _, m := range machines {
			out := m.Out()
			busy = busy || !out.Empty()
			for _, s := range out.Sends {
				machines[s.To].Handle(now, s.Msg.From, &s.Msg)
				switch m := m.(type) { // the payload is not needed any more
				case *server.Server:
					m.Release(s.Hold)
				case *worker.Worker:
					if s.Hold != nil {
						m.Release(s.Hold)
					}
				}
			}
			done = append(done, out.Done...)
			durable(m, now)
		}
	}
	return done
}

// A job of one server and two workers, without a network: both push, and both see the sum.
func Example() {
	scheduler, _ := sched.New(sched.Config{Job: 1, Servers: 1, Workers: 2, Replicas: 1})
	server, _ := server.New(server.Config{Job: 1, Nonce: 10, Workers: 2})
	machines := map[wire.Node]machine{{Role: wire.Scheduler}: scheduler,
		{Role: wire.Server}: server}
	var workers []*worker.Worker
	for rank := range uint16(2) {
		w, _ := worker.New(worker.Config{Job: 1, Rank: rank, Nonce: 20 + uint64(rank),
			Workers: 2})
		workers = append(workers, w)
		machines[wire.Node{Role: wire.Worker, Rank: rank}] = w
	}
	now := ps.Time(0)
	pass := func() { // time passes, and everybody does what there is to do
		for range 50 {
			now += 20 * ps.Millisecond
			for _, m := range machines {
				m.Tick(now)
			}
			for _, d := range drive(now, machines) {
				if d.Err != nil {
					fmt.Println(d.Err)
				}
			}
		}
	}
	for _, w := range workers {
		_, _ = w.Join(now, 0)
	}
	pass()
	for _, w := range workers {
		_, _ = w.Init(now, 7, worker.KeySpec{Total: 4}, floats(0), 0)
	}
	pass()
	sums := [][]byte{floats(0), floats(0)}
	for i, w := range workers {
		_, _ = w.Push(now, worker.PushOp{Key: 7, Value: floats(1 + 0.5*float32(i)), Out: sums[i]})
	}
	pass()
	for _, s := range sums {
		fmt.Println(math.Float32frombits(binary.LittleEndian.Uint32(s)))
	}
	// Output:
	// 2.5
	// 2.5
}

func floats(v float32) []byte {
	return binary.LittleEndian.AppendUint32(nil, math.Float32bits(v))
}

func ExampleShardOf() {
	for slice := range uint16(4) {
		fmt.Println(ps.ShardOf(ps.ID{Key: 3, Slice: slice}, 8))
	}
	// Output:
	// 3
	// 4
	// 5
	// 6
}
