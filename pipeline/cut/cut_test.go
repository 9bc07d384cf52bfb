package cut_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gomx/op"
	"gomx/pipeline/cut"
	sym "gomx/symbol"
)

// weights reports the variables that are parameters in these tests.
func weights(v *op.Node) bool {
	return strings.HasSuffix(v.Name, "weight") || strings.HasSuffix(v.Name, "bias") ||
		strings.HasSuffix(v.Name, "gamma") || strings.HasSuffix(v.Name, "beta")
}

// scopes are three groups of nodes.
var scopes = []*sym.Scope{sym.NewScope("", sym.CtxGroup("a")), sym.NewScope("", sym.CtxGroup("b")),
	sym.NewScope("", sym.CtxGroup("c"))}

func layer(x *sym.Symbol, group int, name string) *sym.Symbol {
	return sym.FullyConnected(x, sym.FullyConnectedParams{NumHidden: 4}, scopes[group].Name(name))
}

// skipping has a value that all stages read, a state, and two outputs.
func skipping() *sym.Symbol {
	x := layer(sym.Var("data"), 0, "first")
	x = sym.BatchNorm(x, sym.BatchNormParams{}, scopes[0].Name("bn")).At(0)
	y := layer(x, 1, "second")
	z := sym.ElemwiseAdd(layer(sym.ElemwiseAdd(y, x, scopes[1].Name("add")), 2, "third"), x,
		scopes[2].Name("sum"))
	return sym.Group(sym.MakeLoss(z, sym.MakeLossParams{}, scopes[2].Name("loss")),
		sym.BlockGrad(y, scopes[1].Name("seen")))
}

// text writes a plan, one line for each stage and transfer.
func text(p *cut.Plan) string {
	var b strings.Builder
	for q, s := range p.Stages {
		var vars []string
		for _, n := range op.Topo(s.Outputs) {
			if n.IsVar() {
				vars = append(vars, n.Name)
			}
		}
		fmt.Fprintf(&b, "stage %d: %v\n\t-> %v\n\tfinals %v in %v out %v\n", q, vars, s.Outputs,
			s.Finals, s.In, s.Out)
	}
	for i, t := range p.Transfers {
		fmt.Fprintf(&b, "transfer %d: %s from %d to %d gradient %t\n", i, t.Entry, t.From, t.To,
			t.Grad)
	}
	return b.String()
}

func mustCut(t *testing.T, s *sym.Symbol, groups map[string]int, stages int) *cut.Plan {
	t.Helper()
	s.Nodes() // names all nodes
	at, err := cut.ByGroups(s.Entries(), groups, stages)
	if err != nil {
		t.Fatal(err)
	}
	p, err := cut.Cut(s.Entries(), at, stages, weights)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

var abc = map[string]int{"a": 0, "b": 1, "c": 2}

func TestCut(t *testing.T) {
	got := text(mustCut(t, skipping(), abc, 3))
	want := `stage 0: [data first_weight first_bias bn_gamma bn_beta bn_moving_mean bn_moving_var]
	-> [bn_output]
	finals [] in [] out [0]
stage 1: [_import0_bn_output second_weight second_bias]
	-> [seen_output _export1_bn_output_output add_output]
	finals [1] in [0] out [1 2]
stage 2: [_import2_add_output third_weight third_bias _import1_bn_output]
	-> [loss_output]
	finals [0] in [1 2] out []
transfer 0: bn_output from 0 to 1 gradient true
transfer 1: bn_output from 1 to 2 gradient true
transfer 2: add_output from 1 to 2 gradient true
`
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestSharedParameter cuts a network whose stages share a weight: the first one owns it, and the
// other gets its value and sends the gradient back.
func TestSharedParameter(t *testing.T) {
	w := sym.Var("tied_weight")
	p := sym.FullyConnectedParams{NumHidden: 4, NoBias: true}
	x := sym.FullyConnected(sym.Var("data"), p, scopes[0].Name("one"), sym.With("weight", w))
	x = sym.FullyConnected(x, p, scopes[1].Name("two"), sym.With("weight", w))
	got := text(mustCut(t, sym.MakeLoss(x, sym.MakeLossParams{}, scopes[1].Name("loss")), abc, 2))
	for _, want := range []string{"transfer 0: tied_weight from 0 to 1 gradient true",
		"stage 0: [tied_weight data]\n\t-> [_export0_tied_weight_output one_output]"} {
		if !strings.Contains(got, want) {
			t.Errorf("got\n%swant %s", got, want)
		}
	}
}

// TestGradientsFlow checks which transfers have a gradient.
func TestGradientsFlow(t *testing.T) {
	x := layer(sym.Var("data"), 0, "first")
	plain := sym.Tanh(sym.Var("other"), scopes[0].Name("plain")) // depends on no parameter
	blocked := sym.BlockGrad(x, scopes[1].Name("blocked"))
	y := sym.ElemwiseAdd(sym.ElemwiseAdd(layer(blocked, 1, "second"), plain,
		scopes[1].Name("add")), sym.Tanh(layer(x, 0, "third"), scopes[0].Name("tanh")),
		scopes[1].Name("sum"))
	p := mustCut(t, sym.MakeLoss(y, sym.MakeLossParams{}, scopes[1].Name("loss")), abc, 2)
	got := map[string]bool{}
	for _, tr := range p.Transfers {
		got[tr.Entry.String()] = tr.Grad
	}
	if want := map[string]bool{"first_output": false, "plain_output": false,
		"tanh_output": true}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for i, e := range p.Stages[0].Outputs {
		name := p.Transfers[p.Stages[0].Out[i]].Entry.String()
		if blocked := e.Node.Op.Name == "BlockGrad"; blocked != (name == "first_output") {
			t.Errorf("%s is sent as %s", name, e.Node.Op.Name)
		}
	}
}

func TestMistakes(t *testing.T) {
	net := func(first, second int) *sym.Symbol {
		return layer(layer(sym.Var("data"), first, "one"), second, "two")
	}
	shared := func() *sym.Symbol {
		mean := sym.Var("mean")
		with := sym.With("moving_mean", mean)
		x := sym.BatchNorm(sym.Var("data"), sym.BatchNormParams{}, scopes[0].Name("bn1"),
			with).At(0)
		return sym.BatchNorm(x, sym.BatchNormParams{}, scopes[1].Name("bn2"), with).At(0)
	}
	for _, c := range []struct {
		name   string
		net    *sym.Symbol
		groups map[string]int
		stages int
		want   string
	}{
		{"backward", net(1, 0), abc, 2, `FullyConnected "two" of stage 0 reads "one" of stage 1`},
		{"empty", net(0, 0), abc, 2, "stage 1 of 2 has no operator"},
		{"unknown", net(0, 1), map[string]int{"a": 0}, 2,
			`"two" is in group "b", which has no stage`},
		{"outside", net(0, 1), abc, 1, `group "b" is in stage 1, want one of 0 to 0`},
		{"state", shared(), abc, 2, `use the state "mean"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.net.Nodes()
			at, err := cut.ByGroups(c.net.Entries(), c.groups, c.stages)
			if err == nil {
				_, err = cut.Cut(c.net.Entries(), at, c.stages, weights)
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestUngrouped places operators without a group: behind the values that they read, and before
// their readers where they read none.
func TestUngrouped(t *testing.T) {
	x := layer(sym.Var("data"), 1, "first")
	y := sym.Tanh(x, sym.Name("follows"))
	early := sym.Tanh(sym.Var("other"), sym.Name("early"))
	z := sym.ElemwiseAdd(y, early, scopes[2].Name("sum"))
	lonely := sym.Tanh(sym.Var("lonely"), sym.Name("alone"))
	s := sym.Group(z, lonely)
	s.Nodes()
	at, err := cut.ByGroups(s.Entries(), abc, 3)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for n, q := range at {
		got = append(got, fmt.Sprint(n.Name, " ", q))
	}
	slices.Sort(got)
	if want := "[alone 0 early 2 first 1 follows 1 sum 2]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
}
