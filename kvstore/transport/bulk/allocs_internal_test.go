package bulk

import (
	"testing"

	"gomx/kvstore/transport/mem"
	"gomx/kvstore/wire"
)

// TestSteadyStateAllocatesNothing sends messages of several sizes back and forth.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	if race {
		t.Skip("the race detector lets pools forget")
	}
	n := mem.NewNetwork(1)
	atServer, atWorker := make(chan wire.Message, 10), make(chan wire.Message, 10)
	server := target(t, n, someServer, atServer, Options{})
	worker := target(t, n, someWorker, atWorker, Options{})
	if err := worker.Connect(someServer, server.Addr()); err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{8, 4000, 1 << 20} {
		push := wire.Message{Type: wire.TypePush, Job: 1, From: someWorker, Incarnation: 1,
			Payload: make([]byte, size)}
		value := wire.Message{Type: wire.TypeValue, Job: 1, From: someServer, Incarnation: 1,
			Payload: make([]byte, size)}
		back := make(chan struct{}, 1)
		sent := func() { back <- struct{}{} }
		round := func() {
			if err := worker.Send(someServer, &push, sent); err != nil {
				t.Fatal(err)
			}
			<-atServer
			<-back
			if err := server.Send(someWorker, &value, nil); err != nil {
				t.Fatal(err)
			}
			<-atWorker
		}
		for range 20 {
			round()
		}
		if got := testing.AllocsPerRun(100, round); got >= 1 {
			t.Errorf("a round of %d bytes allocates %.1f times, want none", size, got)
		}
	}
}
