package manual

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// CheckCommand returns the fault of a command line of make or go, or "". It knows targets of
// the Makefile, packages of go run, build and test, and flags of programs in examples.
func CheckCommand(root string, words []string) string {
	if words[0] == "make" {
		return checkMake(root, words[1:])
	}
	if words[1] != "run" && words[1] != "build" && words[1] != "test" {
		return ""
	}
	for i, w := range words[2:] {
		if !strings.HasPrefix(w, "./") || strings.Contains(w, "...") || w == "./examples/NAME" {
			continue
		}
		if exists(root, w) {
			if words[1] == "run" && w != "./cmd/gomx" { // its own tests check its flags
				return checkFlags(filepath.Join(root, filepath.FromSlash(w)), words[i+3:])
			}
		} else if strings.HasPrefix(w, "./examples") || strings.HasPrefix(w, "./internal") {
			return w + " does not exist"
		}
	}
	return ""
}

// target is a word of a command line that names a target of make.
var target = regexp.MustCompile(`^[a-z][a-z-]*$`)

func checkMake(root string, words []string) string {
	text, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		return err.Error()
	}
	for _, w := range words {
		if !target.MatchString(w) {
			break
		}
		if !strings.Contains(string(text), "\n"+w+":") {
			return "the Makefile has no target " + w
		}
	}
	return ""
}

// checkFlags demands that the package in dir defines the flags of a command. Programs that define
// none have flags of another kind, which their own tests check.
func checkFlags(dir string, words []string) string {
	known := Flags(dir)
	if len(known) == 0 {
		return ""
	}
	for _, w := range words {
		name := strings.TrimLeft(w, "-")
		if name == w || name == "" {
			continue
		}
		name, _, _ = strings.Cut(name, "=")
		if !known[name] && name != "help" && name != "h" {
			return filepath.Base(dir) + " has no flag -" + name
		}
	}
	return ""
}

// Flags returns the names of the flags that the Go files of a folder define with package flag.
func Flags(dir string) map[string]bool {
	known := map[string]bool{}
	list, _ := filepath.Glob(filepath.Join(dir, "*.go")) // the pattern is correct
	for _, path := range list {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			continue // the compiler reports it
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			for _, arg := range call.Args[:min(2, len(call.Args))] {
				lit, ok := arg.(*ast.BasicLit)
				if sel, is := call.Fun.(*ast.SelectorExpr); ok && is && lit.Kind == token.STRING {
					if id, is := sel.X.(*ast.Ident); is && id.Name == "flag" {
						known[strings.Trim(lit.Value, `"`)] = true
						break
					}
				}
			}
			return true
		})
	}
	return known
}
