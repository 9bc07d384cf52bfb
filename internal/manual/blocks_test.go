package manual

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var blocks = flag.Bool("manual.blocks", false, "compile and run the Go blocks of the pages")

// TestBlocks compiles every Go block of the pages, runs the pages that say so, and compares what
// they print. Their packages stay in .cache/manual for a look.
func TestBlocks(t *testing.T) {
	if !*blocks {
		t.Skip("compiles and runs the pages: make docs, or -manual.blocks")
	}
	x, err := NewIndex(root)
	if err != nil {
		t.Fatal(err)
	}
	top, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	run, pkgs, programs, err := Sources(top, ".cache/manual", pages(t), x)
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{append([]string{"build", "-gcflags=-e"}, pkgs...),
		append([]string{"vet"}, programs...),
		{"build", "-o", ".cache/manual/pages.exe", "./.cache/manual/run"}} {
		if err := Go(t.Context(), top, args...); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(top, ".cache/manual/pages.exe"))
	var out, messages bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = t.TempDir(), &out, &messages
	start := time.Now()
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, messages.String(), out.String())
	}
	t.Logf("%d pages ran in %v", len(run), time.Since(start).Round(time.Millisecond))
	for _, fault := range CompareOutput(run, out.String()) {
		t.Error(fault)
	}
}

// Blocks see the variables of the blocks before them, may leave variables unused and declare them
// anew; packages are imported by name.
func TestCode(t *testing.T) {
	x, err := NewIndex(root)
	if err != nil {
		t.Fatal(err)
	}
	text := "<!-- manual:preamble\nvar train io.Iter\n-->\n" +
		"```go\ntype pair struct{ a, b *nd.Array }\n```\n" +
		"```go\nx := nd.Ones(nd.Shape{2})\nfor i, v := range []int{1} {\n}\n```\n" +
		"```go\nx := pair{a: x}\nvar n = strings.ToUpper(\"a\")\n```\n"
	p, err := Parse("docs/a.md", text)
	if err != nil {
		t.Fatal(err)
	}
	code, err := p.Code(x)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"import io \"" + x.module + "/io\"",
		"import nd \"" + x.module + "/ndarray\"",
		"import strings \"strings\"", "//line docs/a.md:2", "; _ = x", "{ _ = i;  _ = v; \n",
		"; _ = n"} {
		if !strings.Contains(string(code), want) {
			t.Errorf("the code does not contain %q:\n%s", want, code)
		}
	}
	if strings.Count(string(code), x.module+"/") != 2 {
		t.Errorf("want two imports of the module:\n%s", code)
	}
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		want, got string
		ok        bool
	}{
		{"a\nb\n", "a\nb\n", true},
		{"a …\nb\n", "a 17 s\nb\n", true},
		{"a …\nb\n", "a\nb\n", false},
		{"a\n…\nb\n", "a\nx\ny\nb\n", true},
		{"…\nb\n…\n", "b\n", true},
		{"…\nb\n…\n", "a\nb\nc\n", true},
		{"a\n…\nb\n", "a\nb\n", true},
		{"…\nb\n", "ab\n", false},
		{"a\n", "a\nb\n", false},
		{"a.c", "abc", false},
	} {
		if Matches(c.want, c.got) != c.ok {
			t.Errorf("Matches(%q, %q): got %v", c.want, c.got, !c.ok)
		}
	}
}

// Faults of pages are found: this test plants one of each kind.
func TestFaultsAreFound(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "docs"), 0o755); err != nil {
		t.Fatal(err)
	}
	p, err := Parse("docs/a.md", "# One, two\n[a](b.md) [b](#three) [c](#one-two) [d](../x.md)\n"+
		"`docs/none.md` `nd.Zeros` `nd.Zeroes`\n# A – b\n[e](#a-b)\n")
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(DeadLinks(dir, []Page{p}), "\n")
	for _, want := range []string{"docs/b.md", "#three", "leaves docs", "docs/none.md",
		"#a-b is another"} {
		if !strings.Contains(strings.ReplaceAll(got, "link #a-b", "#a-b"), want) {
			t.Errorf("no fault contains %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "one-two") {
		t.Error("the link to a heading is a fault")
	}
	x, err := NewIndex(root)
	if err != nil {
		t.Fatal(err)
	}
	good, bad := x.Check("nd.Zeros(nd.Zeroes, optimizer.SGD.LR, fmt.Println, nd.Array.Reshape)")
	if len(good) != 3 || len(bad) != 1 {
		t.Errorf("good %v, bad %v", good, bad)
	}
	for _, c := range []string{"make nothing", "go run ./examples/none",
		"go run ./examples/mnist -epoch 3"} {
		if CheckCommand(root, strings.Fields(c)) == "" {
			t.Errorf("%s: no fault", c)
		}
	}
}
