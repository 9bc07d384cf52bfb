//go:build cgo && linux

package launch_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gomx/internal/output"
	"gomx/kvstore/wire"
	"gomx/launch"
	"gomx/launch/network"
)

// TestRemote lets a job start its processes by way of a Remote, which starts them on this machine.
// Every process gets its own key only, the scheduler chooses a port of the range, and the folder of
// the job is cleaned.
func TestRemote(t *testing.T) {
	var out output.Buffer
	l := trainJob(3, 2, 2, 6, &out)
	l.Ports = network.Ports{First: 30000, Last: 30999}
	l.Logs = t.TempDir()
	var cleaned string
	l.Remote = &launch.Remote{Scheduler: "127.0.0.1",
		Command: func(p launch.Process) (*exec.Cmd, func(syscall.Signal)) {
			dir := t.TempDir()
			if len(p.Keys) != 2 {
				t.Errorf("%s has %d files of keys, want 2", p.Node, len(p.Keys))
			}
			for name, content := range p.Keys {
				if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
					t.Error(err)
				}
			}
			cmd := exec.Command(p.Program[0], p.Program[1:]...)
			cmd.Env = append(append(os.Environ(), p.Env...), "GOMX_KEYS="+dir, "GOMX_DIR="+dir)
			return cmd, func(s syscall.Signal) { _ = cmd.Process.Signal(s) }
		},
		Clean: func(_ context.Context, dir string) error { cleaned = dir; return nil }}
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	if err := l.Run(ctx); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	checkResults(t, out.String(), 3, 6)
	if !strings.Contains(out.String(),
		"[scheduler] gomx: scheduler listens at tcp://127.0.0.1:30") {
		t.Errorf("the scheduler listens at no port of the range:\n%s", out.String())
	}
	if !strings.HasPrefix(cleaned, "/tmp/gomx-job-") {
		t.Errorf("cleaned folder %q, want the folder of the job", cleaned)
	}
	for _, node := range []wire.Node{{Role: wire.Scheduler}, {Role: wire.Server, Rank: 1},
		{Role: wire.Worker, Rank: 2}} {
		name := strings.ReplaceAll(node.String(), " ", "-") + ".log"
		b, err := os.ReadFile(filepath.Join(l.Logs, name))
		if err != nil || len(b) == 0 || strings.HasPrefix(string(b), "[") {
			t.Errorf("%s: %v, %q", name, err, b)
		}
	}
}
