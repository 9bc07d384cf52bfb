package gluon

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"gomx/checkpoint"
	"gomx/compile"
	"gomx/dtype"
	"gomx/graph"
	nd "gomx/ndarray"
	"gomx/op"
	sym "gomx/symbol"
)

// SymbolBlock is a block made of a symbol. Variables that are no inputs are its parameters, under
// the names that they have in the symbol. It runs operator by operator; a [Net] of it can be
// hybridized.
//
// MXNet: gluon.SymbolBlock.
type SymbolBlock struct {
	inputs  []*op.Node
	outputs []op.Entry
	names   []string // of the parameters, in the order of the symbol
	params  map[string]*Param

	mu    sync.Mutex
	known map[string][]op.Entry // graphs with the shapes of their inputs filled in, by these shapes
}

// maxSettled bounds the number of graphs that a SymbolBlock keeps for different shapes.
const maxSettled = 64

// FromSymbol makes a block of the outputs of a symbol. inputs are the names of the variables that
// its calls give, in their order.
func FromSymbol(s *sym.Symbol, inputs ...string) (*SymbolBlock, error) {
	if s == nil {
		return nil, fmt.Errorf("gluon: FromSymbol: the symbol is nil")
	}
	args, aux := s.Arguments(), s.AuxStates()
	if err := s.Err(); err != nil {
		return nil, err
	}
	b := &SymbolBlock{outputs: s.Entries(), params: map[string]*Param{},
		known: map[string][]op.Entry{}}
	vars := map[string]*op.Node{}
	for _, n := range s.Nodes() {
		if n.IsVar() {
			vars[n.Name] = n
		}
	}
	for _, name := range inputs {
		if !slices.Contains(args, name) {
			return nil, fmt.Errorf("gluon: FromSymbol: no argument %q, want one of %v", name, args)
		}
		b.inputs = append(b.inputs, vars[name])
	}
	for _, name := range slices.Concat(args, aux) {
		if slices.Contains(inputs, name) {
			continue
		}
		p, err := paramOf(vars[name], slices.Contains(aux, name))
		if err != nil {
			return nil, err
		}
		b.names, b.params[name] = append(b.names, name), p
	}
	return b, nil
}

// paramOf declares the parameter for a variable of a symbol.
func paramOf(v *op.Node, aux bool) (*Param, error) {
	shape, typ, err := compile.Declared(v)
	if err != nil {
		return nil, fmt.Errorf("gluon: variable %q: %w", v.Name, err)
	}
	for i, n := range shape {
		shape[i] = max(n, 0)
	}
	if typ == dtype.Unknown {
		typ = dtype.Float32
	}
	spec := Spec{Shape: shape, DType: typ, State: aux}
	if aux {
		spec.GradReq = nd.GradNull
	}
	p := NewParam(spec)
	for key, to := range map[string]*op.Opt[float64]{"__lr_mult__": &p.LRMult,
		"__wd_mult__": &p.WDMult} {
		text, ok := v.Attrs[key]
		if !ok {
			continue
		}
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Errorf("gluon: variable %q: %s: %w", v.Name, key, err)
		}
		*to = op.Some(f)
	}
	return p, nil
}

// Import makes a network of a symbol's file, such as Export or MXNet's export writes, and loads its
// parameters, which get the element types that they have in the file; an empty name of params leaves
// them to Init or Load. The network is hybridized.
//
// MXNet: gluon.SymbolBlock.imports.
func Import(symbol string, inputs []string, params string, opts ...LoadOption) (*Net, error) {
	s, err := checkpoint.LoadSymbol(symbol)
	if err != nil {
		return nil, err
	}
	b, err := FromSymbol(s, inputs...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", symbol, err)
	}
	n := Wrap(b, b.Call)
	if params != "" {
		opts = append([]LoadOption{CastToSaved()}, opts...)
		if err := n.Load(params, opts...); err != nil {
			return nil, err
		}
	}
	n.Hybridize()
	return n, nil
}

// parts lists the parameters.
func (b *SymbolBlock) parts() []child {
	list := make([]child, len(b.names))
	for i, name := range b.names {
		list[i] = child{name: name, param: b.params[name], symbol: b}
	}
	return list
}

// Forward returns the first output for one input.
func (b *SymbolBlock) Forward(x *nd.Array) *nd.Array { return b.Call([]*nd.Array{x})[0] }

// Call returns the outputs for arrays in the order of the inputs.
func (b *SymbolBlock) Call(in []*nd.Array) []*nd.Array {
	if len(in) != len(b.inputs) || len(in) == 0 {
		panic(&op.Error{Op: "SymbolBlock", Site: op.CallSite(),
			Msg: fmt.Sprintf("%d arrays, want %d", len(in), len(b.inputs))})
	}
	outs, err := b.settled(in)
	if err != nil {
		panic(op.WithOp(err, "SymbolBlock", "", ""))
	}
	g := nd.Graph{Outputs: outs, Values: map[*op.Node]*nd.Array{}, Engine: in[0].Engine(),
		Device: in[0].Device()}
	for _, n := range op.Topo(outs) {
		if p := b.params[n.Name]; n.IsVar() && p != nil {
			g.Values[n] = p.At(in[0])
		}
		for i, v := range b.inputs {
			if n.IsVar() && n.Name == v.Name {
				g.Values[n] = in[i]
			}
		}
	}
	list, err := nd.Evaluate(g)
	if err != nil {
		panic(op.WithOp(err, "SymbolBlock", "", ""))
	}
	return list
}

// settled returns the graph in which operators without inputs have the shapes that follow from the
// shapes of the inputs. The first call of new shapes gives parameters the shapes that were unknown.
func (b *SymbolBlock) settled(in []*nd.Array) ([]op.Entry, error) {
	var key strings.Builder
	given := compile.Given{Shapes: map[string]dtype.Shape{}, Types: map[string]dtype.Type{}}
	for i, a := range in {
		fmt.Fprintf(&key, "%v%v", a.DType(), a.Shape())
		given.Shapes[b.inputs[i].Name], given.Types[b.inputs[i].Name] = a.Shape(), a.DType()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if outs := b.known[key.String()]; outs != nil {
		return outs, nil
	}
	for name, p := range b.params {
		if a := p.Data(); a != nil {
			given.Shapes[name], given.Types[name] = a.Shape(), a.DType()
		}
	}
	r, err := compile.Infer(b.outputs, given)
	if err != nil {
		return nil, err
	}
	for _, n := range op.Topo(b.outputs) {
		if p := b.params[n.Name]; n.IsVar() && p != nil {
			shape, _ := r.Of(n.Entry(0))
			if !shape.Known() {
				return nil, op.Errorf(n.Name, "its shape %v does not follow from the inputs", shape)
			}
			p.learnShape(shape)
		}
	}
	outs, _ := graph.SettleShapes(b.outputs, r.Facts())
	if len(b.known) >= maxSettled {
		clear(b.known)
	}
	b.known[key.String()] = outs
	return outs, nil
}
