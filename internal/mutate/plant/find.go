package plant

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
)

// finder collects the sites of one file.
type finder struct {
	name  string
	text  []byte
	fset  *token.FileSet
	sites []Site
}

// Sites lists all faults that can be planted in a file, in the order of the text.
func Sites(name string, text []byte) ([]Site, error) {
	f := &finder{name: name, text: text, fset: token.NewFileSet()}
	file, err := parser.ParseFile(f.fset, name, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, decl := range file.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && fn.Body != nil {
			ast.Inspect(fn.Body, f.visit)
		}
	}
	slices.SortStableFunc(f.sites, func(a, b Site) int { return cmp.Compare(a.From, b.From) })
	return f.sites, nil
}

func (f *finder) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		for _, op := range operators[n.Op] {
			f.operator(n.OpPos, n.Op, op)
		}
	case *ast.IfStmt:
		f.negate(n.Cond)
	case *ast.IncDecStmt:
		f.operator(n.TokPos, n.Tok, otherStep[n.Tok])
		f.drop(n)
	case *ast.AssignStmt:
		if op, ok := otherStep[n.Tok]; ok {
			f.operator(n.TokPos, n.Tok, op)
		}
		if n.Tok != token.DEFINE {
			f.drop(n)
		}
	case *ast.ExprStmt:
		if call, ok := n.X.(*ast.CallExpr); ok && isPanic(call) {
			return false // an invariant's alarm is no behaviour to test
		}
		f.drop(n)
	case *ast.BranchStmt:
		if n.Tok == token.CONTINUE && n.Label == nil {
			f.operator(n.Pos(), n.Tok, token.BREAK)
		}
	case *ast.BasicLit:
		f.number(n)
	}
	return true
}

// operators lists the tokens that replace an operator: comparisons are turned, and comparisons of
// order are moved by one too.
var operators = map[token.Token][]token.Token{
	token.EQL:  {token.NEQ},
	token.NEQ:  {token.EQL},
	token.LSS:  {token.LEQ, token.GEQ},
	token.LEQ:  {token.LSS, token.GTR},
	token.GTR:  {token.GEQ, token.LEQ},
	token.GEQ:  {token.GTR, token.LSS},
	token.LAND: {token.LOR},
	token.LOR:  {token.LAND},
	token.ADD:  {token.SUB},
	token.SUB:  {token.ADD},
	token.MUL:  {token.ADD},
}

// otherStep exchanges statements that count up and down.
var otherStep = map[token.Token]token.Token{
	token.INC:        token.DEC,
	token.DEC:        token.INC,
	token.ADD_ASSIGN: token.SUB_ASSIGN,
	token.SUB_ASSIGN: token.ADD_ASSIGN,
}

func (f *finder) operator(at token.Pos, from, to token.Token) {
	f.replace(at, at+token.Pos(len(from.String())), to.String(),
		from.String()+" becomes "+to.String())
}

// negate puts a negation around a condition. Conditions that are comparisons are turned already.
func (f *finder) negate(cond ast.Expr) {
	if b, ok := cond.(*ast.BinaryExpr); ok && len(operators[b.Op]) > 0 {
		return
	}
	f.replace(cond.Pos(), cond.End(), "!("+f.source(cond)+")", "condition is negated")
}

// drop leaves a statement out.
func (f *finder) drop(s ast.Stmt) {
	f.replace(s.Pos(), s.End(), "", "statement is left out: "+short(f.source(s)))
}

func (f *finder) number(lit *ast.BasicLit) {
	if lit.Kind != token.INT {
		return
	}
	n, err := strconv.ParseInt(lit.Value, 0, 62)
	if err != nil {
		return
	}
	more := strconv.FormatInt(n+1, 10)
	f.replace(lit.Pos(), lit.End(), more, lit.Value+" becomes "+more)
}

func (f *finder) source(n ast.Node) string {
	return string(f.text[f.fset.Position(n.Pos()).Offset:f.fset.Position(n.End()).Offset])
}

func isPanic(call *ast.CallExpr) bool {
	id, ok := call.Fun.(*ast.Ident)
	return ok && id.Name == "panic"
}

// short cuts a statement to one line of at most 40 bytes.
func short(s string) string {
	for i, c := range s {
		if c == '\n' || i >= 40 {
			return s[:i] + " ..."
		}
	}
	return s
}
