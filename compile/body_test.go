package compile_test

import (
	"fmt"
	"strings"
	"testing"

	"gomx/compile"
	"gomx/device"
	"gomx/dtype"
	"gomx/op"
	sym "gomx/symbol"
)

// TestGoldenBodies compares the programs of the graph inside a loop: one for each set of outputs
// that are wanted, with the slots of its operands.
func TestGoldenBodies(t *testing.T) {
	outer := sym.Var("outer")
	outs, last := sym.Foreach(func(row, s []*sym.Symbol) (outs, next []*sym.Symbol) {
		sum := sym.ElemwiseAdd(sym.ElemwiseMul(row[0], outer, sym.Name("scaled")), s[0],
			sym.Name("sum"))
		return []*sym.Symbol{sum, sym.Tanh(row[0], sym.Name("tanh"))},
			[]*sym.Symbol{sum, sym.Sin(s[0], sym.Name("sin"))}
	}, []*sym.Symbol{sym.Var("data")}, []*sym.Symbol{sym.Var("start"), sym.Var("unread")},
		sym.Name("loop"))
	nets := map[string]*sym.Symbol{"all": sym.Group(append(outs, last...)...), "rows": outs[1],
		"states": sym.Group(last...)}
	shapes := map[string]dtype.Shape{"data": {3, 4}, "start": {4}, "unread": {4}, "outer": {4}}
	var b strings.Builder
	for _, name := range []string{"all", "rows", "states"} {
		net := nets[name]
		n := 0
		o := compile.Options{}
		o.Target.Tier = device.TierGo
		o.Target.Runner = func(body *compile.Body) *op.Body {
			fmt.Fprintf(&b, "%s, body %d: inputs %v, outputs %v, fixed %v\n", name, n, body.Inputs,
				body.Outputs, body.Fixed)
			if err := body.WriteText(&b); err != nil {
				t.Error(err)
			}
			n++
			return &op.Body{Scratch: 64}
		}
		p := mustCompile(t, source(t, net, shapes), o)
		if err := p.WriteText(&b); err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			t.Errorf("%s: no graph inside the loop is compiled", name)
		}
	}
	compareGolden(t, "bodies.txt", b.String())
}
