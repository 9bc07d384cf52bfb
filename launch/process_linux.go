package launch

import (
	"os/exec"
	"syscall"
)

// isolate puts a command into a process group of its own, so that its own children can be ended
// with it, and lets the kernel kill it when the thread that starts it ends.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// endGroup kills the remaining processes of a command's process group.
func endGroup(cmd *exec.Cmd) { signalGroup(cmd, syscall.SIGKILL) }

// signalGroup sends a signal to a command and its children.
func signalGroup(cmd *exec.Cmd, s syscall.Signal) {
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, s) // an error means that the group has ended
	}
}

// signalOf returns the number of the signal that ended a process, or 0.
func signalOf(e *exec.ExitError) int {
	if s, ok := e.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		return int(s.Signal())
	}
	return 0
}
