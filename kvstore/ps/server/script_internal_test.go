package server

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

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
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := perform(t, string(want))
			if *rewrite {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			a, b := strings.Split(got, "\n"), strings.Split(string(want), "\n")
			for i := range a {
				if i >= len(b) || a[i] != b[i] {
					t.Fatalf("%s, line %d; run the test with -rewrite and look at the change:\n"+
						"got  %s\nwant %s", file, i+1, a[i], strings.Join(b[min(i, len(b)):min(i+1,
						len(b))], ""))
				}
			}
			if len(a) < len(b) {
				t.Errorf("%s: line %d is not answered: %s", file, len(a), b[len(a)])
			}
		})
	}
}

// perform plays a script and returns it with the answers that the servers gave.
func perform(t *testing.T, script string) string {
	st := &stage{t: t}
	for line := range strings.Lines(script) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "  ") {
			continue
		}
		st.out.WriteString(line + "\n")
		if line != "" && line[0] != '#' {
			st.line = line
			st.command(strings.Fields(line))
		}
	}
	return st.out.String()
}

// stage is two servers and their surroundings. Processes have the incarnations 1 and 2 for servers,
// 10 and up for workers.
type stage struct {
	t       *testing.T
	line    string // that is played
	cfg     Config
	servers [2]*Server
	view    *wire.View
	at      ps.Time
	mail    [2][]wire.Message // to each server from the other
	lent    []*ps.Loan        // that no transport has given back
	keeping bool              // the transport is slow
	saved   []byte            // the part of a snapshot that a server has handed over last
	out     strings.Builder
}

func (st *stage) fail(why string) {
	st.t.Helper()
	st.t.Fatalf("%s: %s", st.line, why)
}

// command plays one line.
func (st *stage) command(words []string) {
	o := options(words[1:])
	switch words[0] {
	case "job":
		st.job(o)
		return
	case "place":
		st.place(o)
		return
	case "member":
		st.member(o)
		return
	}
	rank, err := strconv.Atoi(words[0])
	if err != nil || rank < 0 || rank > 1 {
		st.fail("no such command")
	}
	st.order(rank, words[1], options(words[2:]))
	st.carryOut(rank)
}

// order plays a line about one server.
func (st *stage) order(rank int, verb string, o option) {
	s := st.servers[rank]
	switch verb {
	case "view":
		m := wire.Message{Type: wire.TypeView, Payload: st.view.Append(nil)}
		m.SetViewNumber(st.view.Number)
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
		st.at += ps.Time(o.number(o.first(), 0)) * ps.Millisecond
		s.Tick(st.at)
	case "ticks": // so many times 100 ms; the last outbox counts
		for range o.number(o.first(), 0) {
			s.Out().Reset()
			st.at += 100 * ps.Millisecond
			s.Tick(st.at)
		}
	case "saved", "unwritten":
		save := &ps.Save{Shard: uint32(o.number("shard", 0)), Clock: o.number("clock", 0),
			Try: uint32(o.number("try", 0)), Data: st.saved}
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
	case "again": // another process takes the place
		st.start(rank, o.number("nonce", 0))
	case "state":
		st.describe(s)
	case "figures":
		st.figures(s)
	default:
		from, ok := nodeOf(verb)
		if !ok {
			st.fail("no such command")
		}
		m := st.message(from, o)
		st.tell(rank, from, m)
	}
}

// tell hands a message to a server.
func (st *stage) tell(rank int, from wire.Node, m *wire.Message) {
	m.From, m.Job = from, 1
	st.servers[rank].Handle(st.at, from, m)
}

// job begins a script.
func (st *stage) job(o option) {
	workers, shards := int(o.number("workers", 1)), int(o.number("shards", 1))
	st.cfg = Config{Job: 1, Workers: workers, Backups: int(o.number("backups", 0)),
		Window: int(o.number("window", 64)), Ahead: int(o.number("ahead", 0)),
		Credit: int(o.number("credit", 0)), Memory: o.number("memory", 0),
		CheckEvery: o.number("check", 1), Arithmetic: spread{}}
	if o.has("shrink") {
		st.cfg.Policy = ps.Shrink
	}
	if o.has("updater") {
		st.cfg.Updater = func(uint32) Updater { return &steps{count: map[ps.ID]uint64{}} }
	}
	st.view = &wire.View{Job: 1, Next: 30}
	for i := range 2 {
		st.view.Servers = append(st.view.Servers, wire.Member{Node: wire.Node{Role: wire.Server,
			Rank: uint16(i)}, Incarnation: uint32(1 + i), Alive: true, Nonce: uint64(1 + i)})
		st.start(i, uint64(1+i))
	}
	for i := range workers {
		st.view.Workers = append(st.view.Workers, wire.Member{Node: wire.Node{Role: wire.Worker,
			Rank: uint16(i)}, Incarnation: uint32(10 + i), Alive: true, Nonce: uint64(10 + i)})
	}
	for range shards {
		st.view.Shards = append(st.view.Shards, wire.Shard{Epoch: 1,
			Primary: wire.Replica{Incarnation: 1}})
	}
	st.at = 100 * ps.Second
	st.view.Number = 1
}

// start makes a process for a server's place.
func (st *stage) start(rank int, nonce uint64) {
	c := st.cfg
	c.Rank, c.Nonce = uint16(rank), nonce
	s, err := New(c)
	if err != nil {
		st.fail(err.Error())
	}
	st.servers[rank] = s
}

// place changes a shard in the scheduler's view.
func (st *stage) place(o option) {
	sh := &st.view.Shards[o.number("shard", 0)]
	copyAt := func(name string, old wire.Replica) wire.Replica {
		if !o.has(name) {
			return old
		}
		if o[name] == "none" {
			return wire.Replica{}
		}
		rank := o.number(name, 0)
		return wire.Replica{Server: uint16(rank), Incarnation: st.view.Servers[rank].Incarnation}
	}
	sh.Primary, sh.Backup = copyAt("primary", sh.Primary), copyAt("backup", sh.Backup)
	sh.Epoch = o.number("epoch", sh.Epoch)
	sh.InSync, sh.Swapped = o.has("insync"), o.has("swapped")
	st.view.Number++
}

// member changes a process in the scheduler's view.
func (st *stage) member(o option) {
	n, ok := nodeOf(o.first())
	if !ok {
		st.fail("no such member")
	}
	m := st.view.Member(n)
	m.Incarnation = uint32(o.number("inc", uint64(m.Incarnation)))
	m.Nonce = o.number("nonce", m.Nonce)
	m.Alive, m.Left = !o.has("dead"), o.has("left")
	st.view.Number++
}

// carryOut writes a server's outbox to the script, and empties it.
func (st *stage) carryOut(rank int) {
	out := st.servers[rank].Out()
	for i := range out.Sends {
		x := &out.Sends[i]
		if x.Msg.Type != wire.TypeBatch {
			st.sent(rank, x.To, &x.Msg)
		} else {
			items := x.Msg.Items()
			for m := (wire.Message{}); ; {
				if ok, err := items.Next(&m); !ok {
					if err != nil {
						st.fail(err.Error())
					}
					break
				}
				st.sent(rank, x.To, &m)
			}
		}
		if x.Hold != nil {
			st.lent = append(st.lent, x.Hold)
		}
	}
	for _, e := range out.Events {
		fmt.Fprintf(&st.out, "  event %d %s shard %d epoch %d %s\n", e.Kind, e.Node, e.Shard,
			e.Epoch, e.Text)
	}
	for _, s := range out.Saves {
		fmt.Fprintf(&st.out, "  save shard %d clock %d try %d: %d bytes, checksum %#x\n", s.Shard,
			s.Clock, s.Try, len(s.Data), wire.Checksum(s.Data[:len(s.Data)-4]))
		st.saved = s.Data
	}
	if out.Fatal != nil {
		fmt.Fprintf(&st.out, "  fatal: %v\n", out.Fatal)
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
	fmt.Fprintf(&st.out, "  to %s: %s\n", to, spell(m))
	if to.Role == wire.Server {
		c := *m
		c.Payload = bytes.Clone(m.Payload)
		st.mail[to.Rank] = append(st.mail[to.Rank], c)
	}
	if m.From != (wire.Node{Role: wire.Server, Rank: uint16(rank)}) || m.Job != 1 {
		st.fail("a message from another node or job")
	}
}

// describe writes the copies of a server to the script.
func (st *stage) describe(s *Server) {
	for i, sh := range s.shards {
		if sh == nil {
			fmt.Fprintf(&st.out, "  shard %d: none\n", i)
			continue
		}
		fmt.Fprintf(&st.out, "  shard %d: role %d epoch %d commit %d next %d log %d optimizer %d"+
			" questions %d\n", i, sh.role, sh.epoch, sh.commit, sh.next, sh.log.Len(),
			sh.spec.Version, len(sh.asks))
		for r := range sh.ranks {
			rk := &sh.ranks[r]
			fmt.Fprintf(&st.out, "    worker %d: incarnation %d low %d tick %d away %v\n", r,
				rk.incarnation, rk.low, rk.tick, rk.away)
		}
		for _, e := range sh.order {
			starts := slices.Clone(e.starts)
			for r := range starts {
				if starts[r] == never {
					starts[r] = 999
				}
			}
			fmt.Fprintf(&st.out, "    key %d/%d: version %d closed %d clocks %v starts %v"+
				" rounds %d pulls %d: %s before %s\n", e.id.Key, e.id.Slice, e.version, e.closed,
				e.clocks, starts, len(e.rounds), len(e.parked), numbers(e.value.data()),
				numbers(e.prevData()))
		}
	}
}

// figures writes the figures of a server to the script.
func (st *stage) figures(s *Server) {
	fmt.Fprintf(&st.out, "  %+v\n  heartbeat %+v, %d bytes of slices\n", s.Stats(), s.heartbeat(),
		s.mem.slices)
	for i := range s.shards {
		index, _, whole := s.Checksum(uint32(i))
		epoch, commit, leads := s.Leads(i)
		applied, follows := s.Follows(i)
		fmt.Fprintf(&st.out, "  shard %d: complete %v at %d, leads %v epoch %d at %d, follows %v"+
			" at %d\n", i, whole, index, leads, epoch, commit, follows, applied)
	}
}
