package gluon

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gomx/checkpoint"
	"gomx/device"
	"gomx/dtype"
	"gomx/engine"
	nd "gomx/ndarray"
	"gomx/op"
	sym "gomx/symbol"
)

// ExportOption is an option of Export and of Symbol.
type ExportOption func(*exporting)

type exporting struct {
	inputs []argument
	global bool   // names are MXNet's global ones
	prefix string // of global names
}

// argument describes an argument of a network.
type argument struct {
	name     string
	shape    nd.Shape
	typ      dtype.Type
	training bool // it is on a tape of training
	taped    bool // it is on a tape
	wanted   bool // its gradient is wanted
}

// Input describes an argument of the network, in the order of the calls: its name in the symbol and
// its shape. Its element type is float32; see [InputAs]. Without any Input the shapes and types of
// the last call of the hybridized network count, and the arguments are called data, or data0, data1
// and so on.
func Input(name string, shape ...int) ExportOption {
	return func(e *exporting) { e.inputs = append(e.inputs, argument{name: name, shape: shape}) }
}

// InputAs is Input for an argument of another element type than float32, such as the int32 numbers of
// words for nn.Embedding.
func InputAs(name string, typ dtype.Type, shape ...int) ExportOption {
	return func(e *exporting) {
		e.inputs = append(e.inputs, argument{name: name, shape: shape, typ: typ})
	}
}

// Export writes the network as it infers into the files prefix-symbol.json and prefix-NNNN.params,
// where NNNN is the epoch: MXNet's SymbolBlock.imports and Module read them, as do [Import] and
// packages module and predict. Parameters have their structural names, unless [GlobalNames].
// Arrays from outside that Forward uses become arguments too.
//
// MXNet: gluon.HybridBlock.export.
func (n *Net) Export(prefix string, epoch int, opts ...ExportOption) (err error) {
	defer op.Recover(&err)
	g, err := n.infer(opts)
	if err != nil {
		return fmt.Errorf("gluon: Export: %w", err)
	}
	m := &checkpoint.Model{Symbol: sym.FromEntries(g.Outputs...), Args: map[string]*nd.Array{},
		Aux: map[string]*nd.Array{}}
	owners := map[*nd.Array]*Param{}
	for _, p := range n.Params().All() {
		for _, a := range p.values() {
			owners[a] = p
		}
	}
	args, aux := m.Symbol.Arguments(), m.Symbol.AuxStates()
	for _, k := range g.Captured { // also arrays that no output depends on
		switch {
		case slices.Contains(aux, k.Node.Name):
			m.Aux[k.Node.Name] = k.Hold
		case slices.Contains(args, k.Node.Name):
			m.Args[k.Node.Name] = k.Hold
			if p := owners[k.Array]; p != nil && p.Storage != nd.Dense {
				if m.Args[k.Node.Name], err = (table{p}).written(false); err != nil {
					return fmt.Errorf("gluon: Export: parameter %s: %w", k.Node.Name, err)
				}
			}
		}
	}
	return m.Save(prefix, epoch)
}

// Symbol returns the network as it infers as a symbol, whose arguments are the inputs and the
// parameters.
func (n *Net) Symbol(opts ...ExportOption) (s *sym.Symbol, err error) {
	defer op.Recover(&err)
	g, err := n.infer(opts)
	if err != nil {
		return nil, fmt.Errorf("gluon: Symbol: %w", err)
	}
	return sym.FromEntries(g.Outputs...), nil
}

// infer traces the network in inference.
func (n *Net) infer(opts []ExportOption) (*nd.Traced, error) {
	var e exporting
	for _, o := range opts {
		o(&e)
	}
	h := n.hybrid.Load()
	if e.inputs == nil && h != nil {
		if c := h.last.Load(); c != nil {
			e.inputs = slices.Clone(c.inputs)
		}
	}
	if e.inputs == nil {
		return nil, errors.New("the shapes of the arguments are not known: hybridize the network " +
			"and call it once, or name the arguments by gluon.Input")
	}
	for i := range e.inputs {
		a := &e.inputs[i]
		a.taped, a.training, a.wanted = false, false, false
	}
	if h == nil {
		h = &hybrid{call: n.call}
	}
	eng, dev := engine.Default(), device.CPU()
	for _, p := range n.Params().All() {
		if a := p.Data(); a != nil {
			eng, dev = a.Engine(), a.Device()
			break
		}
	}
	var names *namer
	var listener nd.Listener
	if e.global {
		names = newNamer(nameBlocks(n.root, e.prefix), n.root)
		listener = names
	}
	g, err := h.trace(eng, dev, e.inputs, listener)
	if err != nil {
		return nil, err
	}
	if names != nil {
		names.rename(g, n.Params())
	}
	return g, portable(g)
}

// portable makes a traced graph one of MXNet's operators alone.
func portable(g *nd.Traced) error {
	nd.PassFunctions(g)
	return portableNodes(op.Topo(g.Outputs))
}

// portableNodes does so for nodes and the bodies of loops among them.
func portableNodes(nodes []*op.Node) error {
	for _, n := range nodes {
		if n.IsVar() {
			continue
		}
		bodies := n.Op.Graphs(n.Params)
		if n.Op.Hidden && (len(bodies) == 0 || strings.HasPrefix(n.Op.Name, "_backward")) {
			return &op.Error{Op: n.Op.Name, Node: n.Name, Site: n.Site,
				Msg: "the operator has no counterpart in MXNet, the network cannot be exported"}
		}
		attrs := maps.Clone(n.Attrs)
		delete(attrs, "__stream__")
		n.Attrs = attrs
		for _, b := range bodies {
			if err := portableNodes(b.Nodes()); err != nil {
				return err
			}
		}
	}
	return nil
}
