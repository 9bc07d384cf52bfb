package launch

import (
	"bytes"
	"errors"
	"os/exec"
	"sync"
	"time"
)

// process is a child process that runs or has ended.
type process struct {
	cmd    *exec.Cmd
	out    []*prefixer
	exited chan struct{} // closed after err is set
	err    error
}

// start runs a command and copies its lines, with a prefix, to out and errs. It must be called on
// the thread of guardian, which outlives the child.
func start(cmd *exec.Cmd, out, errs liner) (*process, error) {
	p := &process{cmd: cmd, exited: make(chan struct{})}
	p.out = []*prefixer{{to: out}, {to: errs}}
	cmd.Stdout, cmd.Stderr = p.out[0], p.out[1]
	cmd.WaitDelay = time.Second // a grandchild that keeps the pipes open does not delay Wait longer
	isolate(cmd)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		p.err = cmd.Wait()
		endGroup(cmd) // ends the processes that the command left behind
		for _, w := range p.out {
			w.flush()
		}
		close(p.exited)
	}()
	return p, nil
}

// endWithin waits for the end of a process, and ends its group after a time.
func (p *process) endWithin(cmd *exec.Cmd, d time.Duration) {
	select {
	case <-p.exited:
	case <-time.After(d):
		endGroup(cmd)
		<-p.exited
	}
}

// code returns the exit code, or 128 plus the number of the signal. It may be called after exited
// is closed.
func (p *process) code() int {
	if p.err == nil || errors.Is(p.err, exec.ErrWaitDelay) {
		return 0
	}
	var exit *exec.ExitError
	if !errors.As(p.err, &exit) {
		return ExitFailed
	}
	if n := signalOf(exit); n > 0 {
		return 128 + n
	}
	return exit.ExitCode()
}

// liner takes whole lines, without the newline.
type liner interface{ line(b []byte) }

// prefixer cuts the output of one process into lines.
type prefixer struct {
	to liner

	mu   sync.Mutex
	rest []byte
}

// maxLine is the length, in bytes, at which a longer line is cut.
const maxLine = 64 << 10

// Write implements io.Writer.
func (p *prefixer) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rest = append(p.rest, b...)
	for {
		i := bytes.IndexByte(p.rest, '\n')
		if i < 0 && len(p.rest) < maxLine {
			return len(b), nil
		}
		line := p.rest
		if i >= 0 {
			line = p.rest[:i]
		}
		p.to.line(line)
		p.rest = p.rest[min(len(line)+1, len(p.rest)):]
	}
}

// flush writes the last line if it does not end with a newline.
func (p *prefixer) flush() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.rest) > 0 {
		p.to.line(p.rest)
		p.rest = nil
	}
}
