package launch

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"syscall"

	"gomx/kvstore/wire"
)

// Batch runs a job by one command of an engine, such as mpirun or srun, that starts a process for
// each worker. The workers start the scheduler and the servers, as FromEnviron says.
type Batch struct {
	// Local are the settings. Remote, TCP and Threads of 0 have no meaning here. EncryptOff is the
	// default between hosts, which is EncryptBulk.
	Local
	// Command returns the command of the engine. variables are the variables of the job,
	// NAME=value, which the engine must pass on.
	Command func(variables []string) (*exec.Cmd, error)
	// Tag splits a line of the engine's output into the rank of the process that has written it and
	// its text. ok is false for a line of the engine itself.
	Tag func(line string) (rank int, text string, ok bool)
}

// Run runs the command and returns when it has ended: nil if its exit code is 0. When ctx ends, Run
// asks the engine to end the job, and kills it after Grace.
func (b Batch) Run(ctx context.Context) error {
	threads := b.Threads
	if err := b.validate(); err != nil {
		return usageError{err}
	}
	b.Threads = threads // cores of other hosts: each process looks for itself
	encrypt := betweenHosts(b.Encrypt)
	b.Encrypt = "" // the first rank makes the keys
	given := b.Dir != ""
	j, err := b.prepare()
	if err != nil {
		return err
	}
	defer j.release()
	// The processes choose the number of the job and the address of the scheduler themselves.
	j.env.Scheduler, j.env.Job, j.env.Launcher, j.env.Ports = "", 0, "", b.Ports
	j.env.Encrypt = encrypt
	if !given {
		j.env.Dir = ""
	}
	cmd, err := b.Command(append(j.env.List(), b.Env...))
	if err != nil {
		return usageError{err}
	}
	j.guard.run()
	defer j.guard.end()
	out := &tagged{job: j, tag: b.Tag, logs: map[string]*logFile{}}
	defer out.close()
	var p *process
	j.guard.do(func() {
		p, err = start(cmd, &stream{out, &output{mu: &j.mu, w: j.Stdout}},
			&stream{out, &output{mu: &j.mu, w: j.Stderr}})
	})
	if err != nil {
		return usageError{fmt.Errorf("launch: %w", err)}
	}
	select {
	case <-p.exited:
	case <-ctx.Done():
		signalGroup(cmd, syscall.SIGTERM)
		p.endWithin(cmd, 2*j.Grace)
		return context.Cause(ctx)
	}
	if code := p.code(); code != 0 {
		return &ExitError{Code: code, Runs: 1}
	}
	return nil
}

// tagged gives the lines of an engine the names of the processes that have written them.
type tagged struct {
	job *job
	tag func(line string) (rank int, text string, ok bool)

	mu   sync.Mutex
	logs map[string]*logFile // by the name of a process
}

// stream is one of the two outputs of an engine.
type stream struct {
	*tagged
	to *output
}

// line implements liner. A worker prints the lines of its helpers with their names.
func (s *stream) line(b []byte) {
	rank, text, ok := s.tag(strings.TrimSuffix(string(b), "\r"))
	if !ok {
		s.to.line(b)
		return
	}
	name := wire.Node{Role: wire.Worker, Rank: uint16(rank)}.String()
	if helper, rest, found := strings.Cut(strings.TrimPrefix(text, "["), "] "); found &&
		text[0] == '[' {
		if n, err := parseNode(helper); err == nil {
			name, text = n.String(), rest
		}
	}
	s.log(name, text)
	s.to.line([]byte("[" + name + "] " + text))
}

// log writes a line to the file of a process.
func (t *tagged) log(name, text string) {
	if t.job.Logs == "" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	f, known := t.logs[name]
	if !known {
		var err error
		if f, err = openLog(t.job.Logs, name); err != nil {
			t.job.Log.Warn().Err(err).Msg("the output of a process is not in a file")
		}
		t.logs[name] = f // nil after an error: the error is reported once
	}
	f.line([]byte(text))
}

func (t *tagged) close() {
	var errs []error
	for _, f := range t.logs {
		errs = append(errs, f.close())
	}
	if err := errors.Join(errs...); err != nil {
		t.job.Log.Warn().Err(err).Msg("the output of a process is not whole in its file")
	}
}
