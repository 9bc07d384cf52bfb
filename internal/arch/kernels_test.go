package arch_test

import (
	"fmt"
	"go/ast"
	"path"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
)

// kernelFile matches the name of a file that attaches kernels: the stem of the file that defines
// their operators, and the tier or device.
var kernelFile = regexp.MustCompile(`^op/\w+/(\w+)_(?:cpu|go|cuda)\.go$`)

// kernelsWithOperators demands that <stem>_cpu.go, _go.go and _cuda.go attach kernels only of the
// operators that <stem>.go declares. Code that several stems share stands in files that attach
// none.
func kernelsWithOperators(files []source) (faults []string) {
	stems := map[string]string{} // of operators, by "op/family.Handle"
	bodies := map[string]*ast.File{}
	for _, f := range files {
		if f.test || !within(f.pkg, "op") {
			continue
		}
		file, err := f.body()
		if err != nil {
			faults = append(faults, err.Error())
			continue
		}
		bodies[f.path] = file
		for _, handle := range declaredHandles(file) {
			stems[f.pkg+"."+handle] = strings.TrimSuffix(path.Base(f.path), ".go")
		}
	}
	for _, f := range files {
		m := kernelFile.FindStringSubmatch(f.path)
		if m == nil || bodies[f.path] == nil {
			continue
		}
		for _, name := range attachedIn(bodies[f.path]) {
			if stem := stems[f.pkg+"."+name]; stem != "" && stem != m[1] {
				faults = append(faults, fmt.Sprintf(
					"%s attaches a kernel of %s: move it to a file of the stem %s",
					f.path, name, stem))
			}
		}
	}
	return faults
}

// declaredHandles returns the variables that hold declared operators.
func declaredHandles(file *ast.File) (names []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Names) == len(spec.Values) {
			for i, v := range spec.Values {
				if call, ok := v.(*ast.CallExpr); ok && calledAs(call) == "op.Declare" {
					names = append(names, spec.Names[i].Name)
				}
			}
		}
		return true
	})
	return names
}

// attachedIn returns the identifiers that init functions mention, and the first arguments of calls
// to package attach in other functions.
func attachedIn(file *ast.File) (names []string) {
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}
		var visit func(n ast.Node) bool
		visit = func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				ast.Inspect(n.X, visit)
				return false
			case *ast.CallExpr:
				if strings.HasPrefix(calledAs(n), "attach.") && len(n.Args) > 0 {
					if id, ok := n.Args[0].(*ast.Ident); ok {
						names = append(names, id.Name)
					}
				}
			case *ast.CompositeLit: // fields of structs may be called like operators
				if _, isMap := n.Type.(*ast.MapType); !isMap {
					for _, e := range n.Elts {
						if kv, ok := e.(*ast.KeyValueExpr); ok {
							e = kv.Value
						}
						ast.Inspect(e, visit)
					}
					return false
				}
			case *ast.Ident:
				if f.Name.Name == "init" && f.Recv == nil {
					names = append(names, n.Name)
				}
			}
			return true
		}
		ast.Inspect(f.Body, visit)
	}
	return names
}

// TestKernelRuleBites attaches kernels in right and in wrong files of a tree made for it.
func TestKernelRuleBites(t *testing.T) {
	tests := []struct {
		file, text string
		want       string // part of the fault, "" when the file is fine
	}{
		{"fc_cpu.go", "func init() { attach.TierC(FC, f) }", ""},
		{"fc_cuda.go", "func init() { FC.Kernel(kind, tier, f) }", ""},
		{"fc_go.go", "func shared(p P) { attach.Float32(p); attach.TierC(h, f) }", ""},
		{"conv_cpu.go", "func init() { attach.TierC(FC, f) }",
			"op/nn/conv_cpu.go attaches a kernel of FC: move it to a file of the stem fc"},
		{"conv_cuda.go", "func init() { for h := range map[H]int{Conv: 1, FC: 2} { " +
			"attach.CUDA(h, f) } }", "of FC"},
		{"conv_go.go", "func init() { FC.Kernel(kind, tier, f) }", "of FC"},
		{"lookup_cuda.go", "func attachAll() { attach.CUDA(FC, f) }", "of FC"},
		{"conv.go", "func init() { use(FC) }", ""},
		{"conv_test.go", "func init() { attach.TierC(FC, f) }", ""},
	}
	for _, tt := range tests {
		files, err := read(fstest.MapFS{
			"op/nn/fc.go":    {Data: []byte("package nn\nvar FC = op.Declare[P](\"fc\")\n")},
			"op/nn/convs.go": {Data: []byte("package nn\n")},
			"op/nn/conv_ref.go": {Data: []byte(
				"package nn\nvar Other = op.Declare[P](\"other\")\n")},
			"op/nn/" + tt.file:    {Data: []byte("package nn\n" + tt.text + "\n")},
			"op/other/fc_cuda.go": {Data: []byte("package other\nvar FC = 1\n")},
		})
		if err != nil {
			t.Fatal(err)
		}
		faults := strings.Join(kernelsWithOperators(files), "\n")
		if (faults == "") != (tt.want == "") || !strings.Contains(faults, tt.want) {
			t.Errorf("%s, %s: got %q, want %q", tt.file, tt.text, faults, tt.want)
		}
	}
}
