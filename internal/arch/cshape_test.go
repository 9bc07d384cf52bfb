package arch_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"gomx/internal/shape/measure"
)

// cFigures are the lines of C, C++ and CUDA files.
type cFigures struct {
	lines, long, comments, relative int
}

// add counts the lines of one file. A comment line holds nothing but a comment, or a part of one.
func (f *cFigures) add(text string) {
	block := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		f.lines++
		if utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    ")) > measure.LongLine {
			f.long++
		}
		line = strings.TrimSpace(line)
		comment := block || strings.HasPrefix(line, "//") || strings.HasPrefix(line, "/*")
		if begin := strings.LastIndex(line, "/*"); begin >= 0 || block {
			block = strings.LastIndex(line, "*/") < max(begin, 0)
		}
		_, trailing, found := strings.Cut(line, "//")
		if !comment && !found {
			continue
		}
		f.comments++
		if comment && measure.FreeRelative.MatchString(line) ||
			!comment && measure.FreeRelative.MatchString(trailing) {
			f.relative++
		}
	}
}

// faults lists the limits of Go files that the C files of a folder break.
func (f *cFigures) faults(folder string) []string {
	var list []string
	if share := float64(f.long) / float64(max(f.lines, 1)); share >= measure.MostLong {
		list = append(list, fmt.Sprintf("%s: %.2f %% of the lines have over %d columns", folder,
			100*share, measure.LongLine))
	}
	if share := float64(f.relative) / float64(max(f.comments, 1)); share >= measure.MostRelative {
		list = append(list, fmt.Sprintf("%s: %.2f %% of the comment lines hold a free relative",
			folder, 100*share))
	}
	return list
}

// TestShapeOfC holds C files to the limits on long lines and on free relatives.
func TestShapeOfC(t *testing.T) {
	var all cFigures
	err := fs.WalkDir(os.DirFS("../.."), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if err == nil && path != "." && strings.HasPrefix(d.Name(), ".") {
				return fs.SkipDir
			}
			return err
		}
		switch filepath.Ext(path) {
		case ".c", ".cc", ".h", ".cu", ".cuh":
			text, err := os.ReadFile(filepath.Join("../..", path))
			if err != nil {
				return err
			}
			all.add(string(text))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if all.lines < 1000 {
		t.Errorf("found %d lines of C, want at least 1000", all.lines)
	}
	for _, fault := range all.faults("the tree") {
		t.Error(fault)
	}
}

func TestShapeOfCBites(t *testing.T) {
	var f cFigures
	f.add("// what it does\nint a; // what it is\n/* one\n * that of two */\nint b;\n" +
		strings.Repeat("x", 101) + "\n")
	if want := (cFigures{6, 1, 4, 3}); f != want {
		t.Errorf("got %+v, want %+v", f, want)
	}
	if got := len(f.faults("x")); got != 2 {
		t.Errorf("got %d faults, want 2", got)
	}
}
