package server

import (
	"gomx/kvstore/ps"
	"gomx/kvstore/ps/node"
	"gomx/kvstore/wire"
)

// host is the common ground of all copies of a server: its place in the job, its settings, memory
// and figures.
type host struct {
	me  node.Member // place in the job, view, and outbox
	cfg Config      // complete: zero fields have their defaults
	mem memory      // memory of values and sums, of all shards
	now ps.Time     // clock of the driver in this reaction
	// figures so far; Stats adds the ones that follow from the state
	stats Stats
	// log entries that are not in use: taking them from here keeps pushes free of allocations
	spare []*logEntry
	// bytes of messages in the outbox that no buffer holds. It grows until the driver has emptied
	// the outbox; slices of it stay valid when it moves, because nothing is written twice.
	temp []byte
}

// newHost returns the host of a server whose configuration is complete.
func newHost(c Config) *host {
	h := &host{cfg: c, mem: memory{alloc: c.Alloc, freed: c.Free}}
	h.me = node.NewMember(node.Identity{Self: wire.Node{Role: wire.Server, Rank: c.Rank},
		Job:   c.Job,
		Nonce: c.Nonce, Size: c.Workers, Addr: c.Addr}, c.Timing)
	return h
}

// start begins a reaction: it takes over the driver's clock. Once the outbox has been emptied the
// bytes that its messages referred to are free.
func (h *host) start(now ps.Time) {
	h.now = now
	h.me.Wake(now)
	if len(h.me.Out.Sends) == 0 {
		h.temp = h.temp[:0]
	}
}

// keep copies bytes to where they stay until the outbox has been emptied.
func (h *host) keep(b []byte) []byte {
	h.temp = append(h.temp, b...)
	return h.temp[len(h.temp)-len(b):]
}

// refuse drops a message that makes no sense, and says so in an event. Its sender is of another
// version, or not one of ours: it gets no answer.
func (h *host) refuse(m *wire.Message, why string) {
	h.stats.Refused++
	h.me.Out.Report(ps.EventRefused, m.From, m.Shard, m.Epoch, m.Type.String()+": "+why)
}

// reject tells a worker that its message was refused, with the epoch that the server knows of.
// Servers learn it from the view.
func (h *host) reject(m *wire.Message, why wire.Reason) {
	h.stats.Rejected++
	if m.From.Role != wire.Worker {
		return
	}
	r := h.me.Message(wire.TypeReject)
	r.Shard, r.Key, r.Slice, r.Slices, r.Target = m.Shard, m.Key, m.Slice, m.Slices, m.Incarnation
	r.SetRefusal(wire.Refusal{Reason: why, Of: m.Type, Seq: m.Seq})
	if h.me.View != nil && int(m.Shard) < len(h.me.View.Shards) {
		r.Epoch = h.me.View.Shards[m.Shard].Epoch
	}
	h.me.Send(m.From, r, nil)
}

// counts reports whether anybody waits for a worker. Under Wait a dead worker counts, because its
// successor makes the same pushes again; a worker that has left, or is not in the group yet, never
// does.
func (h *host) counts(rank int) bool {
	if rank >= len(h.me.View.Workers) {
		return false
	}
	m := &h.me.View.Workers[rank]
	return !m.Left && !m.Waits && (h.cfg.Policy == ps.Wait || m.Alive)
}

// workers returns how many places for workers the job has.
func (h *host) workers() int { return max(h.cfg.Workers, len(h.me.View.Workers)) }

// expects reports whether a round of an entry waits for a worker: one that counts, and has not said
// that it starts behind the round.
func (h *host) expects(e *entry, rank int, clock uint64) bool {
	return h.counts(rank) && clock > e.starts[rank]
}

// loose reports whether rounds may close without a worker. Then a worker that takes over cannot
// find its start in its own pushes: it says where it starts (kindStart).
func (h *host) loose() bool { return h.cfg.Policy == ps.Shrink || h.cfg.Backups > 0 }

// Config says how a server works. All servers and workers of a job have the same Job,
// Workers, Policy, Backups, Window, Ahead and Credit.
type Config struct {
	Job   uint64 // drawn at the start of the job
	Rank  uint16 // place of the server among the servers of the job
	Nonce uint64 // drawn anew by every process; not 0
	Addr  string // where the server listens
	// Workers is the number of workers with which the job began, 1 to 65535. Optimizers scale sums
	// as if so many had contributed.
	Workers int
	Policy  ps.Policy
	// Backups is the number of backup workers: rounds close when all but so many have contributed.
	Backups int
	// Window is how many pushes of one worker to one shard may be uncommitted, which is also how
	// many sequences behind the first gap copies remember; 1024.
	Window int
	// Ahead is how many rounds of one key may be open; 2.
	Ahead int
	// Credit is how many bytes a worker may have on their way to one shard; 4 MiB.
	Credit int
	// Memory is the limit in bytes for values, rounds and early pushes; 0: no limit.
	Memory uint64
	// CheckEvery is the number of log entries between comparisons of the copies; 64.
	CheckEvery uint64
	Timing     ps.Timing
	// Arithmetic adds pushes; ps.Plain when nil.
	Arithmetic ps.Arithmetic
	// Updater returns the updater of a copy of a shard; sums replace values when it is nil. Every
	// call returns a new one: copies must not share state.
	Updater func(shard uint32) Updater
	// Alloc and Free provide memory for values; the Go heap when nil.
	Alloc func(n int) []byte
	Free  func(b []byte)
	// Restore opens a shard's part of the snapshot that the job continues from, nil when it starts
	// fresh. The server closes it.
	Restore func(shard uint32) *wire.Source
}

// fill sets the defaults of zero fields.
func (c *Config) fill() {
	node.FillLimits(&c.Window, &c.Ahead, &c.Credit)
	if c.CheckEvery == 0 {
		c.CheckEvery = 64
	}
	if c.Arithmetic == nil {
		c.Arithmetic = ps.Plain{}
	}
	c.Timing.Fill()
}
