package node

import (
	"testing"

	"gomx/kvstore/ps"
	"gomx/kvstore/wire"
)

// TestAMemberSaysThatItHasJoined adopts the first view that names the process, once.
func TestAMemberSaysThatItHasJoined(t *testing.T) {
	m := NewMember(Identity{Self: wire.Node{Role: wire.Worker}, Job: 1, Nonce: 5, Size: 1},
		ps.Timing{})
	for number := range uint64(2) {
		v := &wire.View{Job: 1, Number: number + 1,
			Workers: []wire.Member{{Node: m.Self, Incarnation: 3, Nonce: 5}}}
		msg := wire.Message{Type: wire.TypeView, Payload: v.Append(nil)}
		msg.SetViewNumber(v.Number)
		if !m.Adopt(&msg) || m.Adopt(&msg) {
			t.Errorf("view %d is not adopted once", v.Number)
		}
	}
	if n := len(m.Out.Events); m.Inc != 3 || n != 1 || m.Out.Events[0].Kind != ps.EventJoined {
		t.Errorf("incarnation %d, events %+v, want 3 and that it has joined", m.Inc, m.Out.Events)
	}
}
