package transport

import "gomx/kvstore/wire"

// Gate decides which of the received messages reach the handler. Only the receiving goroutine may
// use it.
type Gate struct {
	job    uint64
	newest map[wire.Node]uint32 // highest incarnation received, by sender
	count  *Counters
}

// NewGate returns a gate for the messages of one job.
func NewGate(c *Config, count *Counters) *Gate {
	return &Gate{job: c.Job, newest: map[wire.Node]uint32{}, count: count}
}

// Admit reports whether a message may reach the handler, and counts it if it may not. from is the
// node that the transport authenticated, or the zero Node if the transport has no keys and the
// header is trusted.
func (g *Gate) Admit(from wire.Node, m *wire.Message) bool {
	switch {
	case m.Job != g.job:
		g.count.Foreign.Add(1)
		return false
	case !from.IsZero() && from != m.From:
		g.count.Imposter.Add(1)
		return false
	}
	if m.Incarnation == 0 { // a process that says hello has no incarnation yet
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

// Replaced reports whether a message comes from an older incarnation of a node than one already
// received.
func (g *Gate) Replaced(m *wire.Message) bool {
	return m.Job == g.job && m.Incarnation != 0 && m.Incarnation < g.newest[m.From]
}
