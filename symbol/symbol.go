package symbol

import (
	"fmt"
	"maps"
	"slices"

	"gomx/op"
)

// Symbol is one or more outputs of a declared graph. It is immutable and safe for concurrent use.
// A mistake made while composing is kept inside and reported once, by the first function that
// returns an error (inference, bind, JSON).
type Symbol struct {
	outputs []op.Entry
	err     error
}

// Var declares a variable: data, a label, or a weight given by hand.
func Var(name string, opts ...Option) *Symbol {
	c := config(opts)
	if name == "" {
		return &Symbol{err: &op.Error{Op: "Var", Site: op.CallSite(),
			Msg: "a variable needs a name"}}
	}
	n := &op.Node{Name: name, Attrs: c.attrs, Site: op.CallSite()}
	return &Symbol{outputs: []op.Entry{n.Entry(0)}}
}

// Group joins the outputs of several symbols into one symbol.
func Group(symbols ...*Symbol) *Symbol {
	g := &Symbol{}
	for _, s := range symbols {
		if s.err != nil && g.err == nil {
			g.err = s.err
		}
		g.outputs = append(g.outputs, s.outputs...)
	}
	return g
}

// FromEntries makes a symbol of entries of a graph.
func FromEntries(outputs ...op.Entry) *Symbol { return &Symbol{outputs: outputs} }

// Entries returns the outputs as entries of the graph.
func (s *Symbol) Entries() []op.Entry { return s.outputs }

// Err returns the first mistake made while composing s, nil if there is none.
func (s *Symbol) Err() error { return s.err }

// At returns output i as a symbol of its own.
func (s *Symbol) At(i int) *Symbol {
	if s.err != nil {
		return s
	}
	if i < 0 || i >= len(s.outputs) {
		return &Symbol{err: &op.Error{Op: s.Name(), Site: op.CallSite(),
			Msg: fmt.Sprintf("output %d asked for, want one of 0..%d", i, len(s.outputs)-1)}}
	}
	return &Symbol{outputs: s.outputs[i : i+1]}
}

// Len returns the number of outputs.
func (s *Symbol) Len() int { return len(s.outputs) }

// Name returns the name of the node whose output s is; the first one's of several.
func (s *Symbol) Name() string {
	if len(s.outputs) == 0 {
		return ""
	}
	nameNodes(s.outputs)
	return s.outputs[0].Node.Name
}

// Nodes returns the nodes of the graph in topological order, every one named. They must not be
// changed.
func (s *Symbol) Nodes() []*op.Node {
	nameNodes(s.outputs)
	return op.Topo(s.outputs)
}

// variables returns the variables in topological order, auxiliary states and others apart.
func (s *Symbol) variables() (args, aux []*op.Node) {
	nodes := s.Nodes()
	isAux := map[*op.Node]bool{}
	for _, n := range nodes {
		if n.IsVar() {
			continue
		}
		for k, in := range n.Op.Inputs(n.Params) {
			if in.Role == op.Aux && k < len(n.In) && n.In[k].Node.IsVar() {
				isAux[n.In[k].Node] = true
			}
		}
	}
	for _, n := range nodes {
		switch {
		case !n.IsVar():
		case isAux[n]:
			aux = append(aux, n)
		default:
			args = append(args, n)
		}
	}
	return args, aux
}

func names(nodes []*op.Node) []string {
	list := make([]string, len(nodes))
	for i, n := range nodes {
		list[i] = n.Name
	}
	return list
}

// Arguments lists the variables that are not auxiliary states, in MXNet's order.
func (s *Symbol) Arguments() []string {
	args, _ := s.variables()
	return names(args)
}

// AuxStates lists the auxiliary states, such as a batch norm's moving averages.
func (s *Symbol) AuxStates() []string {
	_, aux := s.variables()
	return names(aux)
}

// Inputs lists all variables, arguments and auxiliary states, in the order of the graph.
func (s *Symbol) Inputs() []string {
	return names(slices.DeleteFunc(s.Nodes(), func(n *op.Node) bool { return !n.IsVar() }))
}

// Outputs lists the names of the outputs, such as fc1_output.
func (s *Symbol) Outputs() []string {
	nameNodes(s.outputs)
	list := make([]string, len(s.outputs))
	for i, e := range s.outputs {
		list[i] = e.String()
	}
	return list
}

// Internals returns every visible output of every node, in topological order, so that an inner
// layer can be picked by its output's name with Output.
func (s *Symbol) Internals() *Symbol {
	t := &Symbol{err: s.err}
	for _, n := range s.Nodes() {
		for i := range n.NumVisible() {
			t.outputs = append(t.outputs, n.Entry(i))
		}
	}
	return t
}

// Output picks the output with a name, such as Internals().Output("fc1_output").
func (s *Symbol) Output(name string) (*Symbol, error) {
	for i, n := range s.Outputs() {
		if n == name {
			return s.At(i), s.err
		}
	}
	return nil, fmt.Errorf("symbol: no output %q among %d outputs", name, len(s.outputs))
}

// Attr returns an attribute of the node called node, empty when it has none.
func (s *Symbol) Attr(node, key string) string { return s.AttrDict()[node][key] }

// AttrDict returns the attributes of every node that has any: parameters spelled as in JSON, and
// those given with Attr or loaded. As in MXNet, __lr_mult__ and its like appear as lr_mult too.
func (s *Symbol) AttrDict() map[string]map[string]string {
	dict := map[string]map[string]string{}
	for _, n := range s.Nodes() {
		a := attrsOf(n)
		for _, k := range hiddenKeys {
			if v, ok := a["__"+k+"__"]; ok {
				a[k] = v
			}
		}
		if len(a) > 0 {
			dict[n.Name] = a
		}
	}
	return dict
}

// attrsOf returns the attributes of a node: as loaded where they are known, else printed from
// its parameters.
func attrsOf(n *op.Node) map[string]string {
	a := map[string]string{}
	if !n.IsVar() {
		a = n.Op.FormatParams(n.Params)
	}
	maps.Copy(a, n.Attrs)
	return a
}

// checkNames reports two variables, or two operators, of one name: nothing could tell them apart
// in files and dictionaries.
func (s *Symbol) checkNames() error {
	if s.err != nil {
		return s.err
	}
	seen := map[string]*op.Node{}
	for _, n := range s.Nodes() {
		if old := seen[n.Name]; old != nil && old.IsVar() && n.IsVar() {
			return &op.Error{Op: "Var", Node: n.Name, Site: n.Site,
				Msg: "a second variable of this name; the first was made at " + old.Site}
		}
		if n.IsVar() || seen[n.Name] == nil {
			seen[n.Name] = n
		}
	}
	return nil
}

// sortedKeys returns the keys of m in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
