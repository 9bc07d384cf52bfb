//go:build cgo && linux

package launch_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"gomx/internal/hosts"
	"gomx/launch"
)

// supervisor keeps the processes of a job on several hosts alive, as the engines do that start jobs
// on hosts: a process that died is started again, on its host when the host is back, or on another
// one if the host is lost.
type supervisor struct {
	ctx   context.Context
	hosts []*hosts.Host
	env   []string
	out   io.Writer
	wg    sync.WaitGroup

	mu    sync.Mutex
	state []hostState
	procs map[string]*supervised
	code  int // of the first process that ended so that nothing helps; 0: none
}

// hostState is the state of a host.
type hostState struct {
	down, lost bool
	kills      int
}

// supervised is a process that is kept alive.
type supervised struct {
	role   string
	rank   int
	host   int
	pid    int
	starts int
	deaths int  // of its host
	done   bool // ended with code 0
}

func newSupervisor(ctx context.Context, list []*hosts.Host, env []string,
	out io.Writer) *supervisor {
	return &supervisor{ctx: ctx, hosts: list, env: env, out: out,
		state: make([]hostState, len(list)), procs: map[string]*supervised{}}
}

// keep starts a process on the host of its rank and keeps it alive until it has done its work.
func (s *supervisor) keep(role string, rank int) {
	p := &supervised{role: role, rank: rank, host: rank % len(s.hosts)}
	s.mu.Lock()
	s.procs[fmt.Sprint(role, " ", rank)] = p
	s.mu.Unlock()
	s.wg.Go(func() {
		for s.ctx.Err() == nil && s.once(p) {
			time.Sleep(100 * time.Millisecond)
		}
	})
}

// place returns the host on which a process may run now, -1 for none, and how often the host was
// killed. Processes other than workers do not move.
func (s *supervisor) place(p *supervised) (host, kills int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state[p.host].lost && p.role == "worker" {
		for i := range s.state {
			if !s.state[i].down {
				p.host = i
			}
		}
	}
	if s.state[p.host].down {
		return -1, 0
	}
	return p.host, s.state[p.host].kills
}

// once runs a process one time and reports whether it should be started again.
func (s *supervisor) once(p *supervised) (again bool) {
	i, kills := s.place(p)
	if i < 0 {
		return true
	}
	h := s.hosts[i]
	cmd := h.Command(os.Args[0])
	cmd.Env = append(append([]string(nil), s.env...), "DMLC_ROLE="+p.role,
		fmt.Sprint("DMLC_RANK=", p.rank), "DMLC_NODE_HOST="+h.IP)
	w := &prefixed{to: s.out, prefix: fmt.Sprintf("[%s %d] ", p.role, p.rank)}
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Start(); err != nil {
		fmt.Fprintf(s.out, "[test] %s %d cannot be started: %v\n", p.role, p.rank, err)
		return true
	}
	s.mu.Lock()
	p.pid = cmd.Process.Pid
	p.starts++
	if s.state[i].kills > kills { // meanwhile
		_ = cmd.Process.Kill()
	}
	s.mu.Unlock()
	stop := context.AfterFunc(s.ctx, func() { _ = cmd.Process.Kill() })
	_ = cmd.Wait()
	stop()
	code := cmd.ProcessState.ExitCode()
	s.mu.Lock()
	defer s.mu.Unlock()
	p.pid = 0
	if s.state[i].kills > kills {
		p.deaths++
	}
	switch {
	case s.ctx.Err() != nil:
		return false
	case code == launch.ExitOK:
		p.done = true
		return false
	case code == launch.ExitUsage, code == launch.ExitLost, code == launch.ExitReplaced,
		code == launch.ExitFailed && p.role == "worker":
		if s.code == 0 {
			s.code = code
		}
		return false
	}
	return true
}

// down says that a host is being killed, perhaps for good.
func (s *supervisor) down(host int, lost bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state[host].down, s.state[host].lost = true, lost
	s.state[host].kills++
}

// up says that a host is back.
func (s *supervisor) up(host int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state[host].down = s.state[host].lost
}

// isDown reports whether the processes of a host are dead.
func (s *supervisor) isDown(host int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state[host].down
}

// over reports whether all workers have done their work, and the code of a process that ended so
// that nothing helps.
func (s *supervisor) over() (over bool, code int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	over = true
	for _, p := range s.procs {
		over = over && (p.role != "worker" || p.done)
	}
	return over, s.code
}

// check waits until the schedulers and servers of a job that is over have ended, and returns all
// that is wrong with the processes: only the death of its host may end one early.
func (s *supervisor) check() (wrong []string) {
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline) &&
		len(s.running()) > 0; {
		time.Sleep(10 * time.Millisecond)
	}
	for _, name := range s.running() {
		wrong = append(wrong, name+" has not ended")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, p := range s.procs {
		if p.starts > 1+p.deaths {
			wrong = append(wrong, fmt.Sprintf(
				"%s was started %d times, its host was killed %d times",
				name, p.starts, p.deaths))
		}
	}
	return wrong
}

// running lists the processes that run.
func (s *supervisor) running() (list []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, p := range s.procs {
		if p.pid != 0 {
			list = append(list, name)
		}
	}
	return list
}

// explain makes every process that is left write where its goroutines are, which ends it.
func (s *supervisor) explain() {
	s.mu.Lock()
	for _, p := range s.procs {
		if p.pid != 0 {
			_ = syscall.Kill(p.pid, syscall.SIGQUIT)
		}
	}
	s.mu.Unlock()
	time.Sleep(time.Second)
}

// prefixed writes whole lines with the name of a process in front.
type prefixed struct {
	to     io.Writer
	prefix string
	rest   []byte
}

// Write implements io.Writer.
func (p *prefixed) Write(b []byte) (int, error) {
	p.rest = append(p.rest, b...)
	for {
		i := bytes.IndexByte(p.rest, '\n')
		if i < 0 {
			return len(b), nil
		}
		fmt.Fprintf(p.to, "%s%s\n", p.prefix, strings.TrimSuffix(string(p.rest[:i]), "\r"))
		p.rest = p.rest[i+1:]
	}
}
