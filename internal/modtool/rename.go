package main

import (
	"bytes"
	"fmt"
	"go/format"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/mod/module"
)

// skipped are folders that hold nothing of the module.
var skipped = map[string]bool{".git": true, ".cache": true, "dist": true}

// records reports whether a folder holds records of a program: it lies in the folder runs, which is
// a package too, and has no Go files.
func records(root, path string) bool {
	if filepath.Dir(path) != filepath.Join(root, "runs") || filepath.Base(path) == "testdata" {
		return false
	}
	sources, _ := filepath.Glob(filepath.Join(path, "*.go"))
	return len(sources) == 0
}

// rename gives the module in root another path, in place.
func rename(root, to string) error {
	if err := module.CheckPath(to); err != nil {
		return err
	}
	from, err := modulePath(root)
	if err != nil {
		return err
	}
	r, err := newRenamer(root, from, to)
	if err != nil {
		return err
	}
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (skipped[d.Name()] || records(root, path)):
			return filepath.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		return r.file(path)
	})
}

// renamer replaces a module's path where it stands for a package.
type renamer struct {
	to       string
	packages *regexp.Regexp // the path and the slash behind it, before a folder of the module
	requires *regexp.Regexp // the path in go.mod files
}

func newRenamer(root, from, to string) (*renamer, error) {
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil, err
	}
	var folders []string
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") && !skipped[e.Name()] {
			folders = append(folders, regexp.QuoteMeta(e.Name()))
		}
	}
	old := regexp.QuoteMeta(from)
	return &renamer{
		to: to,
		// A path is not preceded by more of a path. A closing quote behind the slash is a prefix of
		// packages.
		packages: regexp.MustCompile(`(^|[^\w./-])` + old + `/((?:` + strings.Join(folders, "|") +
			`)\b|["<])`),
		requires: regexp.MustCompile(`(?m)(^|\s)` + old + `(\s+v\d|\s+=>|\s*$)`),
	}, nil
}

// file rewrites one file if it is text that names the module.
func (r *renamer) file(path string) error {
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if bytes.IndexByte(old, 0) >= 0 {
		return nil // not text
	}
	text := r.packages.ReplaceAll(old, []byte("${1}"+r.to+"/${2}"))
	if name := filepath.Base(path); name == "go.mod" {
		text = r.requires.ReplaceAll(text, []byte("${1}"+r.to+"${2}"))
	}
	if bytes.Equal(text, old) {
		return nil
	}
	if strings.HasSuffix(path, ".go") {
		if text, err = format.Source(text); err != nil { // the order of imports changes
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, info.Mode())
}
