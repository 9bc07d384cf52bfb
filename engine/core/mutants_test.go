package core

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var runMutants = flag.Bool("mutants", false,
	"break the scheduling core in every listed way and see that the adversary notices")

// mutants are ways to break the scheduling core. Each replaces text that occurs exactly once in its
// file.
var mutants = []struct{ name, file, old, new string }{
	{"drop a decrement of readers", "core.go", "v.readers--\n", ""},
	{"grant a writer while others read", "var.go", "if v.readers > 0 {\n\t\treturn false",
		"if v.readers > 99 {\n\t\treturn false"},
	{"grant a reader while another writes", "var.go", "if v.writer != nil {\n\t\treturn false",
		"if v.writer != nil && u.Mode != Read {\n\t\treturn false"},
	{"forget that a writer is gone", "core.go", "v.writer = nil\n", ""},
	{"lose a wake-up", "poison.go", "\t\tc.wake(v)\n", ""},
	{"wake everybody at once", "poison.go", "if w.Writes > v.writes {", "if false {"},
	{"ready one use early", "core.go", "if o.unclear > 0 {", "if o.unclear > 1 {"},
	{"overtake the queue", "core.go", "u.clear = v.head == nil && v.admit(u)",
		"u.clear = v.admit(u)"},
	{"stop after the first follower", "core.go", "\t\tc.cleared(u.op)\n\t}",
		"\t\tc.cleared(u.op)\n\t\tbreak\n\t}"},
	{"run an operation that should be skipped", "core.go",
		"if o.Inherited() == nil || o.rules.Is(Always|Silent) {", "if true {"},
	{"skip operations that must run", "core.go",
		"o.Inherited() == nil || o.rules.Is(Always|Silent)", "o.Inherited() == nil"},
	{"an update cures", "poison.go", "if u.Mode == Overwrite {\n\t\t\tcontinue",
		"if u.Mode != Read {\n\t\t\tcontinue"},
	{"a newer cause replaces the first", "poison.go", "if old != nil && u.Mode == Update {",
		"if false {"},
	{"nothing cures", "poison.go", "v.poison = p\n", "if p != nil {\n\t\tv.poison = p\n\t}\n"},
	{"miscount poisoned variables", "poison.go",
		"} else if old != nil && p == nil {\n\t\tc.poisoned--",
		"} else if old != nil && p == nil {\n\t\tc.poisoned -= 0"},
	{"a failed write counts as skipped", "poison.go", "p = &Poison{o.failure(), false}",
		"p = &Poison{o.failure(), true}"},
	{"an undefined value becomes intact", "poison.go", "o.skipped && (old == nil || old.Intact)",
		"o.skipped"},
	{"failures after issue do not travel", "core.go",
		"if c.poisoned > 0 && o.rules.Is(Queued) && !o.skipped && o.Inherited() == nil {",
		"if false {"},
	{"retire before predecessors", "core.go", "if o.unclear == 0 {\n\t\tc.retire",
		"if true {\n\t\tc.retire"},
	{"forget the first failure", "core.go", "if c.first == nil {", "if false {"},
	{"issue a writer before the readers", "order.go", "if r.front != nil && r.reads == 0 {",
		"if r.front != nil {"},
	{"lose reads behind a write", "order.go", "\t\tr.reads++\n\t\tc.grant(b.op)\n",
		"\t\tr.reads++\n"},
	{"forget to wait for writes of other lanes", "order.go",
		"if r.write.op != nil && r.write.lane != o.lane {", "if false {"},
	{"forget to wait for reads of other lanes", "order.go", "if s.lane != o.lane {", "if false {"},
	{"remember the first read of a lane instead of the last", "order.go", "r.behind[i] = s\n", ""},
	{"remember complete operations", "order.go", "r.write = stamp{}", "_ = r"},
	{"start a new order empty", "order.go", "r := &order{front: v.writer, reads: v.readers}",
		"r := &order{}"},
	{"any use of a quiet variable was its last", "op.go", "u.Var.final == u && ", ""},
	{"overlook the write that waits for readers", "order.go", "r.front = v.head //", "_ = r //"},
}

// TestMutants checks that each mutant still applies and, with -mutants, that the tests fail on it.
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

// mutate runs the tests with a changed file and fails when it notices nothing.
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
	out, err := exec.Command("go", "test", "-vet=off", "-overlay", overlay, "-run",
		"^Test(Adversary|Accept|Forget|List)", "-timeout", "60s", ".").CombinedOutput()
	switch {
	case err == nil:
		t.Error("survived")
	case strings.Contains(string(out), "[build failed]"):
		t.Errorf("does not compile:\n%s", out)
	}
}
