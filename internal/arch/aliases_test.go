package arch_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// lengths are fields that a call sets by itself: numbers of arrays in lists.
var lengths = []string{"NumArgs", "NumArrays", "NumOutputs"}

// TestAliasesNameFields demands that the documentation of an alias of a struct names its fields, as
// go doc shows an alias without them.
func TestAliasesNameFields(t *testing.T) {
	files, err := read(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	structs := map[string][]string{} // folder.Name: exported fields
	var aliases []alias
	for _, f := range files {
		top, _, _ := strings.Cut(f.pkg, "/")
		if f.test || f.nested != "" || slices.Contains([]string{"internal", "cmd", "examples"}, top) {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), f.path, f.text,
			parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		aliases = append(aliases, collect(f, file, structs)...)
	}
	checked := 0
	for _, a := range aliases {
		for _, field := range structs[a.target] {
			checked++
			if !regexp.MustCompile(`\b`+field+`\b`).MatchString(a.doc) &&
				!slices.Contains(lengths, field) {
				t.Errorf("%s: the documentation of %s, an alias of %s, does not name the field %s",
					a.file, a.name, a.target, field)
			}
		}
	}
	if checked < 300 {
		t.Errorf("%d fields checked, want more", checked)
	}
}

// alias is an exported alias of a type of the module.
type alias struct{ file, name, target, doc string }

// collect adds the fields of the structs of a file, and returns its aliases.
func collect(f source, file *ast.File, structs map[string][]string) (list []alias) {
	imports := map[string]string{}
	for _, spec := range file.Imports {
		folder, ok := local(strings.Trim(spec.Path.Value, `"`))
		if name := path.Base(folder); ok {
			if spec.Name != nil {
				name = spec.Name.Name
			}
			imports[name] = folder
		}
	}
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.TYPE {
			continue
		}
		for _, s := range g.Specs {
			spec := s.(*ast.TypeSpec)
			switch t := spec.Type.(type) {
			case *ast.StructType:
				for _, field := range t.Fields.List {
					for _, n := range field.Names {
						if n.IsExported() {
							key := f.pkg + "." + spec.Name.Name
							structs[key] = append(structs[key], n.Name)
						}
					}
				}
			case *ast.SelectorExpr:
				if id, ok := t.X.(*ast.Ident); ok && spec.Assign.IsValid() &&
					spec.Name.IsExported() && imports[id.Name] != "" {
					doc := spec.Doc.Text() + spec.Comment.Text()
					if !g.Lparen.IsValid() {
						doc += g.Doc.Text()
					}
					list = append(list, alias{f.path, spec.Name.Name,
						imports[id.Name] + "." + t.Sel.Name, doc})
				}
			}
		}
	}
	return list
}
