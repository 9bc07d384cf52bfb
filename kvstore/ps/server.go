package ps

import (
	"fmt"

	"gomx/kvstore/wire"
)

// ServerConfig says how a server works. All servers and workers of a job have the same Job, Workers, Policy, Backups, Window, Ahead
// and Credit.
type ServerConfig struct {
	Job     uint64
	Rank    uint16
	Nonce   uint64 // drawn anew by every process
	Addr    string // where the server listens
	Workers int
	Policy  Policy
	Backups int    // backup workers: rounds close when all but so many have contributed
	Window  int    // pushes of one worker to one shard that may be uncommitted: credit and dedup window; 1024
	Ahead   int    // rounds of one key that may be open; 2
	Credit  int    // bytes that a worker may have on their way to one shard; 4 MiB
	Memory  uint64 // bytes for values, rounds and what is held early; 0: no limit
	// CheckEvery is the number of log entries between comparisons of the copies; 64.
	CheckEvery uint64
	Timing     Timing
	Arithmetic Arithmetic // Plain when nil
	// Updater returns the updater of a copy of a shard; sums replace values when it is nil. Every call returns a new one: copies
	// must not share state.
	Updater func(shard uint32) Updater
	// Alloc and Free provide memory for values; the Go heap when nil.
	Alloc func(n int) []byte
	Free  func(b []byte)
	// Restore returns a shard's part of the snapshot that the job continues from, nil when it starts fresh.
	Restore func(shard uint32) []byte
}

const (
	defaultWindow = 1024
	defaultAhead  = 2
)

// fillLimits sets what is not given of the limits on which servers and workers must agree.
func fillLimits(window, ahead, credit *int) {
	if *window <= 0 {
		*window = defaultWindow
	}
	*window = (*window + 63) &^ 63
	if *ahead <= 0 {
		*ahead = defaultAhead
	}
	if *credit <= 0 {
		*credit = defaultCredit
	}
}

func (c *ServerConfig) fill() {
	fillLimits(&c.Window, &c.Ahead, &c.Credit)
	if c.CheckEvery == 0 {
		c.CheckEvery = 64
	}
	if c.Arithmetic == nil {
		c.Arithmetic = Plain{}
	}
	c.Timing.fill()
}

// Server holds shards as primary or backup. It is a state machine: Handle and Tick change it, and leave in its Outbox what is to
// be done. One goroutine drives it.
type Server struct {
	member
	cfg    ServerConfig
	mem    memory
	shards []*shard
	ahead  []wire.Message // of workers that know a newer view
	had    []bool         // which shards there has ever been a copy of
	now    Time
	stats  ServerStats
	spare  []*logEntry
	rounds []*round
	temp   []byte
	// fused is the fused push that is being handled: the value, which follows, acknowledges it.
	fused struct {
		seq       uint64 // 0: none is
		rank      uint16
		committed bool
		outcome   wire.Outcome
	}
}

// ServerStats counts what a server has done.
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

// NewServer returns a server that asks the scheduler for its place.
func NewServer(c ServerConfig) (*Server, error) {
	c.fill()
	switch {
	case c.Workers < 1 || c.Workers > 1<<16-1:
		return nil, fmt.Errorf("ps: server with %d workers, want 1 to 65535: %w", c.Workers, ErrUsage)
	case c.Nonce == 0:
		return nil, fmt.Errorf("ps: server with nonce 0: %w", ErrUsage)
	case c.Backups < 0 || c.Backups >= c.Workers:
		return nil, fmt.Errorf("ps: %d backup workers of %d: %w", c.Backups, c.Workers, ErrUsage)
	}
	s := &Server{cfg: c, mem: memory{alloc: c.Alloc, freed: c.Free}}
	s.member = member{self: wire.Node{Role: wire.Server, Rank: c.Rank}, job: c.Job, nonce: c.Nonce, ranks: c.Workers, addr: c.Addr, timing: c.Timing}
	return s, nil
}

// Out returns what the server wants done, after collecting what it owes others. The caller carries it out and resets it.
func (s *Server) Out() *Outbox {
	for _, sh := range s.shards {
		if sh != nil {
			s.flush(sh)
		}
	}
	s.out.pack()
	return &s.out
}

// Release takes back what a Send held.
func (s *Server) Release(b *Buffer) { b.release() }

// View returns the server's view, nil before it has one. It must not be changed.
func (s *Server) View() *wire.View { return s.view }

// Incarnation returns the server's own, 0 before it has a place.
func (s *Server) Incarnation() uint32 { return s.inc }

// Fenced reports whether another process has taken the server's place: it can only end.
func (s *Server) Fenced() bool { return s.fenced }

// Handle takes in a message that a transport received from a node. The message and its payload are not kept.
func (s *Server) Handle(now Time, from wire.Node, m *wire.Message) {
	s.start(now)
	if !s.ours(from, m) {
		s.stats.Refused++
		return
	}
	if err := s.unpack(m, s); err != nil {
		s.refuse(m, err.Error())
	}
}

// start begins a step.
func (s *Server) start(now Time) {
	s.now = now
	s.wake(now)
	if len(s.out.Sends) == 0 {
		s.temp = s.temp[:0]
	}
}

// keep copies bytes to where they stay until the outbox has been emptied.
func (s *Server) keep(b []byte) []byte {
	s.temp = append(s.temp, b...)
	return s.temp[len(s.temp)-len(b):]
}

// refuse drops a message that makes no sense.
func (s *Server) refuse(m *wire.Message, why string) {
	s.stats.Refused++
	s.out.event(EventRefused, m.From, m.Shard, m.Epoch, m.Type.String()+": "+why)
}

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
	if s.view == nil || int(m.Shard) >= len(s.shards) || s.shards[m.Shard] == nil {
		s.unserved(m)
		return
	}
	sh := s.shards[m.Shard]
	switch {
	case !s.view.Current(m.From, m.Incarnation):
		s.stranger(m)
	case m.Epoch > sh.epoch:
		s.early(m) // its sender knows a newer view
	case m.From.Role == wire.Worker && sh.role != primary:
		s.reject(m, wire.ReasonNotPrimary)
	case m.Epoch < sh.epoch:
		s.reject(m, wire.ReasonEpoch)
	case m.From.Role == wire.Server:
		s.fromServer(sh, m)
	default:
		s.fromWorker(sh, m)
	}
}

// unserved handles a message about a shard that is not here.
func (s *Server) unserved(m *wire.Message) {
	if s.view == nil || int(m.Shard) < len(s.view.Shards) && m.Epoch > s.view.Shards[m.Shard].Epoch {
		s.early(m)
		return
	}
	s.reject(m, wire.ReasonNotPrimary)
}

// stranger handles a message from an incarnation that our view does not name: an old one is told so, a newer one makes us ask.
func (s *Server) stranger(m *wire.Message) {
	known := s.view.Member(m.From)
	if known == nil || m.Incarnation > known.Incarnation {
		s.early(m)
		return
	}
	s.reject(m, wire.ReasonIncarnation)
}

// reject tells a worker that its message was refused. Servers learn it from the view.
func (s *Server) reject(m *wire.Message, why wire.Reason) {
	s.stats.Rejected++
	if m.From.Role != wire.Worker {
		return
	}
	r := s.message(wire.TypeReject)
	r.Shard, r.Key, r.Slice, r.Slices, r.Target = m.Shard, m.Key, m.Slice, m.Slices, m.Incarnation
	r.SetRefusal(wire.Refusal{Reason: why, Of: m.Type, Seq: m.Seq})
	if s.view != nil && int(m.Shard) < len(s.view.Shards) {
		r.Epoch = s.view.Shards[m.Shard].Epoch
	}
	s.send(m.From, r, nil)
}

func (s *Server) fromScheduler(m *wire.Message) {
	s.hear(m)
	switch m.Type {
	case wire.TypeHeartbeat:
	case wire.TypeView:
		if s.adopt(m) && !s.fenced && s.inc != 0 {
			s.adoptShards()
			s.catchUp()
		}
	case wire.TypeReject:
		if s.evicted(m) {
			s.out.Fatal = ErrFenced
		}
	case wire.TypeSnapshot:
		s.startSnapshot(m.SnapshotOrder())
	default:
		s.refuse(m, "not for a server")
	}
}

func (s *Server) fromServer(sh *shard, m *wire.Message) {
	from := wire.Replica{Server: m.From.Rank, Incarnation: m.Incarnation}
	switch {
	case m.Type == wire.TypeReplicate && sh.role == backup && from == sh.place.Primary:
		s.replicate(sh, m)
	case m.Type == wire.TypeReplicated && sh.role == primary && from == sh.place.Backup:
		s.replicated(sh, m)
	default:
		s.refuse(m, "not its place")
	}
}

func (s *Server) fromWorker(sh *shard, m *wire.Message) {
	if int(m.From.Rank) >= len(sh.ranks) {
		s.refuse(m, "no such rank")
		return
	}
	switch m.Type {
	case wire.TypePush, wire.TypePushPull, wire.TypeTick, wire.TypeProbe:
		s.push(sh, m)
	case wire.TypePull:
		s.pull(sh, m)
	case wire.TypeInit:
		s.init(sh, m)
	case wire.TypeOptimizer:
		s.setOptimizer(sh, m)
	case wire.TypeAskCursor:
		s.cursor(sh, m)
	default:
		s.refuse(m, "not for a server")
	}
}

// Tick lets time pass: heartbeats, repetitions, and pulls that nobody asks for any more. It should be called every few
// milliseconds.
func (s *Server) Tick(now Time) {
	s.start(now)
	if s.fenced {
		return
	}
	s.tickMember(now, s.heartbeat())
	if s.alone {
		s.out.Fatal = s.silent()
	}
	for _, sh := range s.shards {
		if sh == nil {
			continue
		}
		if sh.role == primary {
			s.tickPrimary(sh)
		}
	}
}

// heartbeat sums up the server's state for people to see.
func (s *Server) heartbeat() wire.Heartbeat {
	h := wire.Heartbeat{Queue: s.stats.Held, Waiting: -1}
	for _, sh := range s.shards {
		if sh == nil || sh.role != primary {
			continue
		}
		for _, e := range sh.order {
			h.Clock = max(h.Clock, e.clock(s, sh))
			if rd := e.open(e.closed + 1); rd != nil && h.Waiting < 0 {
				h.Waiting = int32(s.missing(e, rd))
			}
		}
		for r := range sh.ranks {
			h.Clock = max(h.Clock, sh.ranks[r].tick)
		}
		h.Parked += uint32(sh.parked)
	}
	return h
}

// Stats returns what the server has done so far.
func (s *Server) Stats() ServerStats {
	st := s.stats
	st.Memory = s.mem.used
	for _, sh := range s.shards {
		if sh != nil {
			st.Parked += sh.parked
			st.LogLength += sh.log.len()
		}
	}
	return st
}

// Gone reports whether the scheduler knows that the server has left.
func (s *Server) Gone() bool { return s.gone() }

// Leave says goodbye to the scheduler, which moves the server's shards at once. Ticks should go on until Gone.
func (s *Server) Leave() { s.bye() }
