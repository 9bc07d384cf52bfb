package arch_test

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os/exec"
	"path"
	"slices"
	"strings"
	"sync"
)

// pure lists packages that decide but never act: no clock, no lock,
// no goroutine, no file, no network; a channel may be carried for the driver,
// but not used. This is what lets tests drive them through
// every order of events.
var pure = []string{"engine/core", "memplan", "kvstore/ps", "kvstore/ring", "compile",
	"pipeline/cut", "pipeline/flow"}

// impure are the packages that a pure core may not import, and whose functions
// and methods it may not call through others of its package.
var impure = []string{"time", "sync", "net", "os", "context"}

func isPure(f source) bool {
	return !f.test && f.nested == "" && slices.ContainsFunc(pure,
		func(p string) bool { return f.path == p || within(f.pkg, p) })
}

func isImpure(pkg string) bool {
	return slices.ContainsFunc(impure, func(p string) bool { return within(pkg, p) })
}

func pureCores(files []source) (faults []string) {
	for _, f := range files {
		if !isPure(f) {
			continue
		}
		for _, imported := range f.imports {
			if isImpure(imported) {
				faults = append(faults, fmt.Sprintf("%s imports %q but is a pure core", f.path,
					imported))
			}
		}
		file, err := f.body()
		if err != nil {
			faults = append(faults, err.Error())
			continue
		}
		if usesChannels(file) {
			faults = append(faults, fmt.Sprintf("%s uses goroutines or channels but is a pure core",
				f.path))
		}
	}
	return append(faults, pureCalls(files)...)
}

// usesChannels reports whether code starts a goroutine, sends, receives or selects.
func usesChannels(code ast.Node) (acts bool) {
	ast.Inspect(code, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt, *ast.SelectStmt, *ast.SendStmt:
			acts = true
		case *ast.UnaryExpr:
			acts = acts || n.Op == token.ARROW
		}
		return !acts
	})
	return acts
}

// pureCalls looks at types, so that it sees methods of fields such as atomics, and
// what a pure core calls in other files of its package.
func pureCalls(files []source) (faults []string) {
	packages := map[string][]source{}
	for _, f := range files {
		if isPure(f) && packages[f.pkg] == nil {
			packages[f.pkg] = slices.DeleteFunc(slices.Clone(files),
				func(g source) bool { return g.pkg != f.pkg || g.test || g.nested != "" })
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(packages)) {
		faults = append(faults, checkCalls(pkg, packages[pkg])...)
	}
	return faults
}

// function is what is known of a function of a package.
type function struct {
	file  source
	acts  string         // why it acts itself, or ""
	calls []types.Object // functions of the package that it mentions
}

// checkCalls type-checks a package and reports functions of its pure files that act, themselves or
// through others.
func checkCalls(pkg string, files []source) (faults []string) {
	functions, err := inspectPackage(pkg, files)
	if err != nil {
		return []string{err.Error()}
	}
	var why func(o types.Object, seen map[types.Object]bool) string
	why = func(o types.Object, seen map[types.Object]bool) string {
		f := functions[o]
		if f == nil || seen[o] {
			return ""
		}
		seen[o] = true
		if f.acts != "" {
			return f.acts
		}
		for _, callee := range f.calls {
			if reason := why(callee, seen); reason != "" {
				return qualified(pkg, callee) + ", which " + strings.TrimPrefix(reason, "calls ")
			}
		}
		return ""
	}
	for o, f := range functions {
		if !isPure(f.file) {
			continue
		}
		if reason := why(o, map[types.Object]bool{}); reason != "" {
			faults = append(faults, fmt.Sprintf("%s: %s acts but is of a pure core: %s",
				f.file.path, qualified(pkg, o), reason))
		}
	}
	slices.Sort(faults)
	return faults
}

// qualified names a function with its package and receiver: engine.Var.quiet.
func qualified(pkg string, o types.Object) string {
	name := o.Name()
	if sig, ok := o.Type().(*types.Signature); ok && sig.Recv() != nil {
		t := sig.Recv().Type()
		if p, ok := t.(*types.Pointer); ok {
			t = p.Elem()
		}
		if n, ok := t.(*types.Named); ok {
			name = n.Obj().Name() + "." + name
		}
	}
	return path.Base(pkg) + "." + name
}

// inspectPackage finds the functions of a package. Only impure packages are really imported; of
// others nothing needs to be known, so errors of types are passed over.
func inspectPackage(pkg string, files []source) (map[types.Object]*function, error) {
	fset := token.NewFileSet()
	var parsed []*ast.File
	for _, f := range files {
		file, err := parser.ParseFile(fset, f.path, f.text, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		parsed = append(parsed, file)
	}
	real, err := standard()
	if err != nil {
		return nil, err
	}
	info := &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
	cfg := types.Config{Importer: &lazyImporter{real}, Error: func(error) {}}
	_, _ = cfg.Check(pkg, fset, parsed, info) // what is missing is of no interest
	functions := map[types.Object]*function{}
	for i, file := range parsed {
		for _, d := range file.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && info.Defs[d.Name] != nil {
				functions[info.Defs[d.Name]] = inspectFunction(files[i], d, info)
			}
		}
	}
	return functions, nil
}

func inspectFunction(f source, d *ast.FuncDecl, info *types.Info) *function {
	out := &function{file: f}
	if d.Body == nil {
		return out
	}
	if usesChannels(d.Body) {
		out.acts = "uses goroutines or channels"
	}
	ast.Inspect(d.Body, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		o, ok := info.Uses[id].(*types.Func)
		if !ok || o.Pkg() == nil {
			return true
		}
		if isImpure(o.Pkg().Path()) {
			out.acts = "calls " + o.FullName()
		} else {
			out.calls = append(out.calls, o.Origin())
		}
		return true
	})
	return out
}

// standard returns an importer of the standard library's source. Binaries built with -trimpath do
// not know its folder and ask the go command.
var standard = sync.OnceValues(func() (types.Importer, error) {
	if build.Default.GOROOT == "" {
		out, err := exec.Command("go", "env", "GOROOT").Output()
		if err != nil {
			return nil, fmt.Errorf("go env GOROOT: %w", err)
		}
		build.Default.GOROOT = strings.TrimSpace(string(out))
	}
	return importer.ForCompiler(token.NewFileSet(), "source", nil), nil
})

// lazyImporter imports the impure packages of the standard library from their source. Others are
// empty.
type lazyImporter struct{ real types.Importer }

func (l *lazyImporter) Import(name string) (*types.Package, error) {
	if isImpure(name) && name != "net" && !strings.HasPrefix(name, "net/") {
		return l.real.Import(name)
	}
	p := types.NewPackage(name, path.Base(name))
	p.MarkComplete()
	return p, nil
}
