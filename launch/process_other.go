//go:build !linux

package launch

import (
	"os"
	"os/exec"
	"syscall"
)

// isolate does nothing: this system has no process groups and death signals like Linux.
func isolate(*exec.Cmd) {}

// endGroup does nothing.
func endGroup(*exec.Cmd) {}

// signalGroup kills the command for SIGKILL, or asks it to end.
func signalGroup(cmd *exec.Cmd, s syscall.Signal) {
	if cmd.Process == nil {
		return
	}
	if s == syscall.SIGKILL {
		_ = cmd.Process.Kill()
		return
	}
	_ = cmd.Process.Signal(os.Interrupt)
}

// signalOf returns 0: this system does not report signals.
func signalOf(*exec.ExitError) int { return 0 }
