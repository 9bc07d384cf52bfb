package arch_test

import (
	"fmt"
	"go/ast"
	"maps"
	"path"
	"slices"
	"strings"
)

// slim lists packages whose size is bounded.
var slim = []string{"symbol", "compile", "exec"}

// The bounds of slim packages.
const (
	maxStems   = 25 // files of a package; foo.go and foo_test.go count once
	maxFields  = 15 // fields of a struct
	maxMethods = 40 // methods of a type
)

// wide are structs that may have more fields, with the reason.
var wide = map[string]string{"exec.Config": "options of users, of which each has a name of its own"}

// slimPackages counts files, fields and methods of the packages that are to stay small.
func slimPackages(files []source) (faults []string) {
	stems, methods := map[string]map[string]bool{}, map[string]int{}
	for _, f := range files {
		if f.nested != "" || !slices.Contains(slim, f.pkg) {
			continue
		}
		if stems[f.pkg] == nil {
			stems[f.pkg] = map[string]bool{}
		}
		stem := strings.TrimSuffix(path.Base(f.path), ".go")
		stems[f.pkg][strings.TrimSuffix(stem, "_test")] = true
		if f.test || ast.IsGenerated(f.file) {
			continue
		}
		body, err := f.body()
		if err != nil {
			faults = append(faults, err.Error())
			continue
		}
		faults = append(faults, countDecls(f.pkg, body, methods)...)
	}
	for pkg, set := range stems {
		if len(set) > maxStems {
			faults = append(faults, fmt.Sprintf(
				"%s has %d files, not counting tests beside their file, want at most %d", pkg,
				len(set), maxStems))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(methods)) {
		if methods[name] > maxMethods {
			faults = append(faults, fmt.Sprintf("%s has %d methods, want at most %d", name,
				methods[name], maxMethods))
		}
	}
	slices.Sort(faults)
	return faults
}

// countDecls counts the methods of a file by type, and reports structs with too many fields.
func countDecls(pkg string, file *ast.File, methods map[string]int) (faults []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Recv != nil {
				methods[pkg+"."+receiver(n.Recv.List[0].Type)]++
			}
		case *ast.TypeSpec:
			s, ok := n.Type.(*ast.StructType)
			if name := pkg + "." + n.Name.Name; ok && s.Fields.NumFields() > maxFields &&
				wide[name] == "" {
				faults = append(faults, fmt.Sprintf("%s has %d fields, want at most %d", name,
					s.Fields.NumFields(), maxFields))
			}
		}
		return true
	})
	return faults
}

// receiver names the type of a receiver.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
