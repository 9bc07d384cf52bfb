//go:build cgo && linux

package launch_test

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gomx/internal/hosts"
	"gomx/internal/output"
	"gomx/launch"
)

var hostRuns = flag.Int("chaos.hosts", 1, "number of runs of TestEtcdChaosHosts")

// chaosHosts is the number of hosts. Each has a member of etcd, a scheduler, a server and a worker.
const chaosHosts = 3

// hostFault is one thing that happens to one host of a job.
type hostFault struct {
	how    string        // killed, lost, cut, or member killed
	leader bool          // the victim is the host of the scheduler that leads
	host   int           // otherwise the victim
	pause  time.Duration // until the host, its link or its member of etcd is back
	// text that a worker prints before the fault; recovery: after the fault before
	moment string
	after  time.Duration
}

// hostFaults are the ways: all processes of a host die and are started again after a while; they
// die, and the host stays away, so that its worker is started on another host; the link is down for
// a while; the host's member of etcd dies.
var hostFaults = []string{"killed", "killed", "lost", "cut", "cut", "cut", "member killed"}

// String describes the fault.
func (f hostFault) String() string {
	victim := fmt.Sprintf("host %d", f.host)
	if f.leader {
		victim = "host of the leader"
	}
	text := victim + " " + f.how
	if f.how != "lost" {
		text += fmt.Sprintf(" for %v", f.pause.Round(time.Millisecond))
	}
	return fmt.Sprintf("%s at %s + %v", text, f.moment, f.after.Round(time.Millisecond))
}

// drawHostFaults makes one fault, or two, the second of which strikes while the job recovers.
func drawHostFaults(rng *rand.Rand, scale float64) []hostFault {
	draw := func() hostFault {
		f := hostFault{how: hostFaults[rng.IntN(len(hostFaults))], leader: rng.IntN(2) == 0,
			host: rng.IntN(chaosHosts), moment: moments[rng.IntN(len(moments))]}
		// From 1 s to 30 s, most of them short.
		f.pause = time.Duration(math.Exp(rng.Float64()*math.Log(30)) / scale * float64(time.Second))
		f.after = time.Duration(rng.IntN(400)) * time.Millisecond
		return f
	}
	list := []hostFault{draw()}
	if rng.IntN(4) == 0 {
		f := draw()
		if f.how == "lost" && list[0].how == "lost" {
			f.how = "killed" // a majority of etcd's members must stay
		}
		f.moment, f.after = recovery, time.Duration(rng.Float64()/scale*float64(10*time.Second))
		list = append(list, f)
	}
	return list
}

// TestEtcdChaosHosts disturbs the hosts of a job, each a network namespace with a member of etcd, a
// candidate for the scheduler, a server and a worker. If a copy of every shard survives, the result
// must equal the result of one process, bit for bit; otherwise an error must name the lost shards.
// If the host of the scheduler that leads is struck, another one leads within 5 s, or within 10 s
// if the leader of etcd was there too.
func TestEtcdChaosHosts(t *testing.T) {
	hosts.Named(t)
	j := openJournal(t, *chaosJournal, "chaos-hosts")
	seed := *chaosSeed
	if seed == 0 && *chaosJournal == "" {
		seed = uint64(time.Now().UnixNano()%1e9)*slowRuns + 1
	}
	for run := range uint64(*hostRuns) {
		s := seed + run
		if seed == 0 {
			s = j.next()
		}
		t.Run(fmt.Sprint(s), func(t *testing.T) {
			c := newHostChaos(t, s)
			began := time.Now()
			outcome := c.run()
			e := entry{Seed: s, Scale: c.scale, Faults: c.story, Hit: c.hit, Outcome: outcome,
				Seconds: time.Since(began).Seconds()}
			j.add(t, e, c.out.String())
			t.Logf("seed %d, intervals divided by %v: %s: %s after %.1f s, longest step %v", s,
				c.scale, strings.Join(c.story, "; "), firstLine(outcome), e.Seconds,
				longestStep(c.out.String()))
			if strings.HasPrefix(outcome, failed) {
				t.Errorf("seed %d: %v: %s\n%s", s, c.story, outcome, tail(c.out.String(), 200))
			}
		})
	}
	j.report(t)
}

// hostChaos is one run of TestEtcdChaosHosts. The test's goroutine changes it; the supervisors of
// processes have a lock of their own.
type hostChaos struct {
	t       *testing.T
	seed    uint64
	scale   float64
	faults  []hostFault
	net     *hosts.Net
	members []*member
	watch   *supervisor
	out     output.Buffer
	story   []string // faults as they happened
	hit     bool     // a fault came while workers were training
	kills   map[int]bool
	cuts    map[int]bool // hosts that were cut off; true: they still are
	pending []deed
	struck  time.Time // last strike
}

// deed is something to be done at a time.
type deed struct {
	at time.Time
	do func()
}

func newHostChaos(t *testing.T, seed uint64) *hostChaos {
	rng := rand.New(rand.NewPCG(seed, 5))
	c := &hostChaos{t: t, seed: seed, scale: chaosScale, kills: map[int]bool{}, cuts: map[int]bool{}}
	if seed%slowRuns == 0 {
		c.scale = 1
	}
	c.faults = drawHostFaults(rng, c.scale)
	return c
}

// environ is the environment that all processes of the job have.
func (c *hostChaos) environ(dir string) []string {
	options := ""
	if c.scale != 1 {
		options = "?ttl=1"
	}
	env := []string{"GOMX_VIEW=" + address(c.members, options),
		fmt.Sprintf("GOMX_JOB=%x", c.seed), "GOMX_REPLICAS=2", "GOMX_STATUS=off",
		fmt.Sprint("DMLC_NUM_WORKER=", chaosHosts), fmt.Sprint("DMLC_NUM_SERVER=", chaosHosts),
		"GOMX_KEYS=" + filepath.Join(dir, "keys"), "GOMX_SNAPSHOTS=" + filepath.Join(dir,
			"snapshots"),
		"GOMX_SHARED_MEMORY=off", "LAUNCH_TEST_PLAY=chaos", "LAUNCH_TEST_TIMEOUT=5m",
		"GOTRACEBACK=single", "GOMAXPROCS=1", "OMP_NUM_THREADS=1", "PS_VERBOSE=1"}
	if c.scale != 1 {
		env = append(env, fmt.Sprintf("PS_HEARTBEAT_INTERVAL=%.3f", 0.5/c.scale),
			fmt.Sprintf("PS_HEARTBEAT_TIMEOUT=%.3f", 3/c.scale),
			fmt.Sprintf("GOMX_PATIENCE=%.3f", 100/c.scale))
	}
	return env
}

// run carries out the run and returns its outcome.
func (c *hostChaos) run() string {
	t, dir := c.t, c.t.TempDir()
	if err := launch.MakeKeys(filepath.Join(dir, "keys"), chaosHosts, chaosHosts); err != nil {
		t.Fatal(err)
	}
	c.net = hosts.New(t, chaosHosts)
	for i, h := range c.net.Hosts {
		c.members = append(c.members, &member{name: fmt.Sprintf("m%d", i), command: h.Command,
			client: "http://" + h.IP + ":2379", peer: "http://" + h.IP + ":2380"})
	}
	var times []string
	if c.scale != 1 {
		times = etcdTimes
	}
	startMembers(t, c.members, times...)
	ctx, cancel := context.WithCancel(t.Context())
	c.watch = newSupervisor(ctx, c.net.Hosts, append(os.Environ(), c.environ(dir)...), &c.out)
	defer c.watch.wg.Wait()
	defer cancel()
	for i := range chaosHosts {
		c.watch.keep("scheduler", i)
		c.watch.keep("server", i)
		c.watch.keep("worker", i)
	}
	outcome := c.strikeAndWait()
	if strings.HasPrefix(outcome, failed) {
		c.watch.explain()
	}
	return outcome
}

// limit is the longest time of the run: twice the time of its pauses, and time for the rest on a
// busy machine.
func (c *hostChaos) limit() time.Duration {
	limit := 90 * time.Second
	for _, f := range c.faults {
		limit += 2*f.pause + f.after
	}
	return limit
}

// strikeAndWait carries out the faults at their moments, and waits for the end of the job.
func (c *hostChaos) strikeAndWait() string {
	deadline := time.Now().Add(c.limit())
	waiting := slices.Clone(c.faults)
	for {
		c.doPending()
		if len(waiting) > 0 && (waiting[0].moment == recovery && !c.struck.IsZero() ||
			strings.Contains(c.out.String(), "] at "+waiting[0].moment+"\n")) {
			f := waiting[0]
			waiting = waiting[1:]
			c.later(f.after, func() { c.strike(f) })
		}
		over, code := c.watch.over()
		switch {
		case code != 0 && c.mayLose() && code == launch.ExitLost &&
			lostShards.MatchString(c.out.String()):
			return lost
		case code != 0:
			return fmt.Sprintf("%sa process ended with code %d", failed, code)
		case over:
			return c.checkEnd()
		case time.Now().After(deadline):
			return failed + "the job hangs"
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// later does something after a time.
func (c *hostChaos) later(d time.Duration, do func()) {
	c.pending = append(c.pending, deed{time.Now().Add(d), do})
}

func (c *hostChaos) doPending() {
	for i := 0; i < len(c.pending); i++ {
		if d := c.pending[i]; time.Now().After(d.at) {
			c.pending = slices.Delete(c.pending, i, i+1)
			d.do()
			i = -1 // it may have added others
		}
	}
}

// tell notes something that has happened.
func (c *hostChaos) tell(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	c.story = append(c.story, text)
	fmt.Fprintf(&c.out, "[test] %s %s\n", time.Now().Format("15:04:05.000"), text)
}

// leader returns the host and the term of the scheduler that leads, -1 if no member of etcd knows
// one, and the host of etcd's own leader.
func (c *hostChaos) leader(but int) (host int, term string, etcd int) {
	host, etcd = -1, -1
	for i, m := range c.members {
		if i == but {
			continue
		}
		a, err := m.ask("/v3/maintenance/status", map[string]any{})
		if err != nil {
			continue
		}
		if a.Leader != "" && a.Leader == a.Header.MemberID {
			etcd = i
		}
		if host >= 0 {
			continue
		}
		a, err = m.ask("/v3/kv/range", map[string]any{
			"key": encoded(fmt.Sprintf("/test/%x/leader", c.seed))})
		if err != nil || len(a.Kvs) == 0 {
			continue
		}
		for k, h := range c.net.Hosts {
			if strings.Contains(string(a.Kvs[0].Value), h.IP+":") {
				host, term = k, a.Kvs[0].CreateRevision
			}
		}
	}
	return host, term, etcd
}

// strike carries out one fault.
func (c *hostChaos) strike(f hostFault) {
	leads, term, etcd := c.leader(-1)
	if f.leader && leads >= 0 {
		f.host = leads
	}
	h := c.net.Hosts[f.host]
	c.hit = c.hit || !strings.Contains(c.out.String(), "] result ")
	c.struck = time.Now()
	c.tell("%v (host %d; host %d led, host %d led etcd)", f, f.host, leads, etcd)
	switch f.how {
	case "killed", "lost":
		c.kills[f.host] = true
		c.watch.down(f.host, f.how == "lost")
		h.Kill()
		if f.how == "killed" {
			c.later(f.pause, func() {
				c.tell("host %d is back", f.host)
				c.members[f.host].start(c.t)
				c.watch.up(f.host)
			})
		}
	case "cut":
		h.Down()
		c.cuts[f.host] = true
		c.later(f.pause, func() { c.connect(f.host) })
	case "member killed":
		c.members[f.host].kill()
		c.later(f.pause, func() {
			if !c.watch.isDown(f.host) {
				c.members[f.host].start(c.t)
			}
		})
	}
	if leads == f.host && f.how != "member killed" && len(c.faults) == 1 {
		c.awaitLeader(f, term, etcd == f.host)
	}
}

// connect ends the isolation of a host.
func (c *hostChaos) connect(host int) {
	if c.cuts[host] {
		c.tell("host %d is connected", host)
		c.cuts[host] = false
		c.net.Hosts[host].Up()
	}
}

// awaitLeader notes when another scheduler leads, and limits the time until then. A host that is
// back before may lead on, or lead again: then the workers end under the same scheduler, and one that
// leads after them has not taken over.
func (c *hostChaos) awaitLeader(f hostFault, term string, both bool) {
	limit := takeoverLimit
	if both {
		limit = etcdTakeoverLimit
	}
	var look func()
	look = func() {
		took := time.Since(c.struck)
		if strings.Contains(c.out.String(), "] result ") {
			return
		}
		if leads, now, _ := c.leader(f.host); leads >= 0 && now != term {
			c.tell("host %d leads after %.2f s", leads, took.Seconds())
			if took > limit {
				c.tell("%sanother scheduler led after %v, want at most %v", failed, took, limit)
			}
			return
		}
		if took > limit && (f.how == "lost" || f.pause > limit) {
			c.tell("%sno other scheduler led after %v", failed, took)
			return
		}
		c.later(50*time.Millisecond, look)
	}
	look()
}

// mayLose reports whether all copies of a shard can be lost: two hosts died, or one died while
// copies were made again because another one, or the scheduler, was cut off.
func (c *hostChaos) mayLose() bool { return len(c.kills) > 0 && len(c.kills)+len(c.cuts) > 1 }

// checkEnd checks the results of a job that has ended well.
func (c *hostChaos) checkEnd() string {
	for host := range c.cuts { // its candidates hear of the end from etcd
		c.connect(host)
	}
	wrong := c.watch.check()
	out := c.out.String()
	for key, sum := range alone(c.t, chaosHosts, chaosSteps) {
		for r := range chaosHosts {
			if want := fmt.Sprintf("[worker %d] result %s %08x\n", r, key,
				sum); !strings.Contains(out, want) {
				wrong = append(wrong, fmt.Sprintf("output lacks %q", want))
			}
		}
	}
	for _, line := range c.story {
		if text, found := strings.CutPrefix(line, failed); found {
			wrong = append(wrong, text)
		}
	}
	if len(wrong) > 0 {
		return failed + strings.Join(wrong, "; ")
	}
	return identical
}
