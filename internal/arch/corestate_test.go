package arch_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// corePath is the package that decides which operation waits for which other.
const corePath = "engine/core"

// coreWriters are the functions outside of the core that write fields of its records, all before
// they hand the record over: Submit follows fill, Await follows the assignment in await.
var coreWriters = map[string][]string{
	"engine.pushers.fill": {"Var", "Mode"},
	"engine.Engine.await": {"Writes"},
}

// coreRecords are the types of the core that hold the state of a schedule. A List is not among
// them: a driver may have lists of its own.
var coreRecords = []string{"Core", "Op", "Use", "Var", "Waiter", "Poison"}

// coreState finds code outside of the core that writes the state of operations, variables and
// waiters. The language keeps other packages from unexported fields; this rule keeps them from the
// exported ones, and from replacing whole records.
func coreState(files []source) (faults []string) {
	core := &packageImporter{name: module + "/" + corePath}
	for _, pkg := range []string{corePath, "engine"} {
		fset := token.NewFileSet()
		var parsed []*ast.File
		for _, f := range files {
			if f.pkg != pkg || f.test || f.nested != "" {
				continue
			}
			file, err := parser.ParseFile(fset, f.path, f.text, parser.SkipObjectResolution)
			if err != nil {
				return []string{err.Error()}
			}
			parsed = append(parsed, file)
		}
		info := &types.Info{Defs: map[*ast.Ident]types.Object{},
			Selections: map[*ast.SelectorExpr]*types.Selection{},
			Types:      map[ast.Expr]types.TypeAndValue{}}
		cfg := types.Config{Importer: core, Error: func(error) {}}
		checked, _ := cfg.Check(module+"/"+pkg, fset, parsed, info) // imports are empty packages
		if pkg == corePath {
			core.pkg = checked
			continue
		}
		for _, file := range parsed {
			faults = append(faults, coreWrites(pkg, fset, file, info)...)
		}
	}
	return faults
}

// coreWrites lists the forbidden writes of one file.
func coreWrites(pkg string, fset *token.FileSet, file *ast.File,
	info *types.Info) (faults []string) {
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil || info.Defs[f.Name] == nil {
			continue
		}
		name := qualified(pkg, info.Defs[f.Name])
		report := func(e ast.Expr) {
			if what := coreTarget(e, info); what != "" &&
				!slices.Contains(coreWriters[name], what) {
				faults = append(faults, fmt.Sprintf("%v: %s writes %s of %s",
					fset.Position(e.Pos()), name, what, corePath))
			}
		}
		ast.Inspect(f.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for _, e := range n.Lhs {
					if n.Tok != token.DEFINE {
						report(e)
					}
				}
			case *ast.IncDecStmt:
				report(n.X)
			case *ast.UnaryExpr:
				if s, ok := n.X.(*ast.SelectorExpr); ok && n.Op == token.AND && coreField(s, info) {
					report(s) // an address lets others write
				}
			}
			return true
		})
	}
	return faults
}

// coreTarget names the field or the record of the core that an assignment to e writes, "" for none.
func coreTarget(e ast.Expr, info *types.Info) string {
	if s, ok := e.(*ast.SelectorExpr); ok && coreField(s, info) {
		return s.Sel.Name
	}
	if _, local := e.(*ast.Ident); local {
		return "" // a variable of the function itself
	}
	named, ok := info.Types[e].Type.(*types.Named)
	if ok && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == module+"/"+corePath &&
		slices.Contains(coreRecords, named.Obj().Name()) {
		return named.Obj().Name()
	}
	return ""
}

// coreField reports whether s selects a field that a type of the core declares.
func coreField(s *ast.SelectorExpr, info *types.Info) bool {
	selection := info.Selections[s]
	return selection != nil && selection.Kind() == types.FieldVal &&
		selection.Obj().Pkg() != nil && selection.Obj().Pkg().Path() == module+"/"+corePath
}

// packageImporter knows one package; every other one is empty.
type packageImporter struct {
	name string
	pkg  *types.Package
}

func (p *packageImporter) Import(name string) (*types.Package, error) {
	if name == "unsafe" {
		return types.Unsafe, nil
	}
	if name == p.name && p.pkg != nil {
		return p.pkg, nil
	}
	empty := types.NewPackage(name, path.Base(name))
	empty.MarkComplete()
	return empty, nil
}

func TestCoreStateBites(t *testing.T) {
	const declares = "package core\ntype Var struct{ Taken int; n int }\n" +
		"type Use struct { Var *Var; Mode int }\ntype List struct { N int }\n"
	const head = "package engine\nimport \"gomx/engine/core\"\ntype pushers struct{ u " +
		"[]core.Use }\n" +
		"type Var struct { q core.Var; list core.List }\n"
	tests := []struct{ name, code, want string }{
		{"fill", "func (p *pushers) fill(v *Var) { a := &p.u[0]; a.Var, a.Mode = &v.q, 1 }", ""},
		{"another function", "func (p *pushers) send(v *Var) { a := &p.u[0]; a.Mode = 1 }",
			"engine.pushers.send writes Mode"},
		{"a count", "func f(v *Var) { v.q.Taken++ }", "engine.f writes Taken"},
		{"an address", "func f(v *Var) *int { return &v.q.Taken }", "engine.f writes Taken"},
		{"a record", "func f(v *Var) { v.q = core.Var{} }", "engine.f writes Var"},
		{"through a pointer", "func f(v *core.Var) { *v = core.Var{} }", "engine.f writes Var"},
		{"a list of its own", "func f(v *Var) { v.list = core.List{} }", ""},
		{"a new record", "func f() { u := core.Use{Mode: 1}; _ = u }", ""},
		{"reading", "func f(v *Var) bool { return v.q.Taken == 0 }", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			files, err := read(fstest.MapFS{"engine/core/core.go": {Data: []byte(declares)},
				"engine/a.go": {Data: []byte(head + tt.code + "\n")}})
			if err != nil {
				t.Fatal(err)
			}
			faults := coreState(files)
			if (len(faults) == 0) != (tt.want == "") {
				t.Fatalf("got %q, want %q", faults, tt.want)
			}
			if tt.want != "" && (len(faults) != 1 || !strings.Contains(faults[0], tt.want)) {
				t.Errorf("got %q, want %q", faults, tt.want)
			}
		})
	}
}
