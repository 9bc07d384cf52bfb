package arch_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	_ "gomx/ndarray" // all families of operators
	"gomx/op"
)

// opNameUsers are the files and folders outside op that may name operators as text, with the
// reason. All others use the handles of package op's families, or facts of an operator's Spec.
var opNameUsers = map[string]string{
	"interop":                  "tables between foreign operators and ours",
	"internal/conformance":     "MXNet's golden cases are named by operator",
	"internal/bench/oplist.go": "cases that peers in other languages run, too",
	"gluon/names.go":           "MXNet's Python operators give nodes the names of aliases",
	"internal/optest/fuzzrun.go": "a package that the families' tests import cannot import " +
		"families",
	"symbol/legacy.go":  "attributes of operators in files of old versions of MXNet",
	"ndarray/method.go": "errors name the method, which is called like the operator",
	"ndarray/view.go":   "errors name the method, which is called like the operator",
}

// opNames are the names and aliases of all operators.
var opNames = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{}
	for _, o := range op.All() {
		for _, name := range append([]string{o.Name}, o.Aliases...) {
			names[name] = true
		}
	}
	return names
})

// namesAsText looks for names of operators in string literals outside op. Names that are ordinary
// words, such as dot, count only where they are compared with the name of an operator or looked up.
func namesAsText(files []source) (faults []string) {
	for _, f := range files {
		if f.test || f.nested != "" || within(f.pkg, "op") || ast.IsGenerated(f.file) ||
			namesOperators(f) {
			continue
		}
		file, err := f.body()
		if err != nil {
			faults = append(faults, err.Error())
			continue
		}
		for _, name := range namedOperators(file) {
			faults = append(faults, fmt.Sprintf(
				"%s names the operator %s as text: use its handle or a fact of its Spec",
				f.path, name))
		}
	}
	return faults
}

// namesOperators reports whether a file is on the list.
func namesOperators(f source) bool {
	for user := range opNameUsers {
		if f.path == user || within(f.pkg, user) {
			return true
		}
	}
	return false
}

// namedOperators returns the operators that string literals of a file name.
func namedOperators(file *ast.File) (names []string) {
	// literals that name operators even where they are ordinary words
	words := map[*ast.BasicLit]bool{}
	parts := map[*ast.BasicLit]bool{} // literals that are parts of other names
	mark := func(set map[*ast.BasicLit]bool, list ...ast.Expr) {
		for _, e := range list {
			if lit, ok := e.(*ast.BasicLit); ok {
				set[lit] = true
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			switch {
			case n.Op == token.ADD:
				mark(parts, n.X, n.Y)
			case isOpName(n.X) || isOpName(n.Y):
				mark(words, n.X, n.Y)
			}
		case *ast.SwitchStmt:
			if isOpName(n.Tag) {
				for _, clause := range n.Body.List {
					mark(words, clause.(*ast.CaseClause).List...)
				}
			}
		case *ast.CallExpr:
			switch text := calledAs(n); text {
			case "op.Lookup", "op.Find":
				mark(words, n.Args...)
			case "op.Declare":
				mark(parts, n.Args...)
			}
		case *ast.BasicLit:
			names = append(names, namesIn(n, words[n], parts[n])...)
		}
		return true
	})
	return names
}

// isOpName reports whether an expression is the name of an operator: x.Op.Name, o.Name or opName.
func isOpName(e ast.Expr) bool {
	if id, ok := e.(*ast.Ident); ok {
		return id.Name == "opName"
	}
	sel, ok := e.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "Name" {
		return false
	}
	switch x := sel.X.(type) {
	case *ast.SelectorExpr:
		return strings.EqualFold(x.Sel.Name, "op")
	case *ast.Ident:
		return x.Name == "o" || x.Name == "op"
	}
	return false
}

// calledAs returns package.Function of a call, without type arguments.
func calledAs(call *ast.CallExpr) string {
	f := call.Fun
	if ix, ok := f.(*ast.IndexExpr); ok {
		f = ix.X
	}
	if sel, ok := f.(*ast.SelectorExpr); ok {
		if x, ok := sel.X.(*ast.Ident); ok {
			return x.Name + "." + sel.Sel.Name
		}
	}
	return ""
}

// listWords is how many words a text has at least that counts as a list of operators.
const listWords = 6

// namesIn returns the operators that a literal names: by itself, or as a list of which most words
// are names.
func namesIn(lit *ast.BasicLit, word, part bool) []string {
	if lit.Kind != token.STRING {
		return nil
	}
	text, err := strconv.Unquote(lit.Value)
	if err != nil {
		return nil
	}
	known := opNames()
	if known[text] && !part && (word || strings.ToLower(text) != text ||
		strings.Contains(text, "_")) {
		return []string{text}
	}
	fields := strings.Fields(text)
	named := slices.DeleteFunc(slices.Clone(fields), func(w string) bool { return !known[w] })
	if len(fields) >= listWords && 2*len(named) > len(fields) {
		return named[:1]
	}
	return nil
}

// TestOpNameUsersAreNeeded keeps the list of exceptions short.
func TestOpNameUsersAreNeeded(t *testing.T) {
	files, err := read(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	for user := range opNameUsers {
		needed := slices.ContainsFunc(files, func(f source) bool {
			if f.test || f.path != user && !within(f.pkg, user) {
				return false
			}
			file, err := f.body()
			return err == nil && len(namedOperators(file)) > 0
		})
		if !needed {
			t.Errorf("%s names no operator: strike it off the list", user)
		}
	}
}
