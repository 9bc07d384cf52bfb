package golden

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recorder is a test that keeps its messages.
type recorder struct {
	testing.TB
	errors []string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	for _, a := range args {
		format += " " + a.(string)
	}
	r.errors = append(r.errors, format)
}

func TestCompare(t *testing.T) {
	file := filepath.Join(t.TempDir(), "new", "a.txt")
	Compare(t, file, "one\ntwo\n", true)
	if text, err := os.ReadFile(file); err != nil || string(text) != "one\ntwo\n" {
		t.Fatalf("the file has %q, %v", text, err)
	}
	for got, want := range map[string]string{
		"one\ntwo\n":        "",
		"one\nTwo\n":        "line 2:\ngot  Two\nwant two",
		"one\n":             "line 2:\ngot  \nwant two",
		"one":               "line 2:\ngot  the end of the text\nwant two",
		"one\ntwo\nthree\n": "line 3:\ngot  three\nwant ",
	} {
		var r recorder
		Compare(&r, file, got, false)
		if want == "" && len(r.errors) > 0 ||
			want != "" && (len(r.errors) != 1 || !strings.Contains(r.errors[0], want)) {
			t.Errorf("%q: got %q, want %q", got, r.errors, want)
		}
	}
}
