package bulk

import (
	"runtime"
	"testing"

	"gomx/kvstore/transport/mem"
	"gomx/kvstore/wire"
)

// TestSteadyStateAllocatesLittle sends messages of several sizes back and forth. crypto/tls
// allocates 32 bytes whenever it reads from the connection; nothing else is allocated.
func TestSteadyStateAllocatesLittle(t *testing.T) {
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
		records := 2 * (size/recordSize + 2)
		if got := testing.AllocsPerRun(100, round); got > float64(records) {
			t.Errorf("a round of %d bytes allocates %.1f times, want at most once for each of %d "+
				"records", size, got, records)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range 100 {
			round()
		}
		runtime.ReadMemStats(&after)
		if got := (after.TotalAlloc - before.TotalAlloc) / 100; got > uint64(100*records) {
			t.Errorf("a round of %d bytes allocates %d bytes, want at most %d", size, got,
				100*records)
		}
	}
}
