package measure

import (
	"cmp"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Package holds the counts of one folder.
type Package struct {
	Path     string // folder from the root of the tree, "." for the root
	Code     int    // lines with code of non-test files, blank lines and comments excluded
	Tests    int    // lines with code of test files
	Comments int    // lines that hold nothing but comment, non-test files
	Relative int    // comment lines with a free relative, non-test files
	Long     int    // lines over LongLine columns, non-test files
	Lines    int    // all lines of non-test files
	Stems    []string
	Widest   Struct // struct type with the most fields
	Largest  Type   // type with the most methods
	Structs  []Struct
	Types    []Type
}

// Struct is a struct type and its number of fields; an embedded field counts as one.
type Struct struct {
	Name   string
	Fields int
}

// Type is a named type and its number of methods; the methods in all files of the package count.
type Type struct {
	Name    string
	Methods int
}

// CommentShare is the share of comment lines among lines of comment and code, from 0 to 1.
func (p Package) CommentShare() float64 { return share(p.Comments, p.Comments+p.Code) }

// RelativeShare is the share of comment lines with a free relative, from 0 to 1.
func (p Package) RelativeShare() float64 { return share(p.Relative, p.Comments) }

// LongShare is the share of lines that are longer than LongLine columns, from 0 to 1.
func (p Package) LongShare() float64 { return share(p.Long, p.Lines) }

func share(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// Tree measures every package of a tree, sorted by path.
func Tree(tree fs.FS) ([]Package, error) {
	found := map[string]*folder{}
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return enter(tree, name)
		}
		if path.Ext(name) != ".go" {
			return nil
		}
		dir := path.Dir(name)
		if found[dir] == nil {
			found[dir] = newFolder(dir)
		}
		return found[dir].read(tree, name)
	})
	if err != nil {
		return nil, err
	}
	var out []Package
	for _, f := range found {
		out = append(out, f.finish())
	}
	slices.SortFunc(out, func(a, b Package) int { return cmp.Compare(a.Path, b.Path) })
	return out, nil
}

// enter skips folders that hold no code of this module.
func enter(tree fs.FS, name string) error {
	base := path.Base(name)
	if name == "." {
		return nil
	}
	if strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || base == "testdata" ||
		base == "vendor" {
		return fs.SkipDir
	}
	if _, err := fs.Stat(tree, path.Join(name, "go.mod")); err == nil {
		return fs.SkipDir
	}
	return nil
}
