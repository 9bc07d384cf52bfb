package sched

import (
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"

	"gomx/internal/script"
	"gomx/kvstore/ps"
	"gomx/kvstore/wire"
)

var rewrite = flag.Bool("rewrite", false, "write the answers in the scripts of testdata anew")

// TestScripts plays the scripts in testdata: a scheduler without a network, to which a script plays
// all other processes, the disk and the clock.
//
//	job servers=2 workers=2 shards=2 replicas=2   begins; again: from the last durable view
//	w1 hello as=11/1                              a message: worker 1, whose nonce is 11
//	joined                                        all processes ask for their places
//	written                                       the view that is written is durable
//	tick 100                                      100 ms later
//	pass 1000 but=s0,w1                           1 s later; all but some send heartbeats
//	gone s0                                       there is no connection to server 0
//	scale workers=3 servers=2                     the job is to have so many processes
//	drain w1                                      worker 1 is asked to leave
//	state                                         the view as it is decided
func TestScripts(t *testing.T) {
	script.Files(t, *rewrite, func(*testing.T) func(*strings.Builder, []string) {
		return (&stage{}).command
	})
}

// stage is a scheduler and its surroundings.
type stage struct {
	s     *Scheduler
	cfg   Config
	at    ps.Time
	out   *strings.Builder
	quiet bool // heartbeats and views are not written
}

// command plays one line.
func (st *stage) command(out *strings.Builder, words []string) {
	st.out = out
	o := script.Parse(words[1:])
	switch words[0] {
	case "job":
		st.job(o)
	case "again":
		st.cfg.View = st.s.View().Clone()
		st.start()
	case "joined":
		st.s.each(func(m *wire.Member) {
			st.tell(m.Node, script.Parse([]string{"hello", fmt.Sprintf("as=%d/%d",
				100+m.Node.Number(), m.Node.Rank)}))
		})
		st.write()
	case "written":
		last := st.s.told.Number
		if st.s.writing != nil {
			last = st.s.writing.Number
		}
		st.s.Persisted(st.at, o.Number(o.First(), last))
	case "tick":
		st.at += ps.Time(o.Number(o.First(), 0)) * ps.Millisecond
		st.s.Tick(st.at)
	case "pass":
		st.pass(o)
	case "gone":
		n, _ := script.NodeOf(o.First())
		st.s.Unreachable(n)
	case "swap":
		fmt.Fprintf(st.out, "  %v\n", st.s.Swap(st.at, int(o.Number(o.First(), 0))))
	case "scale":
		fmt.Fprintf(st.out, "  %v\n", st.s.Scale(st.at, o.Int("workers", 0), o.Int("servers", 0)))
	case "drain":
		n, _ := script.NodeOf(o.First())
		fmt.Fprintf(st.out, "  %v\n", st.s.Drain(st.at, n))
	case "recorded":
		st.s.Recorded(st.at, o.Number("clock", 0), nil)
	case "unrecorded":
		st.s.Recorded(st.at, o.Number("clock", 0), errors.New("no space"))
	case "state":
		st.describe(st.s.view)
		fmt.Fprintf(st.out, "  done %v, durable %d, writing %v\n", st.s.Done(), st.s.View().Number,
			st.s.writing != nil)
	default:
		from, ok := script.NodeOf(words[0])
		if !ok {
			panic("no such command")
		}
		st.tell(from, o)
	}
	st.carryOut()
}

func (st *stage) job(o script.Options) {
	st.cfg = Config{Job: 1, Servers: int(o.Number("servers", 1)),
		Workers: int(o.Number("workers", 1)), Shards: int(o.Number("shards", 1)),
		Replicas: int(o.Number("replicas", 1))}
	if o.Has("shrink") {
		st.cfg.Policy = ps.Shrink
	}
	st.at = 100 * ps.Second
	st.start()
}

func (st *stage) start() {
	s, err := New(st.cfg)
	if err != nil {
		panic(err)
	}
	st.s = s
}

// tell hands a message of a process to the scheduler.
func (st *stage) tell(from wire.Node, o script.Options) {
	m := (&script.World{View: st.s.view}).Message(from, o)
	m.From, m.Job = from, 1
	st.s.Handle(st.at, from, m)
}

// write makes views durable until there is none to write.
func (st *stage) write() {
	for st.s.writing != nil {
		st.s.Persisted(st.at, st.s.writing.Number)
	}
}

// pass lets time pass in steps of 100 ms. Heartbeats name the durable view, which is written at
// once.
func (st *stage) pass(o script.Options) {
	st.quiet = true
	for range o.Number(o.First(), 0) / 100 {
		st.at += 100 * ps.Millisecond
		st.s.each(func(m *wire.Member) {
			name := fmt.Sprintf("%c%d", m.Node.Role.String()[0], m.Node.Rank)
			if m.Incarnation != 0 && !m.Left && !strings.Contains(o["but"], name) {
				st.tell(m.Node, script.Parse([]string{"heartbeat", fmt.Sprintf("seq=%d",
					st.s.told.Number)}))
			}
		})
		st.s.Tick(st.at)
		st.write()
		st.carryOut()
	}
	st.quiet = false
}

// carryOut writes the outbox to the script, and empties it.
func (st *stage) carryOut() {
	out := st.s.Out()
	if out.View != nil {
		fmt.Fprintf(st.out, "  write view %d\n", out.View.Number)
		if !st.quiet {
			st.describe(out.View)
		}
	}
	for i := range out.Sends {
		x := &out.Sends[i]
		if st.quiet && (x.Msg.Type == wire.TypeHeartbeat || x.Msg.Type == wire.TypeView) {
			continue
		}
		fmt.Fprintf(st.out, "  to %s: %s\n", x.To, script.Spell(&x.Msg))
	}
	for _, e := range out.Events {
		fmt.Fprintf(st.out, "  event %d %s shard %d epoch %d %s\n", e.Kind, e.Node, e.Shard,
			e.Epoch, e.Text)
	}
	if out.Manifest != nil {
		fmt.Fprintf(st.out, "  write manifest %+v\n", *out.Manifest)
	}
	for _, p := range out.Discard {
		fmt.Fprintf(st.out, "  discard %+v\n", p)
	}
	if out.Fatal != nil {
		fmt.Fprintf(st.out, "  fatal: %v\n", out.Fatal)
	}
	out.Reset()
}

// describe writes a view to the script.
func (st *stage) describe(v *wire.View) {
	fmt.Fprintf(st.out, "    number %d next %d barrier %d snapshot %d\n", v.Number, v.Next,
		v.Barrier, v.Snapshot)
	for _, list := range [][]wire.Member{v.Servers, v.Workers} {
		for _, m := range list {
			fmt.Fprintf(st.out, "    %s: incarnation %d alive %v left %v nonce %d addr %q %+v%s\n",
				m.Node, m.Incarnation, m.Alive, m.Left, m.Nonce, m.Addr, m.Calls, elastic(&m))
		}
	}
	if g := v.Group; g.Number > 0 || v.WantWorkers > 0 || v.WantServers > 0 {
		fmt.Fprintf(st.out, "    group %d of workers %v from round %d note %q, wanted %d workers"+
			" %d servers\n", g.Number, g.Ranks, g.Round, g.Note, v.WantWorkers, v.WantServers)
	}
	for i, sh := range v.Shards {
		fmt.Fprintf(st.out, "    shard %d: epoch %d on %d.%d and %d.%d in sync %v lost %v"+
			" swapped %v%s\n", i, sh.Epoch, sh.Primary.Server, sh.Primary.Incarnation,
			sh.Backup.Server, sh.Backup.Incarnation, sh.InSync, sh.Lost, sh.Swapped, moving(&sh))
	}
}

// elastic writes how a process comes or goes while the job runs.
func elastic(m *wire.Member) (text string) {
	if m.Waits {
		text += " waits"
	}
	if m.Leaves {
		text += " leaves"
	}
	if m.Enter > 0 {
		text += fmt.Sprintf(" entered %d", m.Enter)
	}
	return text
}

// moving writes how a shard changes servers.
func moving(sh *wire.Shard) (text string) {
	if !sh.Third.IsZero() {
		text = fmt.Sprintf(" third %d.%d attempt %d", sh.Third.Server, sh.Third.Incarnation,
			sh.Attempt)
	}
	if sh.Moving {
		text += " moving"
	}
	return text
}
