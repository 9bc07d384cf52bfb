package ps

import "gomx/kvstore/wire"

// earlyBytes is the number of bytes kept of messages that came before the view that they need.
const earlyBytes = 1 << 20

// early keeps a message of a worker that knows a newer view than the server, which asks for it.
// Pushes are repeated from the first gap on: keeping one of them would help little.
func (s *Server) early(m *wire.Message) {
	s.asked = true
	if m.From.Role != wire.Worker || m.Type == wire.TypePush || m.Type == wire.TypePushPull ||
		m.Type == wire.TypeTick {
		return
	}
	bytes := wire.HeaderSize + len(m.Payload)
	for i := range s.ahead {
		if a := &s.ahead[i]; a.From == m.From && a.Seq == m.Seq && a.Type == m.Type &&
			a.Incarnation == m.Incarnation {
			return
		}
		bytes += wire.HeaderSize + len(s.ahead[i].Payload)
	}
	if bytes > earlyBytes {
		return
	}
	c := *m
	c.Payload, c.Owner = append([]byte(nil), m.Payload...), nil
	s.ahead = append(s.ahead, c)
}

// catchUp handles the messages that came before the view that they need.
func (s *Server) catchUp() {
	list := s.ahead
	s.ahead = nil
	for i := range list {
		s.dispatch(&list[i])
	}
}
