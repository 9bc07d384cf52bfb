package manual

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

// Index holds the exported names of the packages of the module that programs may import.
type Index struct {
	module string                     // import path of the module
	paths  map[string][]string        // import paths by the names of packages
	names  map[string]map[string]bool // Name, Type.Member by import paths
	alias  map[string]map[string]string
	embed  map[string]map[string][]string
}

// short are the names under which programs import packages with longer names.
var short = map[string]string{"ndarray": "nd", "symbol": "sym"}

// NewIndex parses the packages of the tree at root.
func NewIndex(root string) (*Index, error) {
	x := &Index{paths: map[string][]string{}, names: map[string]map[string]bool{},
		alias: map[string]map[string]string{}, embed: map[string]map[string][]string{}}
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return nil, err
	}
	x.module = modfile.ModulePath(text)
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := d.Name()
		if d.IsDir() {
			if name != root && (strings.HasPrefix(base, ".") || slices.Contains(
				[]string{"internal", "testdata", "cmd", "examples", "gorgonia"}, base)) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(base, ".go") || strings.HasSuffix(base, "_test.go") {
			return nil
		}
		rel, err := filepath.Rel(root, filepath.Dir(name))
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		x.file(path.Join(x.module, filepath.ToSlash(rel)), file)
		return nil
	})
	x.resolve()
	return x, err
}

// file adds the names of one file.
func (x *Index) file(pkg string, file *ast.File) {
	if x.names[pkg] == nil {
		x.names[pkg] = map[string]bool{}
		x.alias[pkg], x.embed[pkg] = map[string]string{}, map[string][]string{}
		name := file.Name.Name
		if s := short[strings.TrimPrefix(pkg, x.module+"/")]; s != "" {
			name = s
		}
		x.paths[name] = append(x.paths[name], pkg)
	}
	imports := map[string]string{}
	for _, spec := range file.Imports {
		p := strings.Trim(spec.Path.Value, `"`)
		name := path.Base(p)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		imports[name] = p
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil {
				name = typeName(d.Recv.List[0].Type) + "." + name
			}
			x.names[pkg][name] = true
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				x.spec(pkg, imports, spec)
			}
		}
	}
}

// spec adds the names of a declaration: constants, variables, and types with their members.
func (x *Index) spec(pkg string, imports map[string]string, spec ast.Spec) {
	switch s := spec.(type) {
	case *ast.ValueSpec:
		for _, n := range s.Names {
			x.names[pkg][n.Name] = true
		}
	case *ast.TypeSpec:
		name := s.Name.Name
		x.names[pkg][name] = true
		var fields *ast.FieldList
		switch t := s.Type.(type) {
		case *ast.StructType:
			fields = t.Fields
		case *ast.InterfaceType:
			fields = t.Methods
		default:
			if full := qualified(pkg, imports, s.Type); full != "" {
				x.alias[pkg][name] = full
			}
			return
		}
		for _, f := range fields.List {
			for _, n := range f.Names {
				x.names[pkg][name+"."+n.Name] = true
			}
			if len(f.Names) == 0 {
				x.names[pkg][name+"."+typeName(f.Type)] = true
				if full := qualified(pkg, imports, f.Type); full != "" {
					x.embed[pkg][name] = append(x.embed[pkg][name], full)
				}
			}
		}
	}
}

// typeName returns the name of a type without its package, pointer and parameters.
func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.IndexExpr:
		return typeName(e.X)
	case *ast.IndexListExpr:
		return typeName(e.X)
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// qualified returns a type as "import path|Name".
func qualified(pkg string, imports map[string]string, e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return qualified(pkg, imports, e.X)
	case *ast.IndexExpr:
		return qualified(pkg, imports, e.X)
	case *ast.SelectorExpr:
		if id, ok := e.X.(*ast.Ident); ok {
			return imports[id.Name] + "|" + e.Sel.Name
		}
	case *ast.Ident:
		return pkg + "|" + e.Name
	}
	return ""
}

// resolve gives types the members of the types that they embed or stand for.
func (x *Index) resolve() {
	for range 4 { // the longest chain of embedded types and aliases
		for pkg := range x.names {
			for name, full := range x.alias[pkg] {
				x.inherit(pkg, name, full)
			}
			for name, list := range x.embed[pkg] {
				for _, full := range list {
					x.inherit(pkg, name, full)
				}
			}
		}
	}
}

func (x *Index) inherit(pkg, name, full string) {
	from, base, _ := strings.Cut(full, "|")
	var more []string
	for n := range x.names[from] {
		if member, ok := strings.CutPrefix(n, base+"."); ok {
			more = append(more, name+"."+member)
		}
	}
	for _, n := range more {
		x.names[pkg][n] = true
	}
}

// goName is a name as programs write it: package.Name or package.Type.Member.
var goName = regexp.MustCompile(`(^|[^\w.])([a-z]\w*)\.([A-Z]\w*)((?:\.[A-Z]\w*)?)`)

// ofValue reports whether a name is a member of a type that has the name before the dot: texts
// write module.Fit and trainer.Step.
func (x *Index) ofValue(value, member string) bool {
	name := strings.ToUpper(value[:1]) + value[1:] + "." + member
	for _, names := range x.names {
		if names[name] {
			return true
		}
	}
	return false
}

// Check returns the names of a piece of code that exist, and those that do not, though a package
// of the module has the name before the dot. A name such as module.Fit, of a method of a type that
// has the name of the package, is neither.
func (x *Index) Check(code string) (good, bad []string) {
	for _, m := range goName.FindAllStringSubmatch(code, -1) {
		paths, known := x.paths[m[2]]
		if !known {
			continue
		}
		name := m[2] + "." + m[3] + m[4]
		if slices.ContainsFunc(paths, func(p string) bool { return x.names[p][m[3]+m[4]] }) {
			good = append(good, name)
		} else if m[3] != strings.ToUpper(m[3]) && !x.ofValue(m[2], m[3]) {
			bad = append(bad, name)
		}
	}
	return good, bad
}
