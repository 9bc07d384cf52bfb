package arch_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strings"
)

// A rule looks at all files and says what is wrong, one line per fault.
type rule struct {
	name  string
	check func(files []source) []string
}

var rules = []rule{
	{"imports point down", importsPointDown},
	{"C, ZeroMQ, CUDA, gorgonia and the clients of monitors stay in their corners", foreignCorners},
	{"the environment is read in cmd and launch", environmentReaders},
	{"no file is longer than 800 lines", fileLengths},
	{"generated files say so", generatedHeaders},
	{"every package introduces itself in doc.go", packageDocs},
	{"pure cores are pure", pureCores},
	{"the state of the scheduling core is written in the core", coreState},
	{"compiling knows no engine and no driver", compileImports},
	{"operators are named as text in op only", namesAsText},
	{"kernels stand with their operators", kernelsWithOperators},
}

// importsPointDown checks the layer list for everything but tests.
func importsPointDown(files []source) (faults []string) {
	o := parseLayers(layers)
	for _, f := range files {
		if f.test || f.nested != "" {
			continue
		}
		if o.of(f.pkg) == 0 {
			faults = append(faults, fmt.Sprintf("%s: package %s is not in the layer list", f.path,
				f.pkg))
			continue
		}
		for _, imported := range f.imports {
			if to, ok := local(imported); ok && to != f.pkg {
				if why := o.forbidden(f.pkg, to); why != "" {
					faults = append(faults, fmt.Sprintf("%s imports %s: %s", f.path, imported, why))
				}
			}
		}
	}
	return faults
}

// compileImports keeps package compile from everything that runs: it describes devices and never
// drives them. Layers forbid the packages above it.
func compileImports(files []source) (faults []string) {
	for _, f := range files {
		if f.test || f.pkg != "compile" {
			continue
		}
		for _, imported := range f.imports {
			to, ok := local(imported)
			if ok && (within(to, "engine") || strings.HasPrefix(to, "device/")) {
				faults = append(faults, fmt.Sprintf("%s imports %s, but compiling is pure", f.path,
					imported))
			}
		}
	}
	return faults
}

// corner confines imports with a prefix to folders.
type corner struct {
	prefix  string
	folders []string
}

// corners are looked up from the top: the first prefix that matches counts.
var corners = []corner{
	{"C", []string{"device/cpu", "device/cuda", "kvstore/transport/zmq", "io/image"}},
	{"go.etcd.io", []string{"kvstore/view/etcd"}},
	{"google.golang.org/grpc", []string{"kvstore/view/etcd"}},
	{"github.com/zeromq/goczmq", []string{"kvstore/transport/zmq"}},
	{"github.com/prometheus", []string{"monitor"}},
	{"go.opentelemetry.io", []string{"monitor"}},
	{"gorgonia.org/cu", []string{"device/cuda"}},
	{"gorgonia.org", []string{"interop"}},
}

// foreignCorners keeps what is hard to build and hard to replace in few places.
func foreignCorners(files []source) (faults []string) {
	for _, f := range files {
		for _, imported := range f.imports {
			i := slices.IndexFunc(corners, func(c corner) bool {
				return within(imported, c.prefix)
			})
			if i < 0 {
				continue
			}
			// The bridge to gorgonia is itself a user of all its parts.
			allowed := slices.ContainsFunc(corners[i].folders,
				func(dir string) bool { return within(f.pkg, dir) }) ||
				corners[i].prefix != "C" && within(imported, "gorgonia.org") &&
					within(f.pkg, "interop")
			if !allowed {
				faults = append(faults, fmt.Sprintf("%s imports %q, which is allowed in %s only",
					f.path, imported, strings.Join(corners[i].folders, ", ")))
			}
		}
	}
	return faults
}

// within says whether a slash-separated name is a prefix or below it.
func within(name, prefix string) bool {
	return name == prefix || strings.HasPrefix(name, prefix+"/")
}

// environmentReaders looks for calls that read the environment. Configuration
// is a struct; only programs translate variables into it.
func environmentReaders(files []source) (faults []string) {
	for _, f := range files {
		if f.test || f.nested != "" || within(f.pkg, "cmd") || within(f.pkg, "launch") ||
			!bytes.Contains(f.text, []byte("nv")) {
			continue
		}
		for _, call := range []string{"os.Getenv", "os.LookupEnv", "os.Environ", "os.ExpandEnv",
			"syscall.Getenv", "syscall.Environ"} {
			if !bytes.Contains(f.text, []byte(call)) {
				continue
			}
			if uses, err := f.selects(call); err != nil {
				faults = append(faults, err.Error())
			} else if uses {
				faults = append(faults, fmt.Sprintf(
					"%s uses %s, which is allowed in cmd and launch only", f.path, call))
			}
		}
	}
	return faults
}

// selects says whether code, not a comment or string, contains package.Name.
func (s source) selects(qualified string) (found bool, err error) {
	file, err := s.body()
	if err != nil {
		return false, err
	}
	pkg, name, _ := strings.Cut(qualified, ".")
	ast.Inspect(file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == name {
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == pkg {
				found = true
			}
		}
		return !found
	})
	return found, nil
}

// maxLines is the longest a hand-written file may be.
const maxLines = 800

func fileLengths(files []source) (faults []string) {
	for _, f := range files {
		if f.lines > maxLines && !strings.HasSuffix(f.path, "_gen.go") {
			faults = append(faults, fmt.Sprintf("%s has %d lines, want at most %d", f.path, f.lines,
				maxLines))
		}
	}
	return faults
}

// generatedHeaders ties the name to the marker: reviewers and linters skip
// generated files, so a file must not pass for one by its name alone.
func generatedHeaders(files []source) (faults []string) {
	for _, f := range files {
		if named, marked := strings.HasSuffix(f.path, "_gen.go"),
			ast.IsGenerated(f.file); named != marked {
			faults = append(faults, fmt.Sprintf("%s: the name says generated=%v, the comment %v",
				f.path, named, marked))
		}
	}
	return faults
}

// packageDocs wants a doc.go with the package's documentation. The folder of a
// program may have it in any one file.
func packageDocs(files []source) (faults []string) {
	documented, seen := map[string]bool{}, map[string]bool{}
	for _, f := range files {
		if f.test {
			continue
		}
		seen[f.pkg] = true
		program := f.file.Name.Name == "main"
		if f.file.Doc != nil && (program || path.Base(f.path) == "doc.go") {
			documented[f.pkg] = true
		}
	}
	for pkg := range seen {
		if !documented[pkg] {
			faults = append(faults, fmt.Sprintf("%s has no doc.go with a package comment", pkg))
		}
	}
	slices.Sort(faults)
	return faults
}
