package ps

import (
	"testing"

	"gomx/kvstore/wire"
)

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
