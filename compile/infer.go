package compile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gomx/dtype"
	"gomx/graph"
	"gomx/op"
)

// Given is the knowledge of a caller about variables, by name. Names of types may be unknown to the
// graph, names of shapes may not: a shape is mostly misspelled where no variable has it.
type Given struct {
	Shapes map[string]dtype.Shape // extents of -1 are unknown
	Types  map[string]dtype.Type
}

// Inferred is the result of inference, by entry number of an indexed graph.
type Inferred struct {
	Graph  *graph.Indexed
	Shapes []dtype.Shape // nil where nothing is known; an extent of -1 is unknown
	Types  []dtype.Type  // dtype.Unknown where nothing is known
}

// Infer finds shapes and types of all entries of the graph that computes outs. Variables whose type
// nothing says are float32; shapes may stay unknown. Knowledge flows both ways through operators,
// as in MXNet's InferShape: a layer tells its weight the shape, and a label may tell the batch.
func Infer(outs []op.Entry, given Given) (*Inferred, error) {
	r, err := Seed(outs, given)
	if err != nil {
		return nil, err
	}
	if err := graph.InferShapes(r.Graph, r.Shapes); err != nil {
		return nil, err
	}
	return r, r.inferTypes()
}

// Seed numbers a graph and stores the knowledge of the caller and of attributes, without inference:
// a caller that infers in steps of its own begins here.
func Seed(outs []op.Entry, given Given) (*Inferred, error) {
	g := graph.Index(outs)
	r := &Inferred{Graph: g, Shapes: make([]dtype.Shape, g.NumEntries()), Types: make([]dtype.Type,
		g.NumEntries())}
	for i := range r.Types {
		r.Types[i] = dtype.Unknown
	}
	return r, r.seed(given)
}

// Facts collects the result for [Compile]. The facts are the caller's; one inference serves any
// number of compilations.
func (r *Inferred) Facts() *graph.Facts { return graph.FactsOf(r.Graph, r.Shapes, r.Types) }

// Of returns the shape and the type of an entry of the graph. The shape belongs to r.
// An entry of another graph gives facts of any entry.
func (r *Inferred) Of(e op.Entry) (dtype.Shape, dtype.Type) {
	i := r.Graph.Entry(e)
	return r.Shapes[i], r.Types[i]
}

// Desc describes entry number i as a plain operand.
func (r *Inferred) Desc(i int) op.Desc { return op.Plain(r.Types[i], r.Shapes[i]) }

// CheckKnown reports the variables whose shapes have stayed unknown, all at once, because the shape
// of the data mostly tells all others.
func (r *Inferred) CheckKnown(vars []*op.Node) error {
	var missing []string
	for _, v := range vars {
		if s, _ := r.Of(v.Entry(0)); !s.Known() {
			missing = append(missing, fmt.Sprintf("%s %v", v.Name, s))
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("compile: not enough is known to infer the shapes of %s: give the shapes "+
		"of the data and of the label",
		strings.Join(missing, ", "))
}

// seed stores the shapes and types of variables that the caller or their attributes give. The
// caller wins over attributes.
func (r *Inferred) seed(given Given) error {
	known := map[string]bool{}
	for i, n := range r.Graph.Nodes {
		if !n.IsVar() {
			continue
		}
		known[n.Name] = true
		e, _ := r.Graph.Out(i)
		if err := seedFromAttrs(n, &r.Shapes[e], &r.Types[e]); err != nil {
			return err
		}
		if s, ok := given.Shapes[n.Name]; ok {
			r.Shapes[e] = s.Clone()
		}
		if t, ok := given.Types[n.Name]; ok {
			r.Types[e] = t
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given.Shapes)) {
		if !known[name] {
			return fmt.Errorf("compile: shape given for %q, which is not a variable of the "+
				"graph: it has %s",
				name, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		}
	}
	return nil
}

// Declared returns the shape and the type that the attributes of a variable state: a shape has -1
// for unknown extents, and is nil if there is none; the type is dtype.Unknown then.
func Declared(v *op.Node) (shape dtype.Shape, typ dtype.Type, err error) {
	typ = dtype.Unknown
	err = seedFromAttrs(v, &shape, &typ)
	return shape, typ, err
}

// storageCodes are the storage types by the values of the attribute __storage_type__ of MXNet's
// variables.
var storageCodes = map[string]op.Storage{"": op.Dense, "-1": op.Dense, "0": op.Dense,
	"1": op.RowSparse, "2": op.CSR, "default": op.Dense, "row_sparse": op.RowSparse, "csr": op.CSR}

// DeclaredStorage returns the storage type that the attribute __storage_type__ of a variable states.
func DeclaredStorage(v *op.Node) (op.Storage, error) {
	text := v.Attrs["__storage_type__"]
	s, ok := storageCodes[text]
	if !ok {
		return op.Dense, &op.Error{Op: "Var", Node: v.Name, Arg: "__storage_type__",
			Msg: fmt.Sprintf("%q, want 0, 1 or 2", text)}
	}
	return s, nil
}

// seedFromAttrs reads __shape__ and __dtype__, the attributes of MXNet's variables; in files an
// extent of 0 is unknown, and a type of -1.
func seedFromAttrs(n *op.Node, shape *dtype.Shape, typ *dtype.Type) error {
	if text := n.Attrs["__shape__"]; text != "" {
		dims, err := op.ParseTuple(text)
		if err != nil {
			return &op.Error{Op: "Var", Node: n.Name, Arg: "__shape__", Msg: err.Error()}
		}
		if len(dims) > 0 {
			s := dtype.Shape(dims)
			for i, d := range s {
				if d <= 0 {
					s[i] = -1
				}
			}
			*shape = s
		}
	}
	if text := n.Attrs["__dtype__"]; text != "" && text != "-1" {
		t, err := op.ParseType(text)
		if err != nil {
			return &op.Error{Op: "Var", Node: n.Name, Arg: "__dtype__", Msg: err.Error()}
		}
		*typ = t
	}
	return nil
}

// inferTypes runs type inference; variables about which nothing is known become float32, one at
// a time so that each choice informs the rest. MXNet's default is float32 as well; a variable beside
// an argument of another type takes that type first.
func (r *Inferred) inferTypes() error {
	if err := graph.InferTypes(r.Graph, r.Types); err != nil {
		return err
	}
	for i, n := range r.Graph.Nodes {
		e, _ := r.Graph.Out(i)
		if !n.IsVar() || r.Types[e] != dtype.Unknown {
			continue
		}
		r.Types[e] = dtype.Float32
		if err := graph.InferTypes(r.Graph, r.Types); err != nil {
			return err
		}
	}
	return nil
}
