package bench

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// sessionTimeout is the longest time for the answer to one line.
const sessionTimeout = 3 * time.Minute

// session is a process of a peer that reads names of lines and answers each with name, figure and
// unit. It is used by one goroutine.
type session struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
	said   strings.Builder // standard error of the process
}

// startSession starts the process of a script.
func startSession(c command, env []string) (*session, error) {
	s := &session{cmd: exec.Command(c.path, c.args...)}
	s.cmd.Env = append(append(s.cmd.Environ(), c.env...), env...)
	s.cmd.Stderr = &s.said
	var err error
	if s.stdin, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.stdout = bufio.NewReader(out)
	return s, s.cmd.Start()
}

// ask returns the figure of one line. It ends a process that does not answer in time.
func (s *session) ask(ctx context.Context, line string) (float64, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, sessionTimeout,
		fmt.Errorf("no answer to %s within %v", line, sessionTimeout))
	defer cancel()
	defer context.AfterFunc(ctx, func() { s.cmd.Process.Kill() })()
	if _, err := io.WriteString(s.stdin, line+"\n"); err != nil {
		return 0, s.failure(ctx, err)
	}
	answer, err := s.stdout.ReadString('\n')
	if err != nil {
		return 0, s.failure(ctx, err)
	}
	f := strings.Split(strings.TrimSpace(answer), "\t")
	switch {
	case len(f) != 3 || f[0] != line:
		return 0, fmt.Errorf("the answer to %s is %q, want name, figure and unit", line, answer)
	case f[1] == "error":
		return 0, fmt.Errorf("%s: %s", line, f[2])
	}
	v, err := strconv.ParseFloat(f[1], 64)
	if err != nil || v <= 0 {
		return 0, fmt.Errorf("the answer to %s is %q, want a figure above 0", line, answer)
	}
	return v, nil
}

// failure returns the reason for the end of a process.
func (s *session) failure(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	s.stdin.Close()
	end := s.cmd.Wait()
	return fmt.Errorf("its process ended (%w, %v): %s", err, end, lastLine(s.said.String()))
}

// sessionGrace is the time that a process has to end after the end of its input.
const sessionGrace = 10 * time.Second

// close closes the input of the process, which then ends.
func (s *session) close() {
	s.stdin.Close()
	defer time.AfterFunc(sessionGrace, func() { s.cmd.Process.Kill() }).Stop()
	s.cmd.Wait()
}
