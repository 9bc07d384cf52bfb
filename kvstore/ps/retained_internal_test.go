package ps

import (
	"testing"

	"gomx/kvstore/wire"
)

// TestFreeThingsKeepNoMemory wants queues and steps that are used again not to keep what was in
// them.
func TestFreeThingsKeepNoMemory(t *testing.T) {
	rt, _ := testRoutes(WorkerConfig{})
	p := rt.give(8)
	if q := p.slice.queue; len(q) != 0 || cap(q) == 0 || q[:1][0] != nil {
		t.Errorf("the queue of a slice keeps pushes that have left it: %v", q[:cap(q)])
	}
	s := step{seqs: []uint64{1}, bytes: make([]byte, 1<<20)}
	s.clear()
	if len(s.bytes) != 0 || cap(s.bytes) != 1<<20 {
		t.Errorf("a step of 1 MiB keeps %d bytes", cap(s.bytes))
	}
	s.bytes = make([]byte, 1<<20+1)
	s.clear()
	if s.bytes != nil || len(s.seqs) != 0 {
		t.Errorf("a larger step keeps %d bytes", cap(s.bytes))
	}
}

// TestAMemberSaysThatItHasJoined adopts the first view that names the process, once.
func TestAMemberSaysThatItHasJoined(t *testing.T) {
	m := newMember(identity{self: wire.Node{Role: wire.Worker}, job: 1, nonce: 5, size: 1},
		Timing{})
	for number := range uint64(2) {
		v := &wire.View{Job: 1, Number: number + 1,
			Workers: []wire.Member{{Node: m.self, Incarnation: 3, Nonce: 5}}}
		msg := wire.Message{Type: wire.TypeView, Payload: v.Append(nil)}
		msg.SetViewNumber(v.Number)
		if !m.adopt(&msg) || m.adopt(&msg) {
			t.Errorf("view %d is not adopted once", v.Number)
		}
	}
	if n := len(m.out.Events); m.inc != 3 || n != 1 || m.out.Events[0].Kind != EventJoined {
		t.Errorf("incarnation %d, events %+v, want 3 and that it has joined", m.inc, m.out.Events)
	}
}
