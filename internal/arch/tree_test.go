package arch_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

const module = "gomx"

// source is one Go file.
type source struct {
	path    string // from the module's root
	pkg     string // its folder, "." for the root
	nested  string // the folder of the nested module it belongs to, or ""
	test    bool
	lines   int
	text    []byte
	file    *ast.File // imports and comments only
	imports []string
}

// read parses the import clauses of all Go files of a tree.
func read(tree fs.FS) ([]source, error) {
	var out []source
	nested := ""
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := path.Base(name)
		if entry.IsDir() {
			if name != "." && (strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") ||
				base == "testdata" || base == "vendor") {
				return fs.SkipDir
			}
			if !strings.HasPrefix(name+"/", nested+"/") {
				nested = ""
			}
			if _, err := fs.Stat(tree, path.Join(name, "go.mod")); err == nil && name != "." {
				nested = name
			}
			return nil
		}
		if path.Ext(base) != ".go" {
			return nil
		}
		src, err := parse(tree, name)
		if err != nil {
			return err
		}
		if nested != "" && strings.HasPrefix(name, nested+"/") {
			src.nested = nested
		}
		out = append(out, src)
		return nil
	})
	return out, err
}

// parse reads one file up to the end of its imports.
func parse(tree fs.FS, name string) (source, error) {
	text, err := fs.ReadFile(tree, name)
	if err != nil {
		return source{}, err
	}
	file, err := parser.ParseFile(token.NewFileSet(), name, text,
		parser.ImportsOnly|parser.ParseComments)
	if err != nil {
		return source{}, err
	}
	src := source{path: name, pkg: path.Dir(name), test: strings.HasSuffix(name, "_test.go"),
		lines: bytes.Count(text, []byte("\n")), text: text, file: file}
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return source{}, fmt.Errorf("%s: %w", name, err)
		}
		src.imports = append(src.imports, imported)
	}
	return src, nil
}

// body parses a whole file.
func (s source) body() (*ast.File, error) {
	return parser.ParseFile(token.NewFileSet(), s.path, s.text, parser.SkipObjectResolution)
}

// local returns the folder of an import of this module.
func local(imported string) (string, bool) {
	if imported == module {
		return ".", true
	}
	return strings.CutPrefix(imported, module+"/")
}
