//go:build unix

package oracle

import (
	"os/exec"
	"syscall"
)

// isolate puts the process and those that it forks into a group of their own.
func isolate(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// end kills the group.
func end(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
