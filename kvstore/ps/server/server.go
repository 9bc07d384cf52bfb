package server

import (
	"fmt"

	"gomx/kvstore/ps"
	"gomx/kvstore/ps/node"
	"gomx/kvstore/wire"
)

// Server holds shards as primary or backup. It is a state machine: Handle and Tick change it, and
// leave the work for its driver in its Outbox. One goroutine drives it.
type Server struct {
	*host
	*rounds
	shards []*shard // copies by shard; nil: none
	// shards of which there has ever been a copy here. An empty copy is complete only where there
	// was none before: nothing can have been committed without this server then.
	had    []bool
	leaves bool           // wants to leave
	ahead  []wire.Message // of workers that know a newer view; kept with copies of their payloads
}

// New returns a server that asks the scheduler for its place.
func New(c Config) (*Server, error) {
	c.fill()
	switch {
	case c.Workers < 1 || c.Workers > 1<<16-1:
		return nil, fmt.Errorf("ps: server with %d workers, want 1 to 65535: %w", c.Workers,
			ps.ErrUsage)
	case c.Nonce == 0:
		return nil, fmt.Errorf("ps: server with nonce 0: %w", ps.ErrUsage)
	case c.Backups < 0 || c.Backups >= c.Workers:
		return nil, fmt.Errorf("ps: %d backup workers of %d: %w", c.Backups, c.Workers, ps.ErrUsage)
	}
	h := newHost(c)
	s := &Server{host: h, rounds: &rounds{host: h}}
	s.me.Dispatch = s.dispatch
	return s, nil
}

// Out returns the server's outbox, after collecting the acknowledgements that are due. The caller
// carries it out and resets it.
func (s *Server) Out() *ps.Outbox {
	for _, sh := range s.shards {
		if sh != nil {
			sh.flush()
		}
	}
	s.me.Out.Pack()
	return &s.me.Out
}

// Release takes back the Hold of a Send.
func (s *Server) Release(l *ps.Loan) { l.Return() }

// View returns the server's view, nil before it has one. It must not be changed.
func (s *Server) View() *wire.View { return s.me.View }

// Incarnation returns the server's own, 0 before it has a place.
func (s *Server) Incarnation() uint32 { return s.me.Inc }

// Fenced reports whether another process has taken the server's place: it can only end.
func (s *Server) Fenced() bool { return s.me.Fenced }

// Handle takes in a message that a transport received from a node. The message and its payload are
// not kept.
func (s *Server) Handle(now ps.Time, from wire.Node, m *wire.Message) {
	s.start(now)
	if !s.me.Ours(from, m) {
		s.stats.Refused++
		return
	}
	if err := s.me.Unpack(m); err != nil {
		s.refuse(m, err.Error())
	}
}

// dispatch takes in one message. The epoch says whether sender and server mean the same primary: an
// older one is refused, so that the sender asks for the view; a newer one makes the server ask.
func (s *Server) dispatch(m *wire.Message) {
	switch m.From.Role {
	case wire.Scheduler:
		s.fromScheduler(m)
		return
	case wire.Worker, wire.Server:
	default:
		s.refuse(m, "sender has no role")
		return
	}
	if s.me.View == nil || int(m.Shard) >= len(s.shards) || s.shards[m.Shard] == nil {
		s.unserved(m)
		return
	}
	sh := s.shards[m.Shard]
	switch {
	case !s.me.View.Current(m.From, m.Incarnation):
		s.unnamed(m)
	case m.Epoch > sh.epoch, m.From.Role == wire.Worker &&
		int16(m.Group-uint16(s.me.View.Group.Number)) > 0:
		s.early(m) // its sender knows a newer view
	case m.From.Role == wire.Worker && sh.role != primary:
		s.reject(m, wire.ReasonNotPrimary)
	case m.Epoch < sh.epoch:
		s.reject(m, wire.ReasonEpoch)
	case m.From.Role == wire.Server:
		sh.fromServer(m)
	default:
		sh.fromWorker(m)
	}
}

// unserved handles a message about a shard that is not here.
func (s *Server) unserved(m *wire.Message) {
	if s.me.View == nil || int(m.Shard) < len(s.me.View.Shards) &&
		m.Epoch > s.me.View.Shards[m.Shard].Epoch {
		s.early(m)
		return
	}
	s.reject(m, wire.ReasonNotPrimary)
}

// unnamed handles a message from an incarnation that our view does not name: an old one is told so,
// a newer one makes us ask.
func (s *Server) unnamed(m *wire.Message) {
	known := s.me.View.Member(m.From)
	if known == nil || m.Incarnation > known.Incarnation {
		s.early(m)
		return
	}
	s.reject(m, wire.ReasonIncarnation)
}

// fromScheduler takes in a view, an order for a snapshot, or the news that the place is taken.
func (s *Server) fromScheduler(m *wire.Message) {
	s.me.Hear(m)
	switch m.Type {
	case wire.TypeHeartbeat:
	case wire.TypeView:
		if s.me.Adopt(m) && !s.me.Fenced && s.me.Inc != 0 {
			s.adoptShards()
			s.catchUp()
		}
	case wire.TypeReject:
		if s.me.Evicted(m) {
			s.me.Out.Fatal = ps.ErrFenced
		}
	case wire.TypeSnapshot:
		for _, sh := range s.shards {
			if sh != nil && sh.role == primary {
				sh.startSnapshot(m.SnapshotOrder())
			}
		}
	default:
		s.refuse(m, "not for a server")
	}
}

// Tick lets time pass: heartbeats, repetitions, and pulls that nobody asks for any more. It should
// be called every few milliseconds. A server that has heard nothing of the scheduler for
// Timing.Patience ends: nobody would move its shards if its peer died.
func (s *Server) Tick(now ps.Time) {
	s.start(now)
	if s.me.Fenced {
		return
	}
	s.me.Tick(now, s.heartbeat())
	if s.me.Alone {
		s.me.Out.Fatal = s.me.Silent()
	}
	for _, sh := range s.shards {
		if sh == nil {
			continue
		}
		if sh.role == primary {
			sh.tickPrimary()
		}
	}
}

// Gone reports whether the scheduler knows that the server has left.
func (s *Server) Gone() bool { return s.me.Gone() }

// Leave says goodbye to the scheduler, which moves the server's shards at once. Ticks should go on
// until Gone.
func (s *Server) Leave() { s.me.Leave() }

// WantLeave asks the scheduler to move the server's copies to others and to let it go then: the
// view says Left when it may end. It reports false when too few other servers are there to keep as
// many copies of every shard.
func (s *Server) WantLeave() bool {
	v := s.me.View
	if v == nil || s.me.Inc == 0 || len(v.Shards) == 0 {
		return false
	}
	copies, others := 1, 0
	for i := range v.Shards {
		if sh := &v.Shards[i]; !sh.Backup.IsZero() && !sh.Moving {
			copies = 2
		}
	}
	for i := range v.Servers {
		m := &v.Servers[i]
		if m.Node != s.me.Self && m.Alive && !m.Leaves && !m.Left {
			others++
		}
	}
	s.leaves = s.leaves || others >= copies
	s.me.Asked = s.me.Asked || s.leaves
	return s.leaves
}

// Saved says that a shard's part of a snapshot is durable in a file of that name.
func (s *Server) Saved(save *ps.Save, name string) {
	if int(save.Shard) >= len(s.shards) {
		return
	}
	if sh := s.shards[save.Shard]; sh != nil {
		sh.saved(save, name)
		return
	}
	// given up meanwhile: it may be removed
	s.me.Send(node.Scheduler, s.savedMessage(save, name), nil)
}

// SaveFailed says that a shard's part of a snapshot could not be written: the snapshot fails for
// all.
func (s *Server) SaveFailed(save *ps.Save) {
	if int(save.Shard) < len(s.shards) && s.shards[save.Shard] != nil {
		s.shards[save.Shard].saveFailed(save)
	}
}
