package server

import (
	"bytes"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gomx/internal/script"
	"gomx/kvstore/ps"
	"gomx/kvstore/ps/node"
	"gomx/kvstore/wire"
)

var rewrite = flag.Bool("rewrite", false, "write the answers in the scripts of testdata anew")

// TestScripts plays the scripts in testdata: two servers without a network, to which a script plays
// the scheduler, the workers and the clock. A line of a script is a command; the indented lines
// behind it are all messages, events and states that follow from it. Lines with # are comments.
//
//	job workers=3 shards=1         begins: settings of the servers, processes of the job
//	place shard=0 backup=1 insync  changes the scheduler's view, which is told by
//	0 view                         so that server 0 adopts it
//	0 w1 push seq=1 v=1,2,3,4      a message of worker 1; words without = are flags
//	0 tick 300                     300 ms later; 0 ticks 3 is 3 times 100 ms
//	1 hear                         server 1 takes in the messages that server 0 has sent to it
//	1 lose                         they are lost
//	0 state                        state of the copies of server 0
func TestScripts(t *testing.T) {
	script.Files(t, *rewrite, func(t *testing.T) func(*strings.Builder, []string) {
		return (&stage{t: t}).command
	})
}

// stage is two servers and their surroundings. A script begins with a job.
type stage struct {
	*script.World
	t       *testing.T
	cfg     Config
	servers [2]*Server
	at      ps.Time
	mail    [2][]wire.Message // to each server from the other
	lent    []*ps.Loan        // that no transport has given back
	keeping bool              // the transport is slow
	saved   []byte            // the part of a snapshot that a server has handed over last
	epoch   uint64            // of this part
	out     *strings.Builder  // the answers
}

// command plays one line.
func (st *stage) command(out *strings.Builder, words []string) {
	st.out = out
	switch {
	case words[0] == "job":
		st.job(script.Parse(words[1:]))
		return
	case st.Change(words):
		return
	}
	rank, err := strconv.Atoi(words[0])
	if err != nil || rank < 0 || rank > 1 {
		panic("no such command")
	}
	st.order(rank, words[1], script.Parse(words[2:]))
	st.carryOut(rank)
}

// order plays a line about one server.
func (st *stage) order(rank int, verb string, o script.Options) {
	s := st.servers[rank]
	switch verb {
	case "view":
		m := wire.Message{Type: wire.TypeView, Payload: st.View.Append(nil)}
		m.SetViewNumber(st.View.Number)
		st.tell(rank, node.Scheduler, &m)
	case "hear":
		list := st.mail[rank]
		st.mail[rank] = nil
		for i := range list {
			st.tell(rank, list[i].From, &list[i])
		}
	case "lose":
		st.mail[rank] = nil
	case "tick":
		st.at += ps.Time(o.Number(o.First(), 0)) * ps.Millisecond
		s.Tick(st.at)
	case "ticks": // so many times 100 ms; the last outbox counts
		for range o.Number(o.First(), 0) {
			s.Out().Reset()
			st.at += 100 * ps.Millisecond
			s.Tick(st.at)
		}
	case "saved", "unwritten":
		save := &ps.Save{Shard: uint32(o.Number("shard", 0)), Clock: o.Number("clock", 0),
			Try: uint32(o.Number("try", 0)), Epoch: st.epoch}
		if verb == "saved" {
			s.Saved(save, "file")
		} else {
			s.SaveFailed(save)
		}
	case "keep":
		st.keeping = true
	case "release":
		st.keeping = false
		st.release()
	case "leave":
		s.Leave()
	case "want-leave":
		fmt.Fprintf(st.out, "  %v\n", s.WantLeave())
	case "again": // another process takes the place
		st.start(rank, o.Number("nonce", 0))
	case "state":
		st.describe(s)
	case "figures":
		st.figures(s)
	default:
		from, ok := script.NodeOf(verb)
		if !ok {
			panic("no such command")
		}
		m := st.Message(from, o)
		st.tell(rank, from, m)
	}
}

// tell hands a message to a server.
func (st *stage) tell(rank int, from wire.Node, m *wire.Message) {
	m.From, m.Job = from, 1
	st.servers[rank].Handle(st.at, from, m)
}

// job begins a script.
func (st *stage) job(o script.Options) {
	workers, shards := int(o.Number("workers", 1)), int(o.Number("shards", 1))
	st.cfg = Config{Job: 1, Workers: workers, Backups: int(o.Number("backups", 0)),
		Window: int(o.Number("window", 64)), Ahead: int(o.Number("ahead", 0)),
		Credit: int(o.Number("credit", 0)), Memory: o.Number("memory", 0),
		CheckEvery: o.Number("check", 1), Arithmetic: spread{}}
	if o.Has("shrink") {
		st.cfg.Policy = ps.Shrink
	}
	if o.Has("updater") {
		st.cfg.Updater = func(uint32) Updater { return &steps{count: map[ps.ID]uint64{}} }
	}
	if o.Has("restore") {
		st.cfg.Restore = sourceOf(st.saved)
	}
	st.World = script.NewWorld(2, workers, shards)
	for i := range 2 {
		st.start(i, uint64(1+i))
	}
	st.at = 100 * ps.Second
}

// start makes a process for a server's place.
func (st *stage) start(rank int, nonce uint64) {
	c := st.cfg
	c.Rank, c.Nonce = uint16(rank), nonce
	s, err := New(c)
	if err != nil {
		panic(err)
	}
	st.servers[rank] = s
}

// carryOut writes a server's outbox to the script, and empties it.
func (st *stage) carryOut(rank int) {
	out := st.servers[rank].Out()
	for i := range out.Sends {
		x := &out.Sends[i]
		script.Each(&x.Msg, func(m *wire.Message) { st.sent(rank, x.To, m) })
		if x.Hold != nil {
			st.lent = append(st.lent, x.Hold)
		}
	}
	for _, e := range out.Events {
		fmt.Fprintf(st.out, "  event %d %s shard %d epoch %d %s\n", e.Kind, e.Node, e.Shard,
			e.Epoch, e.Text)
	}
	for _, s := range out.Saves {
		var b bytes.Buffer
		write(st.t, &b, &s)
		st.saved, st.epoch = b.Bytes(), s.Epoch
		fmt.Fprintf(st.out, "  save shard %d clock %d try %d: %d bytes, checksum %#x\n", s.Shard,
			s.Clock, s.Try, len(st.saved), wire.Checksum(st.saved[:len(st.saved)-4]))
	}
	if out.Fatal != nil {
		fmt.Fprintf(st.out, "  fatal: %v\n", out.Fatal)
	}
	out.Reset()
	if !st.keeping {
		st.release()
	}
}

// release gives all memory back that messages refer to.
func (st *stage) release() {
	for _, l := range st.lent {
		l.Return()
	}
	st.lent = nil
}

// sent writes a message to the script. Messages to servers are kept, until hear or lose.
func (st *stage) sent(rank int, to wire.Node, m *wire.Message) {
	fmt.Fprintf(st.out, "  to %s: %s\n", to, script.Spell(m))
	if to.Role == wire.Server {
		c := *m
		c.Payload = bytes.Clone(m.Payload)
		st.mail[to.Rank] = append(st.mail[to.Rank], c)
	}
	if m.From != (wire.Node{Role: wire.Server, Rank: uint16(rank)}) || m.Job != 1 {
		panic("a message from another node or job")
	}
}

// describe writes the copies of a server to the script.
func (st *stage) describe(s *Server) {
	for i, sh := range s.shards {
		if sh == nil {
			fmt.Fprintf(st.out, "  shard %d: none\n", i)
			continue
		}
		fmt.Fprintf(st.out, "  shard %d: role %d epoch %d commit %d next %d log %d optimizer %d"+
			" questions %d\n", i, sh.role, sh.epoch, sh.commit, sh.next, sh.log.Len(),
			sh.spec.Version, len(sh.asks))
		for r := range sh.ranks {
			rk := &sh.ranks[r]
			fmt.Fprintf(st.out, "    worker %d: incarnation %d low %d away %v\n", r,
				rk.incarnation, rk.low, rk.away)
		}
		for _, e := range sh.order {
			starts := slices.Clone(e.starts)
			for r := range starts {
				if starts[r] == never {
					starts[r] = 999
				}
			}
			fmt.Fprintf(st.out, "    key %d/%d: version %d closed %d clocks %v starts %v"+
				" rounds %d pulls %d: %s before %s\n", e.id.Key, e.id.Slice, e.version, e.closed,
				e.clocks, starts, len(e.rounds), len(e.parked), script.Values(e.dense()),
				script.Values(e.prevData()))
		}
	}
}

// figures writes the figures of a server to the script.
func (st *stage) figures(s *Server) {
	fmt.Fprintf(st.out, "  %+v\n  heartbeat %+v, %d bytes of slices\n", s.Stats(), s.heartbeat(),
		s.mem.slices)
	for i := range s.shards {
		index, _, whole := s.Checksum(uint32(i))
		epoch, commit, leads := s.Leads(i)
		applied, follows := s.Follows(i)
		fmt.Fprintf(st.out, "  shard %d: complete %v at %d, leads %v epoch %d at %d, follows %v"+
			" at %d\n", i, whole, index, leads, epoch, commit, follows, applied)
	}
}
