//go:build linux

package launch_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"gomx/launch"
)

// engine is a batch whose engine is a script of the shell.
func engine(t *testing.T, script string, out *bytes.Buffer) launch.Batch {
	return launch.Batch{Local: launch.Local{Program: []string{"program"}, Workers: 2, Servers: 1,
		Logs: filepath.Join(t.TempDir(), "logs"), Stdout: out, Stderr: out,
		Grace: 200 * time.Millisecond},
		Command: func(variables []string) (*exec.Cmd, error) {
			cmd := exec.Command("sh", "-c", script)
			cmd.Env = append(os.Environ(), variables...)
			return cmd, nil
		},
		Tag: func(line string) (int, string, bool) {
			rank, text, ok := strings.Cut(line, ": ")
			n, err := strconv.Atoi(rank)
			return n, text, ok && err == nil
		}}
}

func TestBatchNamesLines(t *testing.T) {
	var out bytes.Buffer
	b := engine(t, `echo "1: workers $DMLC_NUM_WORKER, servers $DMLC_NUM_SERVER"; `+
		`echo "0: [server 0] serves"; echo "0: [note] text"; echo "engine says"`, &out)
	if err := b.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := "[worker 1] workers 2, servers 1\n[server 0] serves\n[worker 0] [note] text\n" +
		"engine says\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
	for name, want := range map[string]string{"worker-1.log": "workers 2, servers 1\n",
		"server-0.log": "serves\n", "worker-0.log": "[note] text\n"} {
		got, err := os.ReadFile(filepath.Join(b.Logs, name))
		if err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, want)
		}
	}
}

func TestBatchEnds(t *testing.T) {
	var out bytes.Buffer
	var exit *launch.ExitError
	if err := engine(t, "exit 75", &out).Run(t.Context()); !errors.As(err, &exit) ||
		exit.Code != 75 {
		t.Errorf("got %v, want exit code 75", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := engine(t, `trap "" TERM; sleep 600; sleep 600`, &out).Run(ctx); !errors.Is(err,
		context.DeadlineExceeded) {
		t.Errorf("got %v, want the end of the context", err)
	}
}
