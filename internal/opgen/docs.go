package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"gomx/device"
	"gomx/op"
)

// kernelTable maps an operator to the columns of docs/ops.md for which it has a kernel.
type kernelTable map[string]map[string]bool

// columns are the kinds of kernels in docs/ops.md with the suffixes of the files that attach them.
// Every operator has a reference kernel.
var columns = []struct{ Suffix, Title string }{
	{"_go.go", "cpu, go"},
	{"_cpu.go", "cpu, c"},
	{"_cuda.go", "cuda"},
}

// findKernels finds the operators that have a kernel of each kind. It parses all sources regardless
// of their build tags, so that the documentation is the same in every build. Files that attach
// kernels do nothing else, so an operator has a kernel if such a file mentions it.
func findKernels(dir string) (kernelTable, error) {
	files := map[string]*ast.File{}
	handles := map[string]string{} // "nn.Dropout" → "Dropout"
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") ||
			strings.HasSuffix(path, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err == nil {
			files[path] = f
			findHandles(f, family(path), handles)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	table := kernelTable{}
	for path, f := range files {
		for _, c := range columns {
			if strings.HasSuffix(path, c.Suffix) {
				table.find(f, family(path), c.Title, handles)
			}
		}
	}
	return table, nil
}

// family is the name of the directory of a file.
func family(path string) string { return filepath.Base(filepath.Dir(path)) }

// findHandles collects the package variables that hold declared operators.
func findHandles(f *ast.File, pkg string, handles map[string]string) {
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Names) != len(spec.Values) {
			return true
		}
		for i, v := range spec.Values {
			call, ok := v.(*ast.CallExpr)
			if !ok || len(call.Args) != 1 {
				continue
			}
			fun, ok := call.Fun.(*ast.IndexExpr)
			if !ok {
				continue
			}
			sel, ok := fun.X.(*ast.SelectorExpr)
			lit, isLit := call.Args[0].(*ast.BasicLit)
			if ok && isLit && sel.Sel.Name == "Declare" {
				handles[pkg+"."+spec.Names[i].Name], _ = strconv.Unquote(lit.Value)
			}
		}
		return true
	})
}

// find collects the operators that f mentions. Names of fields and of other packages do not count.
func (t kernelTable) find(f *ast.File, pkg, title string, handles map[string]string) {
	var visit func(n ast.Node) bool
	visit = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			ast.Inspect(n.X, visit)
			return false
		case *ast.CompositeLit:
			if _, isMap := n.Type.(*ast.MapType); isMap {
				return true
			}
			for _, e := range n.Elts {
				if kv, ok := e.(*ast.KeyValueExpr); ok {
					e = kv.Value
				}
				ast.Inspect(e, visit)
			}
			return false
		case *ast.Ident:
			if name, ok := handles[pkg+"."+n.Name]; ok {
				if t[name] == nil {
					t[name] = map[string]bool{}
				}
				t[name][title] = true
			}
		}
		return true
	}
	ast.Inspect(f, visit)
}

// document is the content of docs/ops.md.
type document struct {
	Columns []string
	Rows    []row
}

// row is the row of one operator.
type row struct {
	Function        function
	Name, Inputs    string
	Outputs, Marks  string
	Kernels         []string
	Summary, Detail string
	Params          []op.ParamSpec
}

// documented lists all visible operators.
func documented(m *model, kernels kernelTable, types map[string]served) *document {
	d := &document{Columns: []string{"reference"}}
	for _, c := range columns {
		d.Columns = append(d.Columns, c.Title)
	}
	for _, f := range m.Functions {
		r := row{Function: f, Name: f.Op.Name, Params: f.Op.Params()}
		r.Summary, r.Detail, _ = strings.Cut(strings.TrimSpace(f.Op.Doc), "\n")
		r.Detail = strings.TrimSpace(r.Detail)
		r.Kernels = []string{typeNames(types[f.Op.Name][device.TierRef])}
		for i, c := range columns {
			mark := ""
			if kernels[f.Op.Name][c.Title] {
				mark = "✓"
			}
			if list := types[f.Op.Name][device.TierGo+device.Tier(i)]; i < 2 && len(list) > 0 {
				mark = typeNames(list)
			}
			r.Kernels = append(r.Kernels, mark)
		}
		var names []string
		for _, in := range f.Inputs {
			if in.Optional {
				in.Name += " (by `With`)"
			}
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

// gradientMark says whether an operator is differentiable, or gives the reason why it is not.
func gradientMark(o *op.Op) string {
	if o.HasGrad() {
		return "✓"
	}
	return fmt.Sprintf("no: %s", o.NoGrad)
}
