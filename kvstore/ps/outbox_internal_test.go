package ps

import (
	"testing"

	"gomx/kvstore/wire"
)

// small returns a message with n bytes of payload.
func small(seq uint64, n int) wire.Message {
	return wire.Message{Type: wire.TypeAck, From: wire.Node{Role: wire.Server}, Seq: seq,
		Payload: make([]byte, n)}
}

// TestSmallMessagesTravelTogether packs messages to two workers: the order to each stays, what is
// large or of the scheduler's traffic travels alone, and a batch has one receiver's incarnation.
func TestSmallMessagesTravelTogether(t *testing.T) {
	var out Outbox
	send := func(to wire.Node, m wire.Message) {
		out.Sends = append(out.Sends, Send{To: to, Msg: m})
	}
	zero, one := wire.Node{Role: wire.Worker}, wire.Node{Role: wire.Worker, Rank: 1}
	for seq := range uint64(3) {
		send(zero, small(seq, 8))
		send(one, small(seq, 8))
	}
	send(zero, small(3, fuseItem+1))
	send(zero, small(4, fuseItem))
	send(zero, wire.Message{Type: wire.TypeHeartbeat})
	other := small(5, 8)
	other.Target = 9
	send(zero, small(6, 8))
	send(zero, other)
	out.Pack()
	type sent struct {
		typ  wire.Type
		seqs []uint64
	}
	got := map[wire.Node][]sent{}
	for i := range out.Sends {
		x := &out.Sends[i]
		g := sent{typ: x.Msg.Type}
		items := x.Msg.Items()
		var m wire.Message
		for x.Msg.Type == wire.TypeBatch {
			if ok, err := items.Next(&m); !ok {
				if err != nil {
					t.Fatal(err)
				}
				break
			}
			g.seqs = append(g.seqs, m.Seq)
		}
		if x.Msg.Type != wire.TypeBatch {
			g.seqs = append(g.seqs, x.Msg.Seq)
		}
		got[x.To] = append(got[x.To], g)
	}
	want := map[wire.Node][]sent{
		zero: {{wire.TypeBatch, []uint64{0, 1, 2}}, {wire.TypeAck, []uint64{3}},
			{wire.TypeAck, []uint64{4}}, {wire.TypeHeartbeat, []uint64{0}},
			{wire.TypeAck, []uint64{6}}, {wire.TypeAck, []uint64{5}}},
		one: {{wire.TypeBatch, []uint64{0, 1, 2}}},
	}
	for n, list := range want {
		if len(got[n]) != len(list) {
			t.Fatalf("to %s: got %v, want %v", n, got[n], list)
		}
		for i := range list {
			if g := got[n][i]; g.typ != list[i].typ || len(g.seqs) != len(list[i].seqs) ||
				g.seqs[0] != list[i].seqs[0] {
				t.Errorf("to %s: message %d is %v, want %v", n, i, g, list[i])
			}
		}
	}
	out.Reset()
	if !out.Empty() {
		t.Error("an outbox that was reset is not empty")
	}
}
