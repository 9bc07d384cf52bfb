//go:build unix

package manual

import (
	"flag"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gomx/internal/output"
)

var newcomer = flag.Bool("manual.newcomer", false,
	"run the commands of README.md and of the first pages in a fresh clone")

// firstPages are the pages that a newcomer reads.
var firstPages = []string{"README.md", "docs/getting-started.md", "docs/distributed-steps.md"}

// TestNewcomer runs in a fresh clone of the last commit the commands and programs of the pages
// that a newcomer reads, and compares what they print. The folder of the clone has the name gomx.
func TestNewcomer(t *testing.T) {
	if !*newcomer {
		t.Skip("clones the tree and trains: make newcomer, or -manual.newcomer")
	}
	top, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	clone := exec.CommandContext(t.Context(), "git", "clone", "-q", top, filepath.Join(dir, "gomx"))
	if text, err := clone.CombinedOutput(); err != nil {
		t.Fatalf("git clone: %v\n%s", err, text)
	}
	all, err := Pages(filepath.Join(dir, "gomx"))
	if err != nil {
		t.Fatal(err)
	}
	var read []Page
	for _, name := range firstPages {
		for _, p := range all {
			if p.Path == name {
				read = append(read, p)
			}
		}
	}
	var out, messages output.Buffer
	cmd := exec.CommandContext(t.Context(), "bash", "-c", Script(read))
	cmd.Dir, cmd.Stdout, cmd.Stderr = filepath.Join(dir, "gomx"), &out, &messages
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = 10 * time.Second
	start := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for !strings.Contains(out.String(), mark+"end:0") && len(ended) == 0 {
		time.Sleep(100 * time.Millisecond)
	}
	syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // the programs behind &
	<-ended
	for _, fault := range CompareScript(read, out.String()) {
		t.Error(fault)
	}
	if t.Failed() {
		t.Logf("messages:\n%s", messages.String())
	}
	t.Logf("%d pages in %v", len(read), time.Since(start).Round(time.Second))
}

func TestScript(t *testing.T) {
	p, err := Parse("a.md", "```sh\necho a\n```\n```output\nb\n```\n"+
		"```go\npackage main\n\nfunc main() {}\n```\n```sh\ncat main.go\n```\n"+
		"```output\n…\nfunc main() {}\n```\n```sh\nfalse\n```\n```sh\ntrue\n```\n")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("bash", "-c", Script([]Page{p}))
	cmd.Dir = t.TempDir()
	out, err := cmd.Output()
	if err == nil {
		t.Error("the script ends without an error, though a command fails")
	}
	got := strings.Join(CompareScript([]Page{p}, string(out)), "\n")
	for _, want := range []string{"a.md:2: the block prints\na\n",
		"a.md:23: the block has not run"} {
		if !strings.Contains(got, want) {
			t.Errorf("no fault %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "a.md:13") {
		t.Errorf("a block that prints its output is a fault:\n%s", got)
	}
}
