//go:build cgo && linux

package launch_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gomx/internal/hosts"
	"gomx/internal/output"
	"gomx/kvstore"
	"gomx/kvstore/wire"
	"gomx/launch"
	nd "gomx/ndarray"
)

func init() {
	plays["barriers"] = func(string, string) int {
		err := launch.Run(context.Background(), barrierPlay)
		if err != nil {
			fmt.Println(err)
		}
		return launch.ExitCode(err)
	}
}

// barrierPlay trains with a barrier after each step: a barrier needs the scheduler and a view that
// is saved. It prints the longest time that a step and a barrier took, and checks the result
// itself.
func barrierPlay(ctx context.Context) error {
	steps, _ := strconv.Atoi(os.Getenv("LAUNCH_TEST_STEPS"))
	pause, _ := time.ParseDuration(os.Getenv("LAUNCH_TEST_PAUSE"))
	s, err := kvstore.Open(ctx, "dist_sync", kvstore.Timeout(2*time.Minute))
	if err != nil {
		return err
	}
	out := nd.Zeros(nd.Shape{1000})
	if err := s.Broadcast(ctx, "w", nd.Zeros(nd.Shape{1000}), out); err != nil {
		return err
	}
	step, barrier := time.Duration(0), time.Duration(0)
	for i := range steps {
		time.Sleep(pause)
		began := time.Now()
		if err := s.PushPull("w", 0, []*nd.Array{nd.Full(float64(i+s.Rank()), nd.Shape{1000})},
			[]*nd.Array{out}); err != nil {
			return err
		}
		v, err := out.Float32s()
		if err != nil {
			return err
		}
		if want := float32(2*i + 1); v[0] != want || v[999] != want {
			return fmt.Errorf("step %d gives %v, want %v", i, v[0], want)
		}
		step = max(step, time.Since(began))
		began = time.Now()
		if err := s.Barrier(ctx); err != nil {
			return err
		}
		if d := time.Since(began); d > barrier {
			barrier = d
		}
		fmt.Printf("barrier %d\n", i)
	}
	fmt.Printf("longest step %v, longest barrier %v\n", step, barrier)
	return s.Close()
}

// elected is a job of two workers, two servers and several schedulers, which etcd elects.
type elected struct {
	*byHand
	members []*member
	store   string
	sched   []*exec.Cmd
	outs    []*output.Buffer // of the schedulers
	workers []*exec.Cmd
	logs    []*output.Buffer // of the workers
}

// electedJob is the number of the job in the keys of etcd.
const electedJob = 0xe1ec

// newElected starts the processes of a job. The first scheduler leads.
func newElected(t *testing.T, members []*member, schedulers, steps int) *elected {
	t.Helper()
	e := &elected{members: members, store: address(members, "")}
	e.byHand = newByHandFor(t, 3*time.Minute, 2, 2, steps, "GOMX_VIEW="+e.store,
		fmt.Sprintf("GOMX_JOB=%x", electedJob), "GOMX_REPLICAS=2", "LAUNCH_TEST_PLAY=barriers",
		"PS_VERBOSE=1", "GOMX_STATUS=off", "DMLC_PS_ROOT_URI=", "DMLC_PS_ROOT_PORT=")
	for range schedulers {
		e.addScheduler()
	}
	for range 2 {
		e.start("server")
	}
	for range 2 {
		cmd, out := e.start("worker")
		e.workers, e.logs = append(e.workers, cmd), append(e.logs, out)
	}
	e.passes(3)
	return e
}

// addScheduler starts another candidate.
func (e *elected) addScheduler() {
	cmd, out := e.start("scheduler")
	e.sched, e.outs = append(e.sched, cmd), append(e.outs, out)
	if len(e.sched) == 1 {
		eventually(e.t, "the first scheduler leads", func() bool {
			return strings.Contains(out.String(), "this scheduler leads")
		})
	}
}

// passed returns the number of barriers that all workers have passed.
func (e *elected) passed() int {
	least := int(^uint(0) >> 1)
	for _, out := range e.logs {
		least = min(least, strings.Count(out.String(), "barrier "))
	}
	return least
}

// passes waits until all workers have passed so many more barriers.
func (e *elected) passes(more int) {
	e.t.Helper()
	want := e.passed() + more
	eventually(e.t, fmt.Sprintf("%d more barriers", more),
		func() bool { return e.passed() >= want })
}

// takeover returns the time until the store has another leader than the one of term old, and the
// time until workers pass barriers again.
func (e *elected) takeover(members []*member, since time.Time, old int64) (leads,
	passes time.Duration) {
	e.t.Helper()
	eventually(e.t, "another scheduler leads", func() bool {
		_, term, _ := members[0].key(e.t, electedJob, "leader")
		return term != 0 && term != old
	})
	leads = time.Since(since)
	e.passes(2) // one of them may have been durable before
	return leads, time.Since(since)
}

// finish waits for the end of the job. Workers check the values of every step themselves.
func (e *elected) finish() {
	e.t.Helper()
	for i, cmd := range e.workers {
		if err := cmd.Wait(); err != nil {
			e.t.Errorf("worker %d: %v\n%s\n%s", i, err, e.logs[i].String(), e.outs[0].String())
		}
	}
	for _, out := range e.logs {
		e.t.Log(lastLine(out.String(), "longest"))
	}
}

// lastLine returns the last line with a text.
func lastLine(out, text string) (found string) {
	for line := range strings.Lines(out) {
		if strings.Contains(line, text) {
			found = strings.TrimSpace(line)
		}
	}
	return found
}

// takeoverLimit is the longest time for which a job may be without its scheduler, when etcd's
// leader lives, and etcdTakeoverLimit when it dies too.
const (
	takeoverLimit     = 5 * time.Second
	etcdTakeoverLimit = 10 * time.Second
)

// TestEtcdTakeover kills the scheduler that leads, for good: another one takes over, and training
// goes on without a loss.
func TestEtcdTakeover(t *testing.T) {
	hosts.Named(t)
	for _, members := range []int{1, 3} {
		t.Run(fmt.Sprint(members), func(t *testing.T) {
			list := startEtcd(t, members)
			e := newElected(t, list, 2, 100)
			_, term, _ := list[0].key(t, electedJob, "leader")
			killed := time.Now()
			_ = e.sched[0].Process.Kill()
			leads, passes := e.takeover(list, killed, term)
			t.Logf("another scheduler led after %v, barriers were passed after %v", leads, passes)
			if passes > takeoverLimit {
				t.Errorf("the job was without a scheduler for %v, want at most %v", passes,
					takeoverLimit)
			}
			e.finish()
		})
	}
}

// TestEtcdTakeoverWithEtcdsLeader kills the scheduler that leads and the leader of etcd at one
// moment.
func TestEtcdTakeoverWithEtcdsLeader(t *testing.T) {
	hosts.Named(t)
	list := startEtcd(t, 3)
	e := newElected(t, list, 2, 150)
	_, term, _ := list[0].key(t, electedJob, "leader")
	var alive []*member
	for _, m := range list {
		if m.leads(t) {
			m.signal(syscall.SIGKILL)
		} else {
			alive = append(alive, m)
		}
	}
	killed := time.Now()
	_ = e.sched[0].Process.Kill()
	if len(alive) != 2 {
		t.Fatalf("%d members follow, want 2", len(alive))
	}
	eventually(t, "etcd has a leader again", func() bool {
		_, err := alive[0].ask("/v3/kv/range", map[string]any{"key": encoded("x")})
		return err == nil
	})
	t.Logf("etcd had a leader after %v", time.Since(killed))
	leads, passes := e.takeover(alive, killed, term)
	t.Logf("another scheduler led after %v, barriers were passed after %v", leads, passes)
	if passes > etcdTakeoverLimit {
		t.Errorf("the job was without a scheduler for %v, want at most %v", passes,
			etcdTakeoverLimit)
	}
	e.finish()
}

// TestEtcdOldSchedulerIsFenced stops the scheduler that leads until another one has taken over, and
// wakes it while nothing else happens: it changes nothing in etcd, and is a candidate again, which
// takes over when the other one dies.
func TestEtcdOldSchedulerIsFenced(t *testing.T) {
	hosts.Named(t)
	list := startEtcd(t, 1)
	e := newElected(t, list, 2, 200)
	_, term, _ := list[0].key(t, electedJob, "leader")
	stopped := time.Now()
	_ = e.sched[0].Process.Signal(syscall.SIGSTOP)
	leads, passes := e.takeover(list, stopped, term)
	t.Logf("another scheduler led after %v, barriers were passed after %v", leads, passes)
	if passes > takeoverLimit {
		t.Errorf("the job was without a scheduler for %v, want at most %v", passes, takeoverLimit)
	}
	for _, w := range e.workers { // so that the job changes nothing itself
		_ = w.Process.Signal(syscall.SIGSTOP)
	}
	time.Sleep(5 * time.Second) // the scheduler gives them up
	_, leaderBefore, _ := list[0].key(t, electedJob, "leader")
	_, _, viewBefore := list[0].key(t, electedJob, "view")
	_ = e.sched[0].Process.Signal(syscall.SIGCONT)
	eventually(t, "the old scheduler is a candidate again", func() bool {
		return strings.Contains(e.outs[0].String(), "a candidate again")
	})
	time.Sleep(2 * time.Second)
	_, leaderAfter, _ := list[0].key(t, electedJob, "leader")
	if _, _, viewAfter := list[0].key(t, electedJob, "view"); viewAfter != viewBefore ||
		leaderAfter != leaderBefore || leaderAfter == term {
		t.Errorf("the old scheduler has changed something: view of revision %d, then %d, leader "+
			"of %d, then %d", viewBefore, viewAfter, leaderBefore, leaderAfter)
	}
	for _, w := range e.workers {
		_ = w.Process.Signal(syscall.SIGCONT)
	}
	e.passes(3)
	_, term, _ = list[0].key(t, electedJob, "leader")
	killed := time.Now()
	_ = e.sched[1].Process.Kill()
	leads, passes = e.takeover(list, killed, term)
	t.Logf("the first scheduler led again after %v, barriers were passed after %v", leads, passes)
	e.finish()
}

// TestEtcdIsSilent stops etcd for 6 s: steps go on, barriers wait, and the scheduler leads on.
func TestEtcdIsSilent(t *testing.T) {
	hosts.Named(t)
	list := startEtcd(t, 1)
	e := newElected(t, list, 2, 100)
	_, term, _ := list[0].key(t, electedJob, "leader")
	list[0].kill()
	time.Sleep(6 * time.Second)
	list[0].start(t)
	e.passes(3)
	if _, now, _ := list[0].key(t, electedJob, "leader"); now != term {
		t.Errorf("the leader is of term %d, want %d: a silent etcd deposes nobody", now, term)
	}
	e.finish()
	for _, out := range e.logs {
		m := regexp.MustCompile(`longest step (\S+),`).FindStringSubmatch(out.String())
		if m == nil {
			t.Fatal("a worker does not say how long its steps took")
		}
		if d, err := time.ParseDuration(m[1]); err != nil || d > 3*time.Second {
			t.Errorf("a step took %v while etcd was silent", d)
		}
	}
}

// TestEtcdLaunch lets the launcher start a job with three schedulers in etcd, and kills the one
// that leads.
func TestEtcdLaunch(t *testing.T) {
	hosts.Named(t)
	const workers, steps = 2, 200
	list := startEtcd(t, 1)
	var out output.Buffer
	l := trainJob(workers, 2, 2, steps, &out)
	l.View, l.Schedulers, l.TCP, l.Restarts = address(list, ""), 3, true, 2
	l.Env = append(l.Env, "PS_VERBOSE=1", "LAUNCH_TEST_PAUSE=30ms")
	pids := make(chan int, 100)
	l.Started = func(n wire.Node, pid int) {
		if n.Role == wire.Scheduler {
			pids <- pid
		}
	}
	go func() {
		for leader(out.String(), 1) == "" || !strings.Contains(out.String(), "step 0\n") {
			if t.Context().Err() != nil {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		for range 3 { // all of them: the launcher starts them again
			_ = syscall.Kill(<-pids, syscall.SIGKILL)
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if err := l.Run(ctx); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	checkResults(t, out.String(), workers, steps)
	if leader(out.String(), 2) == "" {
		t.Errorf("want two schedulers that have led:\n%s", out.String())
	}
}
