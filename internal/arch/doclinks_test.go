package arch_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// docLink is a name in brackets, as [Array] or [Array.Index], in the documentation of a package.
var docLink = regexp.MustCompile(`\[([A-Z]\w*(?:\.[A-Z]\w*)?)\]`)

// codeLine is a line of a program in a documentation.
var codeLine = regexp.MustCompile(`(?m)^\t.*$`)

// TestDocLinks demands that what the documentation of a package names in brackets exists.
func TestDocLinks(t *testing.T) {
	links := map[string]int{}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "doc.go" {
			return err
		}
		dir := filepath.Dir(path)
		text, names, err := readDoc(dir)
		if err != nil {
			return err
		}
		for _, m := range docLink.FindAllStringSubmatch(codeLine.ReplaceAllString(text, ""), -1) {
			links[dir]++
			if !names[m[1]] {
				t.Errorf("%s: the documentation of the package names %s, which does not exist", dir,
					m[0])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"../../ndarray", "../../symbol"} {
		if links[dir] < 80 {
			t.Errorf("%s: its documentation names %d functions, want those of every group of "+
				"operators", dir, links[dir])
		}
	}
}

// readDoc returns the documentation of a package and the names that it exports.
func readDoc(dir string) (text string, names map[string]bool, err error) {
	files := []*ast.File{}
	set := token.NewFileSet()
	list, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return "", nil, err
	}
	for _, path := range list {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(set, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return "", nil, err
		}
		files = append(files, f)
	}
	p, err := doc.NewFromFiles(set, files, dir)
	if err != nil {
		return "", nil, err
	}
	names = map[string]bool{}
	function := func(prefix string, list []*doc.Func) {
		for _, f := range list {
			names[prefix+f.Name] = true
		}
	}
	value := func(list []*doc.Value) {
		for _, v := range list {
			for _, name := range v.Names {
				names[name] = true
			}
		}
	}
	function("", p.Funcs)
	value(p.Consts)
	value(p.Vars)
	for _, typ := range p.Types {
		names[typ.Name] = true
		function("", typ.Funcs)
		function(typ.Name+".", typ.Methods)
		value(typ.Consts)
		value(typ.Vars)
		for _, field := range fields(typ.Decl) {
			names[typ.Name+"."+field] = true
		}
	}
	return p.Doc, names, nil
}

// fields lists the fields of the structs that a declaration declares.
func fields(d *ast.GenDecl) (list []string) {
	ast.Inspect(d, func(n ast.Node) bool {
		if s, ok := n.(*ast.StructType); ok {
			for _, f := range s.Fields.List {
				for _, name := range f.Names {
					list = append(list, name.Name)
				}
			}
		}
		return true
	})
	return list
}
