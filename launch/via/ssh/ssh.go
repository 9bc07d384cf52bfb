package ssh

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"gomx/kvstore/wire"
	"gomx/launch"
)

// Config describes the hosts of a job.
type Config struct {
	Hosts            []Host
	Workers, Servers int
	// Interface is the network interface of hosts whose line names none; empty: any.
	Interface string
	Cwd       string // working directory of the processes, the same on all hosts
	// Env is the environment of the processes, NAME=value. The processes inherit nothing else from
	// the launcher.
	Env []string
	// Program is the client, empty: ssh. Args are arguments of the client, such as -i and a file.
	Program string
	Args    []string
}

// client is a launch.Remote over the ssh client.
type client struct {
	Config
	*placement
}

// New returns the way in which launch.Local starts processes on the hosts.
func New(c Config) (*launch.Remote, error) {
	p, err := place(c.Hosts, c.Workers, c.Servers)
	if err != nil {
		return nil, err
	}
	if c.Program == "" {
		c.Program = "ssh"
	}
	if _, err := exec.LookPath(c.Program); err != nil {
		return nil, fmt.Errorf("ssh: client: %w: install it with apt-get install openssh-client",
			err)
	}
	for _, v := range c.Env {
		if name, _, ok := strings.Cut(v, "="); !ok || !variable(name) {
			return nil, fmt.Errorf("ssh: variable %q, want NAME=value", v)
		}
	}
	s := &client{c, p}
	return &launch.Remote{Scheduler: c.Hosts[0].address(), Command: s.command, Clean: s.clean}, nil
}

// variable reports whether a name can be a variable of a shell.
func variable(name string) bool {
	for i, r := range name {
		letter := r == '_' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return name != ""
}

// args returns the arguments of the client that runs a command on a host. The client asks for no
// password, gives up a host that is silent for 15 s, and shares no connection with other clients,
// which would outlive it.
func (s *client) args(h *Host, command string) []string {
	return append(slices.Clone(s.Args), "-T", "-x", "-o", "BatchMode=yes",
		"-o", "ControlMaster=no", "-o", "ControlPath=none",
		"-o", "ConnectTimeout=15", "-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3",
		"--", h.Name, command)
}

// command implements launch.Remote.Command.
func (s *client) command(p launch.Process) (*exec.Cmd, func(syscall.Signal)) {
	i := s.host(p.Node)
	h := &s.hosts[i]
	p.Env = append(slices.Clone(s.Env), p.Env...)
	p.Env = append(p.Env, "GOMX_LOCAL_WORKERS="+strconv.Itoa(s.share(i)))
	switch name := h.Interface; {
	case name == "" && s.Interface == "" && p.Node.Role == wire.Server && h.Address != "":
		p.Env = append(p.Env, "DMLC_NODE_HOST="+h.Address)
	case name != "":
		p.Env = append(p.Env, "DMLC_INTERFACE="+name)
	case s.Interface != "" && h.Address == "":
		p.Env = append(p.Env, "DMLC_INTERFACE="+s.Interface)
	}
	scratch := ""
	for _, v := range p.Env {
		if dir, ok := strings.CutPrefix(v, "GOMX_DIR="); ok {
			scratch = dir
		}
	}
	if !strings.HasPrefix(scratch, "/tmp/gomx-job-") {
		scratch = "" // the user's folder is kept
	}
	cmd := exec.Command(s.Program, s.args(h, bootstrap)...)
	in := newInput(cmd)
	in.send(script(p, s.Cwd, scratch) + endOfScript + "\n")
	return cmd, func(sig syscall.Signal) {
		switch sig {
		case syscall.SIGKILL:
			in.send("KILL\n")
		default:
			in.send("TERM\n")
		}
	}
}

// input writes to the standard input of a client, in order, without waiting for the client.
type input struct {
	mu   sync.Mutex
	rest []string
	w    io.WriteCloser
	busy bool // a goroutine writes
}

func newInput(cmd *exec.Cmd) *input {
	w, err := cmd.StdinPipe()
	if err != nil {
		cmd.Err = errors.Join(cmd.Err, err) // Start reports it
	}
	return &input{w: w}
}

// send writes text behind all earlier texts.
func (i *input) send(text string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.w == nil {
		return
	}
	i.rest = append(i.rest, text)
	if i.busy {
		return
	}
	i.busy = true
	go i.write()
}

func (i *input) write() {
	for {
		i.mu.Lock()
		if len(i.rest) == 0 {
			i.busy = false
			i.mu.Unlock()
			return
		}
		text := i.rest[0]
		i.rest = i.rest[1:]
		i.mu.Unlock()
		// An error means that the client has ended, which the launcher notices.
		_, _ = io.WriteString(i.w, text)
	}
}

// clean implements launch.Remote.Clean.
func (s *client) clean(ctx context.Context, dir string) error {
	errs := make([]error, len(s.hosts))
	var all sync.WaitGroup
	for i := range s.hosts {
		all.Go(func() {
			cmd := exec.CommandContext(ctx, s.Program, s.args(&s.hosts[i],
				"rm -rf -- "+quote(dir))...)
			cmd.WaitDelay = time.Second
			if out, err := cmd.CombinedOutput(); err != nil {
				errs[i] = fmt.Errorf("ssh: %s: %w: %s", s.hosts[i].Name, err, out)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
