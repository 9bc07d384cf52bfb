package transport

import "gomx/kvstore/wire"

// Gate decides which of the messages that arrived reach the handler. It belongs to the goroutine that receives.
type Gate struct {
	job    uint64
	newest map[wire.Node]uint32
	count  *Counters
}

// NewGate returns a gate for the messages of one job.
func NewGate(c *Config, count *Counters) *Gate {
	return &Gate{job: c.Job, newest: map[wire.Node]uint32{}, count: count}
}

// Admit reports whether a message may pass. from is the node that the transport authenticated; it is nobody where the
// header's word must do. A message that may not pass is counted.
func (g *Gate) Admit(from wire.Node, m *wire.Message) bool {
	switch {
	case m.Job != g.job:
		g.count.Foreign.Add(1)
		return false
	case !from.IsZero() && from != m.From:
		g.count.Imposter.Add(1)
		return false
	}
	if m.Incarnation == 0 { // a process that asks for a place has none yet
		return true
	}
	newest, known := g.newest[m.From]
	if m.Incarnation < newest {
		g.count.Stale.Add(1)
		return false
	}
	if !known || m.Incarnation > newest {
		g.newest[m.From] = m.Incarnation
	}
	return true
}

// Replaced reports whether a message comes from a process in whose place a newer one has been heard.
func (g *Gate) Replaced(m *wire.Message) bool {
	return m.Job == g.job && m.Incarnation != 0 && m.Incarnation < g.newest[m.From]
}
