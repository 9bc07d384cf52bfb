package engine

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var runMutants = flag.Bool("mutants", false, "break the scheduling core in every listed way and see that the adversary notices")

// mutants are ways to break the scheduling core. Each replaces text that occurs exactly once in its file.
var mutants = []struct{ name, file, old, new string }{
	{"drop a decrement of readers", "sched.go", "q.readers--\n", ""},
	{"grant a writer while others read", "sched.go", "if q.readers > 0 {\n\t\treturn false", "if q.readers > 99 {\n\t\treturn false"},
	{"grant a reader while another writes", "sched.go", "if q.writer != nil {", "if q.writer != nil && a.mode != Read {"},
	{"forget that a writer is gone", "sched.go", "q.writer = nil\n", ""},
	{"lose a wake-up", "sched.go", "\t\tc.wake(v)\n", ""},
	{"wake everybody at once", "sched.go", "if w.writes > v.q.writes {", "if false {"},
	{"ready one access early", "sched.go", "if o.unclear > 0 {", "if o.unclear > 1 {"},
	{"overtake the queue", "sched.go", "a.clear = q.head == nil && q.admit(a)", "a.clear = q.admit(a)"},
	{"stop after the first follower", "sched.go", "\t\tc.cleared(a.op)\n\t}", "\t\tc.cleared(a.op)\n\t\tbreak\n\t}"},
	{"run what should be skipped", "sched.go", "if o.inherited == nil || o.spec.is(skipless) {", "if true {"},
	{"skip operations that must run", "sched.go", "o.inherited == nil || o.spec.is(skipless)", "o.inherited == nil"},
	{"an update cures", "sched.go", "if a.mode == Overwrite {\n\t\t\tcontinue", "if a.mode != Read {\n\t\t\tcontinue"},
	{"a newer cause replaces the first", "sched.go", "if old != nil && a.mode == Update {", "if false {"},
	{"nothing cures", "sched.go", "a.v.publishPoison(p)", "if p != nil {\n\t\ta.v.publishPoison(p)\n\t}"},
	{"miscount poisoned variables", "sched.go", "c.poisoned--", "c.poisoned -= 0"},
	{"failures after issue do not travel", "sched.go", "if o.queued && !o.skipped && o.inherited == nil && c.poisoned > 0 {", "if false {"},
	{"never quiet", "sched.go", "v.publishQuiet(q.taken)", "_ = v"},
	{"retire before predecessors", "sched.go", "if o.unclear == 0 {\n\t\tc.settled", "if true {\n\t\tc.settled"},
	{"issue a writer before the readers", "issue.go", "if r.front != nil && r.reads == 0 {", "if r.front != nil {"},
	{"lose reads behind a write", "issue.go", "\t\tr.reads++\n\t\tc.granted(b.op)\n", "\t\tr.reads++\n"},
	{"forget to wait for writes of other lanes", "issue.go", "if r.write.op != nil && r.write.lane != lane {", "if false {"},
	{"forget to wait for reads of other lanes", "issue.go", "if s.lane != lane {", "if false {"},
	{"remember the first read of a lane instead of the last", "issue.go", "r.behind[i] = s\n", ""},
	{"remember what is complete", "issue.go", "r.write = stamp{}", "_ = r"},
	{"start a new order empty", "issue.go", "r := &issueOrder{front: q.writer, reads: q.readers}", "r := &issueOrder{}"},
}

// TestMutants checks that each mutant still applies and, with -mutants, that TestAdversary fails on it.
func TestMutants(t *testing.T) {
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			source, err := os.ReadFile(m.file)
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(source), m.old); n != 1 {
				t.Fatalf("%s has the text to replace %d times, want 1: %q", m.file, n, m.old)
			}
			if *runMutants {
				mutate(t, m.file, strings.Replace(string(source), m.old, m.new, 1))
			}
		})
	}
}

// mutate runs the adversary with a changed file and fails when it notices nothing.
func mutate(t *testing.T, file, source string) {
	dir := t.TempDir()
	changed, overlay := filepath.Join(dir, file), filepath.Join(dir, "overlay.json")
	original, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{original: changed}})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{changed: []byte(source), overlay: text} {
		if err := os.WriteFile(name, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.Command("go", "test", "-vet=off", "-overlay", overlay, "-run", "^TestAdversary$", "-timeout", "60s", ".").CombinedOutput()
	switch {
	case err == nil:
		t.Error("survived")
	case strings.Contains(string(out), "[build failed]"):
		t.Errorf("does not compile:\n%s", out)
	}
}
