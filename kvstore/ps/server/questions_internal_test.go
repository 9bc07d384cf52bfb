package server

import (
	"testing"

	"gomx/kvstore/wire"
)

// TestQuestionsAreAnswerable looks at questions before and after the state that answers them.
func TestQuestionsAreAnswerable(t *testing.T) {
	sh, _ := testShard(t, nil)
	rk := &sh.ranks[1]
	ask := func(typ wire.Type, inc uint32, flags wire.Flags, key uint32, version uint64) bool {
		m := wire.Message{Type: typ, From: wire.Node{Role: wire.Worker, Rank: 1},
			Incarnation: inc, Flags: flags, KeySlice: wire.KeySlice{Key: key}}
		if typ == wire.TypeOptimizer {
			m.SetSpecVersion(version)
		}
		return sh.answerable(&m)
	}
	sh.spec.Version = 2
	for _, tt := range []struct {
		name    string
		away    bool
		typ     wire.Type
		inc     uint32
		flags   wire.Flags
		key     uint32
		version uint64
		want    bool
	}{
		{"a key that is there", false, wire.TypeInit, 11, 0, 1, 0, true},
		{"a key that is not", false, wire.TypeInit, 11, 0, 2, 0, false},
		{"the optimizer's version", false, wire.TypeOptimizer, 11, 0, 0, 2, true},
		{"a later version", false, wire.TypeOptimizer, 11, 0, 0, 3, false},
		{"a cursor after the join", false, wire.TypeAskCursor, 11, 0, 0, 0, true},
		{"a cursor before the join", false, wire.TypeAskCursor, 12, 0, 0, 0, false},
		{"a cursor before the start", true, wire.TypeAskCursor, 11, 0, 0, 0, true},
		{"a start that is committed", false, wire.TypeAskCursor, 11, wire.FlagStart, 0, 0, true},
		{"a start that is not", true, wire.TypeAskCursor, 11, wire.FlagStart, 0, 0, false},
		{"a pull", false, wire.TypePull, 11, 0, 1, 0, false},
	} {
		rk.away = tt.away
		if got := ask(tt.typ, tt.inc, tt.flags, tt.key, tt.version); got != tt.want {
			t.Errorf("%s: answerable %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestHeadKeepsWorkersAway writes and reads the knowledge of workers in a shard.
func TestHeadKeepsWorkersAway(t *testing.T) {
	h := testHost(t, 2, nil)
	rp, _ := testReplica(t, h)
	rp.ranks[1].away = true
	head := rp.appendHead(nil)
	other, _ := testReplica(t, testHost(t, 2, nil))
	from := wire.SourceOf(head)
	if err := other.setHead(from); err != nil || from.Left() != 0 {
		t.Fatalf("%d bytes are left, error %v", from.Left(), err)
	}
	if other.ranks[0].away || !other.ranks[1].away {
		t.Errorf("got %+v, want rank 1 alone away", other.ranks)
	}
}
