package main

import (
	"bytes"
	"embed"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
)

//go:embed *.tmpl families.go ctypes.txt
var sources embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"lowerAll": strings.ToLower,
}).ParseFS(sources, "*.tmpl"))

// Generate returns the contents of the generated files by their paths below root. It leaves out a
// package whose doc.go does not exist yet.
func Generate(root string) (map[string][]byte, error) {
	m, err := newModel()
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, pkg := range []string{"ndarray", "symbol"} {
		dir := filepath.Join(root, pkg)
		if _, err := os.Stat(filepath.Join(dir, "doc.go")); err != nil {
			continue
		}
		taken, err := declared(dir)
		if err != nil {
			return nil, err
		}
		src, err := render(pkg+".tmpl", m.without(taken))
		if err != nil {
			return nil, err
		}
		if src, err = format.Source(src); err != nil {
			return nil, fmt.Errorf("%s: %w", pkg, err)
		}
		files[pkg+"/op_gen.go"] = src
	}
	kernels, err := findKernels(filepath.Join(root, "op"))
	if err != nil {
		return nil, err
	}
	types, err := probeAll()
	if err != nil {
		return nil, err
	}
	files["internal/opgen/ctypes.txt"] = formatCTypes(types)
	if files["docs/ops.md"], err = render("ops.md.tmpl", documented(m, kernels,
		types)); err != nil {
		return nil, err
	}
	return files, nil
}

func render(name string, data any) ([]byte, error) {
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, name, data); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// without returns the model without the functions and aliases whose names are taken.
func (m *model) without(taken map[string]bool) *model {
	c := *m
	c.Functions = slices.DeleteFunc(slices.Clone(m.Functions),
		func(f function) bool { return taken[f.Name] })
	c.Aliases = slices.DeleteFunc(slices.Clone(m.Aliases),
		func(a alias) bool { return taken[a.Name] })
	return &c
}

// Imports lists the import clauses of the families. A family without parameter structs is imported
// only to register its operators.
func (m *model) Imports() ([]string, error) {
	src, err := sources.ReadFile("families.go")
	if err != nil {
		return nil, err
	}
	file, err := parser.ParseFile(token.NewFileSet(), "families.go", src, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	var list []string
	for _, spec := range file.Imports {
		clause := spec.Path.Value
		if !slices.ContainsFunc(m.Aliases, func(a alias) bool { return `"`+a.Path+`"` == clause }) {
			clause = "_ " + clause
		}
		list = append(list, clause)
	}
	return list, nil
}

// declared returns the names of the handwritten declarations at the top level of a package.
func declared(dir string) (map[string]bool, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, "_gen.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range file.Decls {
			addNames(d, names)
		}
	}
	return names, nil
}

func addNames(d ast.Decl, names map[string]bool) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			names[d.Name.Name] = true
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				names[s.Name.Name] = true
			case *ast.ValueSpec:
				for _, n := range s.Names {
					names[n.Name] = true
				}
			}
		}
	}
}

// The methods of function are for the templates.

// Var is the name of the package variable that holds the operator.
func (f function) Var() string { return "op" + f.Name }

// NamesVar is the name of the package variable that holds the names of the inputs.
func (f function) NamesVar() string { return "in" + f.Name }

// Creates reports whether the operator makes arrays without inputs.
func (f function) Creates() bool { return !f.Op.Variadic && len(f.Inputs) == 0 }

// Signature lists the parameters of the function, with values of type typ. With dataOnly it lists
// only the inputs that are data.
func (f function) Signature(typ string, dataOnly bool) string {
	var parts []string
	if f.Op.Variadic {
		parts = append(parts, "data []"+typ)
	} else if names := f.positional(dataOnly); len(names) > 0 {
		parts = append(parts, strings.Join(names, ", ")+" "+typ)
	}
	if f.Params != "" {
		parts = append(parts, "p "+f.Params)
	}
	return strings.Join(parts, ", ")
}

// Args lists the positional inputs as identifiers.
func (f function) Args(dataOnly bool) string {
	if f.Op.Variadic {
		return "data..."
	}
	return strings.Join(f.positional(dataOnly), ", ")
}

// positional returns the identifiers of the inputs that are parameters of the function; With sets
// the others.
func (f function) positional(dataOnly bool) (names []string) {
	for _, in := range f.Inputs {
		if !in.Optional && (in.Data || !dataOnly) {
			names = append(names, in.Go)
		}
	}
	return names
}

// Slots lists all inputs: identifiers for positional inputs, nil for the others.
func (f function) Slots() string {
	var list []string
	for _, in := range f.Inputs {
		if in.Optional {
			list = append(list, "nil")
		} else {
			list = append(list, in.Go)
		}
	}
	return strings.Join(list, ", ")
}

// HasOptional reports whether With sets some inputs.
func (f function) HasOptional() bool {
	return slices.ContainsFunc(f.Inputs, func(in input) bool { return in.Optional })
}

// OptionalNames lists MXNet's names of the inputs that With sets.
func (f function) OptionalNames() string {
	var names []string
	for _, in := range f.Inputs {
		if in.Optional {
			names = append(names, in.Name)
		}
	}
	return strings.Join(names, ", ")
}

// Value is the expression for the parameters.
func (f function) Value() string {
	switch {
	case f.Params != "":
		return "p"
	case f.Struct != "":
		return f.Struct + "{}"
	}
	return "op.NoParams{}"
}

// InputNames lists MXNet's names of the inputs as string literals.
func (f function) InputNames() string {
	var names []string
	for _, in := range f.Inputs {
		names = append(names, fmt.Sprintf("%q", in.Name))
	}
	return strings.Join(names, ", ")
}
