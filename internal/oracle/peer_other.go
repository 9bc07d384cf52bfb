//go:build !unix

package oracle

import "os/exec"

// isolate does nothing: MXNet's Python forks on Unix only.
func isolate(*exec.Cmd) {}

// end kills the process.
func end(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
