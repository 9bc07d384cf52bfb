package ps_test

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var mutate = flag.String("mutants", "", "run the simulation on mutants of the protocol whose "+
	"names contain this; all for every one")

// mutant is a mistake that somebody could make in the protocol: a text of a file replaced by
// another one.
type mutant struct {
	name      string
	file      string
	old, with string
	run       string // the tests that must notice; the simulation when empty
}

var mutants = []mutant{
	{name: "drop the dedup of pushes", file: "server/intake.go", old: "case m.Seq <= rc.received:",
		with: "case false:"},
	{name: "take pushes out of order", file: "server/intake.go",
		old:  "case m.Seq > rc.received+1 || m.Seq > rk.low+uint64(len(rk.bits))*64:",
		with: "case false:"},
	{name: "commit before the backup has it", file: "server/journal.go",
		old: "if p != nil && p.phase >= ended {", with: "if false {"},
	{name: "a backup skips entries", file: "server/follower.go", old: "if at.Index != f.commit+1 {",
		with: "if at.Index <= f.commit {"},
	{name: "sum in the order of arrival", file: "server/intake.go",
		old: "if in.cfg.Backups == 0 && rank <= rd.done {", with: "if in.cfg.Backups == 0 {"},
	{name: "close a round that lacks a worker", file: "server/rounds.go",
		old:  "case !c.in && rs.expects(e, rd.done, rd.clock):\n\t\t\treturn false",
		with: "case !c.in && rs.expects(e, rd.done, rd.clock):\n\t\t\treturn rd.n > 1"},
	{name: "let a slice get two rounds ahead", file: "worker/routes.go",
		old: "\treturn before > 0\n", with: "\treturn false\n"},
	{name: "forget the pushes that wait for a round", file: "worker/routes.go",
		old:  "if len(sl.queue) > 0 && sl.queue[0].clock == clock+1 {",
		with: "if false {", run: "TwoRounds"},
	{name: "forget to return credit", file: "worker/routes.go",
		old:  "\t\t\tr.bytes -= len(p.payload)\n",
		with: "", run: "Credit"},
	{name: "return credit with the commit only", file: "worker/routes.go",
		old:  "\tif seq <= r.received || seq >= r.next {\n\t\treturn\n\t}",
		with: "\tif true {\n\t\treturn\n\t}"},
	{name: "in sync before the backup has everything", file: "server/backup.go",
		old: "p.phase < ended,\n\t\tp.acked < p.must:", with: "p.phase < ended:",
		run: "Promotable"},
	{name: "in sync while the primary commits alone", file: "server/journal.go",
		old:  "if p != nil && p.phase >= ended {",
		with: "if p != nil && p.phase >= inSync {", run: "Promoted"},
	{name: "promote a backup that is not in sync", file: "sched/place.go",
		old:  "promotable := !sh.Backup.IsZero() && sh.InSync",
		with: "promotable := !sh.Backup.IsZero()"},
	{name: "keep the epoch when the primary changes", file: "sched/place.go", old: "\tsh.Epoch++\n",
		with: ""},
	{name: "tell of a view that is not durable", file: "sched/sched.go",
		old: "\ts.out.View = s.writing\n",
		with: "\tif s.view.Number%3 != 0 {\n\t\ts.out.View = s.writing\n\t} else " +
			"{\n\t\ts.Persisted(s.now, s.view.Number)\n\t}\n"},
	{name: "a new incarnation keeps the old sequences", file: "server/replica.go",
		old:  "r.incarnation, r.low = incarnation, 0\n\tclear(r.bits)",
		with: "r.incarnation = incarnation"},
	{name: "a promoted backup forgets who pushed", file: "server/shard.go",
		old: "\tsh.next, sh.changed = sh.commit, sh.commit\n\tsh.log.reset(sh.commit)",
		with: "\tfor i := range sh.ranks " +
			"{\n\t\tsh.ranks[i].join(sh.ranks[i].incarnation)\n\t}\n\tsh.next, sh.changed = " +
			"sh.commit, sh.commit\n\tsh.log.reset(sh.commit)"},
	{name: "answer pulls of any clock", file: "server/pulls.go",
		old:  "case clock < p.need || e.direct && e.clocks[p.from.Rank] < p.own:",
		with: "case clock == 1<<63 || e.direct && e.clocks[p.from.Rank] < p.own:",
		run:  "PullsWait"},
	{name: "take values of any clock", file: "worker/values.go",
		old:  "case version < p.need, exact && version != p.need,",
		with: "case exact && version != p.need,", run: "PullsWait"},
	{name: "forget own pushes in pulls", file: "server/pulls.go",
		old:  "clock < p.need || e.direct && e.clocks[p.from.Rank] < p.own:",
		with: "clock < p.need:"},
	{name: "forget own changes in reads of rows", file: "worker/table.go",
		old: "if own, ok := t.log[row]; ok {", with: "if own, ok := t.log[row]; ok && false {"},
	{name: "cache rows for ever", file: "worker/rowcache.go", old: "ok && hit.clock >= need",
		with: "ok"},
	{name: "take an answer that crosses a step", file: "worker/sparse.go",
		old: "if t != nil && p.own != ks.clock {", with: "if false {", run: "ReadsOfRows"},
	{name: "repeat a step that is there", file: "worker/table.go",
		old: "if t.ks.clock < t.key.slices[i].old {", with: "if false {"},
	{name: "a transfer without the state of the optimizer", file: "server/state.go",
		old: "return rp.updater.SetState(e.id, state)", with: "_ = state\n\treturn nil"},
	{name: "a transfer without the dedup table", file: "server/follower.go",
		old: "err = f.setHead(wire.SourceOf(payload))", with: "_ = payload"},
	{name: "a transfer without clocks", file: "server/state.go",
		old:  "e.clocks[i], e.starts[i] = c, le.Uint64(clocks[16*i+8:])",
		with: "_ = c"},
	{name: "change a value that is being sent", file: "server/entry.go",
		old:  "if e.value.refs > 1 {",
		with: "if false {"},
	{name: "reuse a buffer that is being sent", file: "server/buffer.go",
		old: "if b.refs > 0 || b.home == nil {", with: "if b.home == nil {"},
	{name: "repeat a step with newer values", file: "server/pulls.go",
		old:  "case e.version == p.need+1 && (e.prev != nil || e.sparse.Undoes()):",
		with: "case false:"},
	{name: "a snapshot later than its clock", file: "server/snapshot.go",
		old: "snap.all || e.version == snap.clock:", with: "snap.all || e.version >= snap.clock:"},
	{name: "lose late payloads", file: "server/rounds.go",
		old: "\t\tc.owner.Release()\n", with: ""},
	{name: "never send again", file: "worker/routes.go",
		old:  "if r.received < last && rt.now-r.sent >= rt.me.Timing.Resend {",
		with: "if last == 0 {"},
	{name: "ask only when nothing is sent what became of pushes", file: "worker/routes.go",
		old: "max(r.probed, first.at)", with: "max(r.probed, r.sent)", run: "IsAskedFor"},
	{name: "never repeat the log", file: "server/backup.go",
		old: "if p.acked < j.next && j.now-p.sent >= j.me.Timing.Resend {", with: "if false {"},
	{name: "catch up a few entries at a time", file: "server/backup.go",
		old: "\t\tif p.again != 0 {\n\t\t\tj.sendAgain(p)\n\t\t}\n", with: "", run: "MissedMany"},
	{name: "send the whole log again at once", file: "server/backup.go",
		old: "min(j.next, p.acked+resendBurst)", with: "j.next", run: "MissedMany"},
	{name: "follow no view", file: "worker/routes.go",
		old: "\tr.epoch, r.primary = place.Epoch, place.Primary\n",
		with: "\tr.epoch = place.Epoch\n\tif r.primary.IsZero() {\n\t\tr.primary = " +
			"place.Primary\n\t}\n"},
	{name: "apply late pushes", file: "server/intake.go", old: "\tif m.Clock <= e.closed {",
		with: "\tif m.Clock < e.closed {"},
	{name: "wait for the dead", file: "server/host.go",
		old:  "return !m.Left && !m.Waits && (h.cfg.Policy == ps.Wait || m.Alive)",
		with: "return !m.Left && !m.Waits",
		run:  "RoundsShrink"},
	{name: "never ask what became of pushes", file: "worker/routes.go", old: "\t\t\trt.probe(r)\n",
		with: "", run: "PassesCommitted"},
	{name: "wait for a round that nobody makes", file: "server/intake.go",
		old: "\t\tin.skipRounds(e, e.furthest())\n", with: "", run: "RoundsAreSkipped"},
	{name: "take what is for a predecessor", file: "node/member.go",
		old: "&&\n\t\t(msg.Target == 0 || msg.Target == m.Inc)", with: "", run: "HearsNothing"},
	{name: "tell a successor of its predecessor's pushes", file: "server/shard.go",
		old: "\t\tsh.receipt(int(le.id.Key)).forget()\n", with: "", run: "HearsNothing"},
	{name: "forget the tail of the log in a swap", file: "server/follower.go",
		old: "if le.index == f.commit+1 && le.index <= last {", with: "if false {"},
	{name: "keep the whole tail of the log in a swap", file: "server/follower.go",
		old: "&& le.index <= last {", with: "{"},
	{name: "promote without the tail of the log", file: "server/shard.go", old: "\tsh.cut(never)\n",
		with: "\tsh.cut(0)\n", run: "OldPrimaryGoesOn"},
	{name: "acknowledge before the tail is cut", file: "server/follower.go",
		old: "\tif f.tail && !f.turned(m) {\n\t\treturn\n\t}\n", with: ""},
	{name: "make a former primary anew", file: "server/adopt.go",
		old:  "if sh != nil && sh.role == primary && place.Swapped && place.Epoch == sh.epoch+1 {",
		with: "if false {"},
	{name: "commit alone after a swap", file: "server/backup.go", old: "\tif place.InSync {\n",
		with: "\tif place.InSync && !place.Swapped {\n", run: "OldPrimaryGoesOn"},
	{name: "swap without a mark", file: "server/adopt.go", old: "\t\t\tsh.turn()\n", with: ""},
	{name: "swap again before the first swap is confirmed", file: "sched/swap.go",
		old: "sh.InSync && !sh.Swapped &&", with: "sh.InSync &&"},
	{name: "confirm a swap at once", file: "server/backup.go",
		old: "(!j.place.Swapped || p.acked < p.turn)", with: "!j.place.Swapped", run: "Confirmed"},
	{name: "swap with a copy that is being made", file: "sched/swap.go",
		old: "return !sh.Lost && sh.InSync &&", with: "return !sh.Lost && !sh.Backup.IsZero() &&"},
	{name: "swap in the same epoch", file: "sched/swap.go", old: "\tsh.Epoch++\n\tsh.Primary",
		with: "\tsh.Primary"},
	{name: "never swap", file: "sched/swap.go", old: "if best >= 0 {", with: "if false {",
		run: "ComeBack"},
	{name: "swap for nothing", file: "sched/swap.go",
		old:  "if pl.load[from] >= pl.load[at.server]+2 {",
		with: "if pl.load[from] >= pl.load[at.server]+1 {", run: "Balance"},
	{name: "balance pairs only", file: "sched/swap.go",
		old:  "int(sh.Primary.Server) != at.server ||",
		with: "int(sh.Primary.Server) != from ||", run: "Balance"},
	{name: "go any way", file: "sched/swap.go", old: "length < least {",
		with: "first >= 0 && best < 0 && length < least {", run: "Balance"},
	{name: "report a snapshot's part in the epoch of old", file: "server/snapshot.go",
		old: "old.done.Epoch = sn.epoch", with: "_ = sn.epoch", run: "SurvivesTheLoss"},
	{name: "wait for a snapshot that nobody asks for", file: "sched/collect.go",
		old: "co.awake.Time-co.snap.heard > co.cfg.Timing.Dead", with: "false",
		run: "NobodyAsksFor"},
	{name: "swap during a snapshot", file: "sched/swap.go",
		old: "|| pl.snap != nil && pl.snap.again != 0 {", with: "{", run: "NoSwap"},
	{name: "learn who leads from one who does not", file: "worker/worker.go",
		old: "return why != wire.ReasonNotPrimary &&", with: "return", run: "NotTakenForIt"},
	{name: "a snapshot of what comes later", file: "server/snapshot.go",
		old:  " || e.since > snap.begun {",
		with: " {", run: "LeavesOut"},
	{name: "copies are never compared", file: "server/journal.go",
		old: "\t\tj.compare(le.index, j.sum(j.concerned(le)), true)\n", with: "", run: "MadeAnew"},
	{name: "end calls while their memory is lent", file: "worker/fail.go",
		old:  "\tif c.held == 0 {\n\t\tfa.end(c, c.err)\n\t\treturn\n\t}\n\tfa.recall(c)",
		with: "\tfa.end(c, c.err)\n\tfa.recall(c)"},
	{name: "end calls when the first memory is back", file: "worker/call.go",
		old: "c.err != nil && c.held == 0 {", with: "c.err != nil {", run: "MemoryIsBack"},
	{name: "send the caller's values after the call", file: "worker/fail.go",
		old: "\t\tp.payload, p.kept = bytes.Clone(p.payload), true\n", with: "\t\tp.kept = true\n"},
	{name: "repeat with the caller's values", file: "worker/fail.go",
		old:  "\tt.payload, t.kept = bytes.Clone(p.payload), true\n",
		with: "\tt.payload, t.kept = p.payload, true\n", run: "MemoryIsBack"},
	{name: "write to the caller's memory after the call", file: "worker/fail.go",
		old: "\tp.out = nil\n\tswitch {", with: "\tswitch {"},
	{name: "never recall memory", file: "worker/fail.go", old: "\t\t\tfa.me.Out.TakeBack(p.lent)\n",
		with: "\t\t\t_ = p\n", run: "Memory"},
	{name: "calls that are committed run out of time", file: "worker/fail.go",
		old: "\tcase c.left > c.held:", with: "\tcase c.left > 0:", run: "Memory"},
	{name: "a call in the place of the join", file: "worker/call.go",
		old:  "\t*c.single.place = nil //",
		with: "\t_ = 0 //", run: "JoinsPlace"},
	{name: "count silence while it stands still", file: "node/awake.go",
		old:  "a.Time += max(0, min(gap, t.Heartbeat))\n\treturn gap > t.Suspect",
		with: "a.Time += max(0, gap)\n\treturn false", run: "Confirm"},
	{name: "give up a copy without a confirmation", file: "sched/place.go",
		old:  "pl.alive(r) && pl.seen[n] >= pl.proof && pl.silence",
		with: "pl.alive(r) && pl.silence",
		run:  "Confirm"},
	{name: "a heartbeat of old is life", file: "sched/members.go",
		old: "me.Left || m.ViewNumber() < ms.buried[me.Node] ||", with: "me.Left ||",
		run: "Confirm"},
	{name: "a late hello takes a place", file: "sched/claim.go",
		old:  "if !me.Alive || ms.silence(me.Node) >= ms.cfg.Timing.Heartbeat*3/2 {",
		with: "if true {"},
	{name: "never refuse the second of a rank", file: "sched/claim.go",
		old: "if ms.awake.Time-since > ms.cfg.Timing.Dead {", with: "if ms.awake.Time < since {",
		run: "PlaceThatIsTaken"},
	{name: "refuse a successor at once", file: "sched/claim.go",
		old: "if ms.awake.Time-since > ms.cfg.Timing.Dead {", with: "if ms.awake.Time > since {"},
	{name: "refuse a successor after a stall", file: "sched/members.go",
		old: "\tclear(ms.asking) // nobody has been heard of since\n", with: "",
		run: "StallRefusesNobody"},
	{name: "wait for servers that have hung up", file: "sched/closed.go",
		old:  "return closed && ms.awake.Time-since >",
		with: "return closed && since-ms.awake.Time >",
		run:  "ClosedConnections"},
	{name: "hang up once, dead for ever", file: "sched/closed.go", old: "\tdelete(e.closed, n)\n",
		with: "", run: "ClosedConnections"},
	{name: "believe connections of before a stall", file: "sched/members.go",
		old:  "\tms.ends.forget()\n",
		with: "", run: "ClosedConnections"},
	{name: "a server that cannot come back", file: "sched/members.go",
		old:  "\t\t\tms.changed = ms.changed || m.Incarnation != 0 && !m.Left\n",
		with: "", run: "BeforeThereAre"},
	{name: "lose a shard that nobody knows to have moved", file: "sched/place.go",
		old: "\tcase pl.takeBack(id, sh):\n", with: "", run: "SlowDisk"},
	{name: "never give up a shard", file: "sched/place.go", old: " > pl.cfg.Timing.Patience)\n",
		with: " > 1<<60)\n", run: "LastCopy"},
	{name: "wait for the scheduler for ever", file: "node/member.go",
		old: "m.Alone = m.Alone || m.awake.Time-m.heard > m.Timing.Patience", with: "_ = m.Alone",
		run: "GoneForGood"},
	{name: "answer questions when they are repeated", file: "server/shard.go",
		old: "\t\tsh.answerAsks()\n\t}\n\tsh.ackPushes", with: "\t}\n\tsh.ackPushes",
		run: "AnsweredAtOnce"},
	{name: "a successor repeats no barrier", file: "sched/barrier.go",
		old: "call.Number <= repeated(&me.Calls, call.Before) {", with: "call.Number > 1<<60 {",
		run: "BarrierAfter"},
	{name: "wait for barriers that were left behind", file: "sched/barrier.go",
		old: "&& !bs.in(m) && !bs.beyond(m)", with: "&& !bs.in(m)", run: "BarrierAfter"},
	{name: "hear a scheduler that was replaced", file: "node/member.go",
		old:  "\tif term < m.term {",
		with: "\tif false {", run: "Replaced"},
	{name: "forget the term of the scheduler", file: "node/member.go", old: "\tm.term = term\n",
		with: "", run: "Replaced"},
	{name: "a scheduler without its term", file: "sched/desk.go",
		old: ", Epoch: d.cfg.Term}", with: "}", run: "EveryMessage"},
	{name: "refuse the word of a transport", file: "node/member.go",
		old: "if term == 0 && msg.Type == wire.TypeReject {", with: "if false {", run: "Replaced"},
	{name: "count the staleness from a predecessor's clock", file: "worker/keys.go",
		old: "if sl.pushed || sl.old == 0 {", with: "if true {", run: "Successor"},
}

// TestMutantsApply keeps the list of mutants in step with the code.
func TestMutantsApply(t *testing.T) {
	for _, m := range mutants {
		text, err := os.ReadFile(m.file)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), m.old); n != 1 {
			t.Errorf("%s: %s has its text %d times, want once", m.name, m.file, n)
		}
	}
}

// TestMutantsAreCaught runs the simulation on mutants: each must fail. It needs the go command, and
// minutes.
func TestMutantsAreCaught(t *testing.T) {
	if *mutate == "" {
		t.Skip("-mutants all")
	}
	for _, m := range mutants {
		if *mutate != "all" && !strings.Contains(m.name, *mutate) {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			text, err := os.ReadFile(m.file)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			changed := filepath.Join(dir, filepath.Base(m.file))
			if err := os.WriteFile(changed, []byte(strings.Replace(string(text), m.old, m.with, 1)),
				0o644); err != nil {
				t.Fatal(err)
			}
			here, err := filepath.Abs(m.file)
			if err != nil {
				t.Fatal(err)
			}
			overlay, err := json.Marshal(map[string]map[string]string{"Replace": {here: changed}})
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(dir, "overlay.json")
			if err := os.WriteFile(file, overlay, 0o644); err != nil {
				t.Fatal(err)
			}
			args := []string{"test", "-vet=off", "-overlay", file}
			if m.run == "" {
				args = append(args, ".", "-run", "^TestSchedules$", "-schedules", "6000")
			} else {
				args = append(args, "./...", "-run", m.run)
			}
			out, err := exec.Command("go", args...).CombinedOutput()
			switch {
			case strings.Contains(string(out), "[build failed]"):
				t.Fatalf("does not compile:\n%s", out)
			case err == nil:
				t.Errorf("survives: %s", strings.TrimSpace(string(out)))
			default:
				t.Log(firstFault(string(out)))
			}
		})
	}
}

// firstFault returns the line of a failed simulation that says what was noticed.
func firstFault(out string) string {
	for _, line := range strings.Split(out, "\n") {
		if strings.Contains(line, "s: ") && !strings.Contains(line, "faults: ") ||
			strings.HasPrefix(line, "panic:") {
			return strings.TrimSpace(line)
		}
	}
	return "failed"
}
