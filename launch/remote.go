package launch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path"
	"strings"
	"syscall"
	"time"

	"gomx/kvstore/wire"
)

// Remote starts the processes of a Local on other hosts. Package launch/via/ssh makes one.
type Remote struct {
	// Scheduler is the name or the address under which the other processes reach the host of the
	// scheduler.
	Scheduler string
	// Command returns the command of this host that runs a process on its host, and a function that
	// sends SIGTERM or SIGKILL to that process.
	Command func(p Process) (cmd *exec.Cmd, signal func(s syscall.Signal))
	// Clean removes a folder from all hosts, at the end of the job.
	Clean func(ctx context.Context, dir string) error
}

// Process is a process that a Remote starts.
type Process struct {
	Node    wire.Node
	Program []string // program and arguments
	Env     []string // NAME=value
	// Keys are the contents of the files of its folder of keys, by their names. The Remote writes
	// them to a folder that only the user of the process can read, and sets GOMX_KEYS to it.
	Keys map[string][]byte
}

// announceFor is the time within which a scheduler on another host must say where it listens.
const announceFor = time.Minute

// remote prepares the environment for processes on other hosts: their scheduler chooses a port,
// their connections are encrypted, and their folder is made on each host.
func (j *job) remote() error {
	keys, err := KeyFiles(j.Workers, j.Servers)
	if err != nil {
		return err
	}
	j.away = &away{keys: keys, address: make(chan string, 1)}
	j.env.Scheduler = "tcp://" + net.JoinHostPort(j.Remote.Scheduler, j.Ports.String())
	j.env.Ports, j.env.Launcher, j.env.Keys = j.Ports, "", ""
	j.env.Encrypt = betweenHosts(j.Encrypt)
	if j.Dir == "" {
		j.env.Dir = path.Join("/tmp", fmt.Sprintf("gomx-job-%016x", j.env.Job))
		j.away.clean = j.env.Dir
	}
	return nil
}

// betweenHosts returns the kind of encryption between hosts, where EncryptOff stands for the
// default.
func betweenHosts(kind string) string {
	if kind == EncryptOff {
		return ""
	}
	return kind
}

// away is the state of a job on other hosts.
type away struct {
	keys    map[string][]byte // all files of keys, by their names
	address chan string       // address of the scheduler, from its first announcement
	clean   string            // folder to remove from all hosts
}

// command returns the command that runs a node, and the function that sends a signal to the node's
// processes.
func (j *job) command(n wire.Node) (cmd *exec.Cmd, signal func(syscall.Signal)) {
	if j.Remote == nil {
		cmd = exec.Command(j.Program[0], j.Program[1:]...)
		cmd.Env = append(append(Inherited(os.Environ()), j.Env...), j.variables(n)...)
		return cmd, func(s syscall.Signal) { signalGroup(cmd, s) }
	}
	own := keyFile("", n)
	return j.Remote.Command(Process{Node: n, Program: j.Program,
		Env:  append(append([]string{}, j.Env...), j.variables(n)...),
		Keys: map[string][]byte{publicFile: j.away.keys[publicFile], own: j.away.keys[own]}})
}

// variables returns the environment of a node.
func (j *job) variables(n wire.Node) []string {
	j.envMu.Lock()
	defer j.envMu.Unlock()
	return j.env.For(n)
}

// setEnv changes the environment of the processes that start from now on.
func (j *job) setEnv(e Environ) {
	j.envMu.Lock()
	defer j.envMu.Unlock()
	j.env = e
}

// watch reads a line that the scheduler has printed.
func (a *away) watch(line []byte) {
	if addr, ok := bytes.CutPrefix(line, []byte(announcement)); ok {
		select {
		case a.address <- strings.TrimSpace(string(addr)):
		default: // a scheduler that was started again has the address of its predecessor
		}
	}
}

// awaitScheduler waits until the scheduler on another host has said where it listens, and gives
// this address to the processes that start from now on.
func (j *job) awaitScheduler(ctx context.Context) error {
	if j.away == nil {
		return nil
	}
	select {
	case addr := <-j.away.address:
		e := j.env
		e.Scheduler = addr
		j.setEnv(e)
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(announceFor):
		return errors.New("launch: the scheduler has not said within " + announceFor.String() +
			" where it listens: does the program call launch.Main?")
	}
}

// cleanHosts removes the folder of the job from the hosts.
func (j *job) cleanHosts() {
	if j.away == nil || j.away.clean == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := j.Remote.Clean(ctx, j.away.clean); err != nil {
		j.Log.Warn().Err(err).Str("folder", j.away.clean).Msg("a folder is left on a host")
	}
}
