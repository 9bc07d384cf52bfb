package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"gomx/op"
)

// kernelTable says per operator for which columns of docs/ops.md a kernel exists.
type kernelTable map[string]map[string]bool

// columns are the kinds of kernels in docs/ops.md, as the arguments of Handle.Kernel spell them.
// The reference kernel needs no column: every operator has one.
var columns = []struct{ kind, tier, Title string }{
	{"KindCPU", "TierGo", "cpu, go"},
	{"KindCPU", "TierC", "cpu, c"},
	{"KindCUDA", "", "cuda"},
}

// findKernels reads from the sources which operators have which kernels, whatever the build tags
// of the files are: the documentation is the same in every build. It follows handles through
// composite literals and loops by assuming that a file attaches its kernels to every handle that it
// mentions in the function with the call.
func findKernels(dir string) (kernelTable, error) {
	var files []*ast.File
	pkgOf := map[*ast.File]string{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.SkipObjectResolution)
		if err == nil {
			files = append(files, f)
			pkgOf[f] = path.Base(filepath.ToSlash(filepath.Dir(p)))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	handles := map[string]string{}
	for _, f := range files {
		findHandles(f, pkgOf[f], handles)
	}
	table := kernelTable{}
	for _, f := range files {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
				table.find(fn, pkgOf[f], handles)
			}
		}
	}
	return table, nil
}

// findHandles notes the package variables that are declared operators: "nn.Dropout" → "Dropout".
func findHandles(f *ast.File, pkg string, handles map[string]string) {
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Names) != len(spec.Values) {
			return true
		}
		for i, v := range spec.Values {
			call, ok := v.(*ast.CallExpr)
			if !ok || len(call.Args) != 1 || !strings.Contains(exprText(call.Fun), "op.Declare") {
				continue
			}
			if lit, ok := call.Args[0].(*ast.BasicLit); ok {
				name, _ := strconv.Unquote(lit.Value)
				handles[pkg+"."+spec.Names[i].Name] = name
			}
		}
		return true
	})
}

// find notes the kernels that fn attaches.
func (t kernelTable) find(fn *ast.FuncDecl, pkg string, handles map[string]string) {
	var used []string
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			if name, ok := handles[pkg+"."+id.Name]; ok {
				used = append(used, name)
			}
		}
		return true
	})
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) != 3 {
			return true
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || sel.Sel.Name != "Kernel" {
			return true
		}
		names := used
		if id, ok := sel.X.(*ast.Ident); ok {
			if name, ok := handles[pkg+"."+id.Name]; ok {
				names = []string{name}
			}
		}
		t.add(names, exprText(call.Args[0]), exprText(call.Args[1]))
		return true
	})
}

func (t kernelTable) add(names []string, kind, tier string) {
	for _, c := range columns {
		if !strings.HasSuffix(kind, c.kind) || !strings.HasSuffix(tier, c.tier) {
			continue
		}
		for _, n := range names {
			if t[n] == nil {
				t[n] = map[string]bool{}
			}
			t[n][c.Title] = true
		}
	}
}

// exprText spells the selectors and identifiers of an expression.
func exprText(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return exprText(e.X) + "." + e.Sel.Name
	case *ast.IndexExpr:
		return exprText(e.X)
	}
	return ""
}

// document is what docs/ops.md shows.
type document struct {
	Columns []string
	Rows    []row
}

// row is one operator.
type row struct {
	Function        function
	Name, Inputs    string
	Outputs, Marks  string
	Kernels         []string
	Summary, Detail string
	Params          []op.ParamSpec
}

// documented lists all visible operators.
func documented(m *model, kernels kernelTable) *document {
	d := &document{}
	for _, c := range columns {
		d.Columns = append(d.Columns, c.Title)
	}
	for _, f := range m.Functions {
		r := row{Function: f, Name: f.Op.Name, Params: f.Op.Params()}
		r.Summary, r.Detail, _ = strings.Cut(strings.TrimSpace(f.Op.Doc), "\n")
		r.Detail = strings.TrimSpace(r.Detail)
		for _, c := range d.Columns {
			mark := ""
			if kernels[f.Op.Name][c] {
				mark = "✓"
			}
			r.Kernels = append(r.Kernels, mark)
		}
		var names []string
		for _, in := range f.Inputs {
			names = append(names, in.Name)
		}
		if r.Inputs = strings.Join(names, ", "); f.Op.Variadic {
			r.Inputs = "any number"
		}
		r.Outputs = strings.Join(f.Op.Outputs(variants(f.Op)[0]), ", ")
		r.Marks = gradientMark(f.Op)
		d.Rows = append(d.Rows, r)
	}
	return d
}

// gradientMark says whether an operator is differentiable, or why not.
func gradientMark(o *op.Op) string {
	if o.HasGrad() {
		return "✓"
	}
	return fmt.Sprintf("no: %s", o.NoGrad)
}
