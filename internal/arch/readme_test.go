package arch_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadmeIsCompiled demands that every Go snippet of the README is part of an Example, up to
// white space, so that it compiles and runs.
func TestReadmeIsCompiled(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("../..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	examples, err := readExamples()
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, part := range strings.Split(string(text), "```go\n")[1:] {
		snippet, _, _ := strings.Cut(part, "```")
		found++
		if !strings.Contains(examples, squeeze(snippet)) {
			t.Errorf("no example_test.go or readme_test.go contains this snippet of README.md:\n%s",
				snippet)
		}
	}
	if found < 2 {
		t.Errorf("README.md has %d Go snippets, want an imperative and a symbolic one", found)
	}
}

// readExamples joins the files of the module that hold Examples.
func readExamples() (string, error) {
	var b strings.Builder
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); strings.HasSuffix(name, "example_test.go") ||
			name == "readme_test.go" {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			b.WriteString(squeeze(string(text)))
		}
		return nil
	})
	return b.String(), err
}

// squeeze reduces white space to single blanks.
func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }
