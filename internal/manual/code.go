package manual

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// preferred are the packages of the module behind names that several packages have, unless a
// preamble says otherwise.
var preferred = map[string]string{
	"io": "io", "image": "io/image", "data": "gluon/data", "rnn": "rnn", "onnx": "interop/onnx",
	"export": "interop/onnx/export", "nn": "gluon/nn", "loss": "gluon/loss",
}

// standard are the packages of the standard library that blocks use.
var standard = []string{"bufio", "bytes", "context", "encoding/json", "errors", "flag", "fmt",
	"log", "maps", "math", "math/rand/v2", "net", "net/http", "os", "os/signal", "path/filepath", "slices",
	"strconv", "strings", "sync", "testing", "time"}

// isProgram reports whether a block is a whole program.
func (b Block) isProgram() bool { return strings.HasPrefix(b.Text, "package main\n") }

// function is the beginning of the function that holds the statements of a page. Statements that
// return two values give it two results.
var function = map[bool]string{
	false: "func Page(ctx context.Context) error {\nvar err error\n",
	true:  "func Page(ctx context.Context) (any, error) {\nvar err error\n",
}

// pair is a return with two results.
var pair = regexp.MustCompile(`(?m)^\s*return nil, err$`)

// Code returns the Go package of the blocks of a page that are no programs, nil if it has none.
func (p Page) Code(x *Index) ([]byte, error) {
	var top, body bytes.Buffer
	depth, two := 0, false
	if p.Preamble != "" {
		fmt.Fprintf(&top, "//line %s:%d\n%s\n", p.Path, p.PreLine, p.Preamble)
	}
	for _, b := range p.Blocks {
		if b.Lang != "go" || b.isProgram() {
			continue
		}
		where := fmt.Sprintf("//line %s:%d\n", p.Path, b.Line)
		if _, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+b.Text,
			parser.SkipObjectResolution); err == nil {
			top.WriteString(where + b.Text + "\n")
			continue
		}
		set := token.NewFileSet()
		text := "package p; func _() {\n" + where + b.Text + "\n}\n"
		if _, err := parser.ParseFile(set, "", text, parser.SkipObjectResolution); err != nil {
			return nil, fmt.Errorf("the block is neither declarations nor statements: %w", err)
		}
		two = two || pair.MatchString(b.Text)
		fmt.Fprintf(&body, "fmt.Println(\"\\x01%d\")\n{\n%s%s\n", b.Line, where, b.Text)
		depth++
	}
	if top.Len()+body.Len() == 0 {
		return nil, nil
	}
	body.WriteString(strings.Repeat("}\n", depth) + "return ")
	if two {
		body.WriteString("nil, ")
	}
	text := top.String() + function[two] + body.String() + "err\n}\n"
	return complete(p.Path, text, x)
}

// complete adds the package clause, the imports, and a use of every variable.
func complete(name, text string, x *Index) ([]byte, error) {
	text = "package page\n" + text
	file, err := parser.ParseFile(token.NewFileSet(), name, text, 0)
	if err != nil {
		return nil, err
	}
	imports := map[string]string{}
	taken := map[string]bool{}
	for _, spec := range file.Imports {
		p := strings.Trim(spec.Path.Value, `"`)
		taken[path.Base(p)] = true
		if spec.Name != nil {
			taken[spec.Name.Name] = true
		}
	}
	free := map[string]bool{}
	for _, id := range file.Unresolved {
		free[id.Name] = !taken[id.Name]
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := sel.X.(*ast.Ident); ok && free[id.Name] {
				if p := x.importOf(id.Name); p != "" {
					imports[id.Name] = p
				}
			}
		}
		return true
	})
	var head bytes.Buffer
	head.WriteString("package page\n")
	for _, n := range slices.Sorted(maps.Keys(imports)) {
		fmt.Fprintf(&head, "import %s %q\n", n, imports[n])
	}
	return append(head.Bytes(), useAll(file, text)[len("package page\n"):]...), nil
}

// importOf returns the import path behind the name of a package.
func (x *Index) importOf(name string) string {
	if p := preferred[name]; p != "" {
		return x.module + "/" + p
	}
	if list := x.paths[name]; len(list) > 0 {
		return list[0]
	}
	for _, p := range standard {
		if path.Base(strings.TrimSuffix(p, "/v2")) == name {
			return p
		}
	}
	return ""
}

// useAll inserts an assignment to _ behind every declaration of variables, so that a block may
// leave variables unused.
func useAll(file *ast.File, text string) []byte {
	at := map[int]string{}
	use := func(pos token.Pos, list []ast.Expr, before, after string) {
		for _, e := range list {
			if id, ok := e.(*ast.Ident); ok && id.Name != "_" {
				at[int(pos)-int(file.FileStart)] += before + "_ = " + id.Name + after
			}
		}
	}
	statements := func(list []ast.Stmt) {
		for _, s := range list {
			switch s := s.(type) {
			case *ast.AssignStmt:
				if s.Tok == token.DEFINE {
					use(s.End(), s.Lhs, "; ", "")
				}
			case *ast.DeclStmt:
				for _, spec := range s.Decl.(*ast.GenDecl).Specs {
					if v, ok := spec.(*ast.ValueSpec); ok {
						for _, n := range v.Names {
							use(s.End(), []ast.Expr{n}, "; ", "")
						}
					}
				}
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt:
			statements(n.List)
		case *ast.CaseClause:
			statements(n.Body)
		case *ast.CommClause:
			statements(n.Body)
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				use(n.Body.Lbrace+1, []ast.Expr{n.Key, n.Value}, " ", "; ")
			}
		}
		return true
	})
	var out bytes.Buffer
	for i := range len(text) {
		out.WriteString(at[i])
		out.WriteByte(text[i])
	}
	return out.Bytes()
}
