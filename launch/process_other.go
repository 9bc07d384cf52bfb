//go:build !linux

package launch

import (
	"os"
	"os/exec"
	"syscall"
)

// isolate does nothing where process groups and parents' deaths are not what Linux has.
func isolate(*exec.Cmd) {}

// endGroup has nothing to end.
func endGroup(*exec.Cmd) {}

// signalGroup ends the command, or asks it to end.
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

// signalOf does not tell signals apart.
func signalOf(*exec.ExitError) int { return 0 }
