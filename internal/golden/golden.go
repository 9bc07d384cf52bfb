package golden

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Compare reports an error if got is not the content of the file, and names the first line that
// differs. With rewrite it writes the file and its folder instead.
func Compare(t testing.TB, file, got string, rewrite bool) {
	t.Helper()
	if rewrite {
		if err := write(file, got); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v: run the test with -rewrite", err)
	}
	if got != string(want) {
		t.Errorf("%s: %s\nrun the test with -rewrite and look at the change", file,
			difference(got, string(want)))
	}
}

func write(file, text string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(text), 0o644)
}

// difference shows the first line in which two texts differ. A text that ends has an end in place
// of the line.
func difference(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	line := func(list []string) string {
		if i == len(list) {
			return "the end of the text"
		}
		return list[i]
	}
	return fmt.Sprintf("line %d:\ngot  %s\nwant %s", i+1, line(a), line(b))
}
