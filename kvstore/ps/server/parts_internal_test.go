package server

import (
	"encoding/binary"
	"math"
	"testing"

	"gomx/dtype"
	"gomx/kvstore/ps"
	"gomx/kvstore/wire"
)

// Parts of servers and workers are tested here without the machines that they are part of.

// testHost returns the host of a server in a job of some workers, which all live.
func testHost(t *testing.T, workers int, change func(c *Config)) *host {
	t.Helper()
	c := Config{Job: 1, Nonce: 1, Workers: workers, CheckEvery: 1}
	if change != nil {
		change(&c)
	}
	c.fill()
	h := newHost(c)
	h.me.Inc = 1
	h.me.View = &wire.View{Job: 1, Number: 1, Servers: make([]wire.Member, 2),
		Workers: make([]wire.Member, workers),
		Shards:  []wire.Shard{{Epoch: 1}}}
	for i := range h.me.View.Workers {
		h.me.View.Workers[i] = wire.Member{Node: wire.Node{Role: wire.Worker, Rank: uint16(i)},
			Incarnation: uint32(10 + i), Alive: true}
	}
	return h
}

// testReplica returns a copy that has key 1, of 4 floats, and whose workers have joined.
func testReplica(t *testing.T, h *host) (*replica, *entry) {
	t.Helper()
	rp := newReplica(h, &seat{epoch: 1})
	le := h.newEntry(kindInit)
	le.head()
	le.own = append(le.own, floats(1, 2, 3, 4)...)
	le.id, le.slices, le.dtype, le.total = ps.ID{Key: 1}, 1, uint8(dtype.Float32), 16
	rp.step(le)
	for r := range rp.ranks {
		join := h.newEntry(kindJoin)
		join.head()
		join.id.Key, join.clock = uint32(r), uint64(10+r)
		rp.step(join)
	}
	return &rp, rp.entries[ps.ID{Key: 1}]
}

// step applies the next entry of the log.
func (rp *replica) step(le *logEntry) {
	rp.commit++
	le.index = rp.commit
	rp.apply(le)
}

// roundOf makes the log entry of a round: the sum, and one push of each rank.
func roundOf(h *host, e *entry, clock uint64, sum []byte, ranks ...int) *logEntry {
	le := h.newEntry(kindRound)
	le.entry, le.id, le.slices, le.dtype, le.total = e, e.id, e.slices, uint8(e.dtype), e.total
	le.clock, le.n, le.buf = clock, len(ranks), e.pool.get()
	head := le.body()[:wire.EntrySize(le.n)]
	wire.PutEntry(head, le.n)
	for i, r := range ranks {
		wire.PutContributor(head, i, wire.Contributor{Rank: uint16(r), Outcome: wire.Applied,
			Incarnation: uint32(10 + r), Seq: clock})
	}
	copy(le.buf.data(), sum)
	return le
}

// floats returns numbers as bytes.
func floats(list ...float32) (b []byte) {
	for _, v := range list {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}
