package ps

import "gomx/kvstore/wire"

// host is the common ground of all copies of a server: its place in the job, its settings, memory
// and figures.
type host struct {
	member
	cfg   ServerConfig
	mem   memory
	now   Time
	stats ServerStats
	spare []*logEntry // not in use
	temp  []byte      // bytes of messages in the outbox
}

// newHost returns the host of a server whose configuration is complete.
func newHost(c ServerConfig) *host {
	h := &host{cfg: c, mem: memory{alloc: c.Alloc, freed: c.Free}}
	h.member = newMember(identity{self: wire.Node{Role: wire.Server, Rank: c.Rank}, job: c.Job,
		nonce: c.Nonce, size: c.Workers, addr: c.Addr}, c.Timing)
	return h
}

// ServerStats counts the work of a server.
type ServerStats struct {
	Pushes     uint64 // received for the first time
	Duplicates uint64 // received again
	Early      uint64 // received before one they follow, and dropped
	Late       uint64 // after their round was closed
	Rounds     uint64 // closed
	Entries    uint64 // log entries applied
	Pulls      uint64 // answered
	Rejected   uint64 // refused with a reason
	Refused    uint64 // dropped because they make no sense
	Held       uint64 // bytes held now because a lower rank has not contributed
	Parked     int    // pulls that wait now
	Memory     uint64 // bytes of values and rounds now
	LogLength  int    // entries not yet on all copies
}

// start begins a step.
func (h *host) start(now Time) {
	h.now = now
	h.wake(now)
	if len(h.out.Sends) == 0 {
		h.temp = h.temp[:0]
	}
}

// keep copies bytes to where they stay until the outbox has been emptied.
func (h *host) keep(b []byte) []byte {
	h.temp = append(h.temp, b...)
	return h.temp[len(h.temp)-len(b):]
}

// refuse drops a message that makes no sense.
func (h *host) refuse(m *wire.Message, why string) {
	h.stats.Refused++
	h.out.event(EventRefused, m.From, m.Shard, m.Epoch, m.Type.String()+": "+why)
}

// reject tells a worker that its message was refused. Servers learn it from the view.
func (h *host) reject(m *wire.Message, why wire.Reason) {
	h.stats.Rejected++
	if m.From.Role != wire.Worker {
		return
	}
	r := h.message(wire.TypeReject)
	r.Shard, r.Key, r.Slice, r.Slices, r.Target = m.Shard, m.Key, m.Slice, m.Slices, m.Incarnation
	r.SetRefusal(wire.Refusal{Reason: why, Of: m.Type, Seq: m.Seq})
	if h.view != nil && int(m.Shard) < len(h.view.Shards) {
		r.Epoch = h.view.Shards[m.Shard].Epoch
	}
	h.send(m.From, r, nil)
}

// counts reports whether anybody waits for a worker.
func (h *host) counts(rank int) bool {
	m := &h.view.Workers[rank]
	return !m.Left && (h.cfg.Policy == Wait || m.Alive)
}

// expects reports whether a round of an entry waits for a worker.
func (h *host) expects(e *entry, rank int, clock uint64) bool {
	return h.counts(rank) && clock > e.starts[rank]
}

// loose reports whether rounds may close without a worker.
func (h *host) loose() bool { return h.cfg.Policy == Shrink || h.cfg.Backups > 0 }
