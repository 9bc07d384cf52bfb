package symbol

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"gomx/op"
)

// jsonGraph is MXNet's symbol file: the union of the fields that versions since 0.8 write.
type jsonGraph struct {
	Nodes      []jsonNode                 `json:"nodes"`
	ArgNodes   []int                      `json:"arg_nodes"`
	NodeRowPtr []int                      `json:"node_row_ptr"`
	Heads      []jsonEntry                `json:"heads"`
	Attrs      map[string]json.RawMessage `json:"attrs"`
}

type jsonNode struct {
	Op          string            `json:"op"`
	Name        string            `json:"name"`
	Attrs       map[string]string `json:"attrs"` // since 1.0
	Attr        map[string]string `json:"attr"`  // 0.9 to 0.12
	Param       map[string]string `json:"param"` // before 0.9
	Inputs      []jsonEntry       `json:"inputs"`
	ControlDeps []int             `json:"control_deps"`
	Subgraphs   []jsonGraph       `json:"subgraphs"`
	Backward    int               `json:"backward_source_id"`
}

// jsonEntry is [node, output] or [node, output, version].
type jsonEntry []int

// Load reads a symbol from the JSON of any MXNet since 0.8, upgrading old spellings. Files are
// hostile input: for any content the result is a symbol or an error that names the node.
// Attributes that an operator does not have are passed over, with an op.Notice.
func Load(data []byte) (*Symbol, error) {
	var g jsonGraph
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&g); err != nil {
		return nil, fmt.Errorf("symbol: not a symbol file: %w", err)
	}
	version, err := g.version()
	if err != nil {
		return nil, err
	}
	l := &loader{version: version, numpy: g.numpyShapes()}
	outputs, err := l.graph(&g)
	if err != nil {
		return nil, fmt.Errorf("symbol: %w", err)
	}
	s := &Symbol{outputs: outputs}
	return s, s.checkNames()
}

// graph builds the nodes of a graph and returns its heads.
func (l *loader) graph(g *jsonGraph) ([]op.Entry, error) {
	l.nodes = make([]*op.Node, len(g.Nodes))
	for i := range g.Nodes {
		if err := l.add(i, &g.Nodes[i]); err != nil {
			return nil, fmt.Errorf("node %d (%s): %w", i, g.Nodes[i].Name, err)
		}
	}
	var outputs []op.Entry
	for i, h := range g.Heads {
		e, err := l.entry(h, len(l.nodes))
		if err != nil {
			return nil, fmt.Errorf("head %d: %w", i, err)
		}
		outputs = append(outputs, e)
	}
	if len(outputs) == 0 {
		return nil, errors.New("the file names no heads")
	}
	return outputs, nil
}

// deepest is the number of graphs inside each other that a file may have.
const deepest = 16

// graphs builds the graphs inside a node.
func (l *loader) graphs(list []jsonGraph) ([]*op.Graph, error) {
	var graphs []*op.Graph
	for i := range list {
		if l.depth == deepest {
			return nil, fmt.Errorf("graphs inside each other, want at most %d", deepest)
		}
		inner := &loader{version: l.version, numpy: l.numpy, depth: l.depth + 1}
		outputs, err := inner.graph(&list[i])
		if err != nil {
			return nil, fmt.Errorf("subgraph %d: %w", i, err)
		}
		graphs = append(graphs, op.NewGraph(outputs))
	}
	return graphs, nil
}

// version reads mxnet_version, 800 (0.8.0) when it is missing.
func (g *jsonGraph) version() (int, error) {
	raw, ok := g.Attrs["mxnet_version"]
	if !ok {
		return 800, nil
	}
	var pair []any
	if err := json.Unmarshal(raw, &pair); err != nil || len(pair) != 2 {
		return 0, fmt.Errorf("symbol: mxnet_version is %s, want [\"int\", number]", raw)
	}
	v, ok := pair[1].(float64)
	if !ok {
		return 0, fmt.Errorf("symbol: mxnet_version is %s, want [\"int\", number]", raw)
	}
	return int(v), nil
}

// numpyAttr is the parameter that tells an operator to read shapes as numpy does: () is a scalar,
// and an extent of zero is known.
const numpyAttr = "np_shape"

// numpyShapes reports whether the file was written under numpy's meaning of shapes.
func (g *jsonGraph) numpyShapes() bool {
	var pair []any
	return json.Unmarshal(g.Attrs["is_np_shape"], &pair) == nil && len(pair) == 2 && pair[1] == 1.0
}

// loader builds nodes in file order; inputs must point backward.
type loader struct {
	version int
	numpy   bool // () and extents of zero are shapes, not unknown ones
	depth   int  // number of graphs around the one that is built
	nodes   []*op.Node
}

func (l *loader) entry(e jsonEntry, before int) (op.Entry, error) {
	if len(e) < 2 || len(e) > 3 {
		return op.Entry{}, fmt.Errorf("entry %v, want [node, output, version]", []int(e))
	}
	if e[0] < 0 || e[0] >= before {
		return op.Entry{}, fmt.Errorf("refers to node %d, want one of the %d before it", e[0],
			before)
	}
	n := l.nodes[e[0]]
	if e[1] < 0 || e[1] >= n.NumOutputs() {
		return op.Entry{}, fmt.Errorf("refers to output %d of %s, which has %d", e[1], n.Name,
			n.NumOutputs())
	}
	return n.Entry(e[1]), nil
}

// add builds node i.
func (l *loader) add(i int, j *jsonNode) error {
	attrs := map[string]string{}
	for _, m := range []map[string]string{j.Param, j.Attr, j.Attrs} {
		maps.Copy(attrs, m)
	}
	o, err := operator(j.Op, attrs)
	if err != nil {
		return err
	}
	n := &op.Node{Name: j.Name}
	for k, e := range j.Inputs {
		in, err := l.entry(e, i)
		if err != nil {
			return fmt.Errorf("input %d: %w", k, err)
		}
		n.In = append(n.In, in)
	}
	for _, d := range j.ControlDeps {
		if d < 0 || d >= i {
			return fmt.Errorf("control dependency on node %d, want one of the %d before it", d, i)
		}
		n.After = append(n.After, l.nodes[d])
	}
	l.nodes[i] = n
	if j.Op == "null" {
		n.Attrs = dunderHidden(attrs)
		if len(n.In) > 0 {
			return fmt.Errorf("a variable with %d inputs", len(n.In))
		}
		return nil
	}
	graphs, err := l.graphs(j.Subgraphs)
	if err != nil {
		return err
	}
	n.Op = o
	if slices.Contains(o.Legacy, j.Op) {
		n.Alias = j.Op
	}
	return l.finish(n, attrs, graphs)
}

// finish parses the parameters of an operator node and adds the input variables and attributes that
// old versions left out.
func (l *loader) finish(n *op.Node, attrs map[string]string, graphs []*op.Graph) error {
	hidden := takeHidden(attrs)
	custom, isCustom := takeCustom(n.Op, attrs)
	upgradeAttrs(n.Op.Name, attrs, l.version)
	if l.numpy && slices.ContainsFunc(n.Op.Params(),
		func(p op.ParamSpec) bool { return p.Name == numpyAttr }) {
		attrs[numpyAttr] = "True"
	}
	p, err := n.Op.ParseParams(known(n.Op, attrs))
	if err != nil {
		return err
	}
	if len(graphs) > 0 || n.Op.NumGraphs() > 0 {
		if p, err = n.Op.WithGraphs(p, graphs); err != nil {
			return err
		}
	}
	if n.Op.Variadic {
		p = n.Op.WithCount(p, len(n.In))
	}
	n.Params = p
	if n.Attrs = attrs; isCustom {
		attrs[customType] = custom
	}
	restoreHidden(n, hidden)
	inputs := n.Op.Inputs(p)
	for k := len(n.In); k < len(inputs) && l.version < 900; k++ {
		v := &op.Node{Name: n.Name + "_" + inputs[k].Name, Attrs: maps.Clone(n.Attrs)}
		n.In = append(n.In, v.Entry(0))
	}
	if len(n.In) != len(inputs) {
		return fmt.Errorf("operator %s has %d inputs, want %d", n.Op.Name, len(n.In), len(inputs))
	}
	if l.version < 904 {
		for k, in := range inputs {
			if v := n.In[k].Node; in.Init != "" && v.IsVar() {
				v.Attrs = withDefault(v.Attrs, "__init__", in.Init)
			}
		}
	}
	return nil
}

// known returns attrs without those that the operator does not have, which MXNet passes over in
// files. Each is noted once.
func known(o *op.Op, attrs map[string]string) map[string]string {
	unknown := o.UnknownParams(attrs)
	if len(unknown) == 0 {
		return attrs
	}
	rest := maps.Clone(attrs)
	for _, key := range unknown {
		op.Notice("attribute %s of operator %s is unknown and has no effect", key, o.Name)
		delete(rest, key)
	}
	return rest
}

// withDefault sets key unless it is set; a nil map is made.
func withDefault(m map[string]string, key, value string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	if _, ok := m[key]; !ok {
		m[key] = value
	}
	return m
}
