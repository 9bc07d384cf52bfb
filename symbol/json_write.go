package symbol

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gomx/op"
)

// mxnetVersion is the version that JSON writes into files: MXNet 1.9.1.
const mxnetVersion = 10901

// JSON writes s as MXNet 1.9.1 does, byte for byte, so that it reads it back.
func (s *Symbol) JSON() ([]byte, error) {
	if err := s.checkNames(); err != nil {
		return nil, err
	}
	attrs := fmt.Sprintf("{\"mxnet_version\": [\"int\", %d]}", mxnetVersion)
	if slices.ContainsFunc(s.Nodes(), numpyShapes) {
		attrs = fmt.Sprintf("{\n    \"is_np_shape\": [\"int\", 1], \n    "+
			"\"mxnet_version\": [\"int\", %d]\n  }", mxnetVersion)
	}
	return []byte("{" + graphText(s.outputs) + ", \n  \"attrs\": " + attrs + "\n}"), nil
}

// graphText writes the fields of a graph but for its attributes.
func graphText(outputs []op.Entry) string {
	nameNodes(outputs)
	w := &jsonWriter{id: map[*op.Node]int{}, versions: versions{}}
	rows, args := []int{0}, []int{}
	nodes := op.Topo(outputs)
	for i, n := range nodes {
		w.id[n] = i
		rows = append(rows, rows[i]+fileOutputs(n))
		if n.IsVar() {
			args = append(args, i)
		}
	}
	w.b.WriteString("\n  \"nodes\": [")
	for i, n := range nodes {
		if i > 0 {
			w.b.WriteString(", ")
		}
		w.node(n)
	}
	w.b.WriteString("\n  ], \n")
	w.field("arg_nodes", w.list(ints(args)))
	w.field("node_row_ptr", w.list(ints(rows)))
	fmt.Fprintf(&w.b, "  \"heads\": %s", w.list(w.entries(outputs, make([]int, len(outputs)))))
	return w.b.String()
}

// numpyShapes reports whether an operator takes its shape as numpy does.
func numpyShapes(n *op.Node) bool { return !n.IsVar() && attrsOf(n)[numpyAttr] == "True" }

// jsonWriter lays text out as dmlc's JSON writer does: short lists and maps on one line.
type jsonWriter struct {
	b        strings.Builder
	id       map[*op.Node]int
	versions versions
}

func (w *jsonWriter) field(key, value string) { fmt.Fprintf(&w.b, "  %q: %s, \n", key, value) }

// node writes one node at depth two.
func (w *jsonWriter) node(n *op.Node) {
	opName := "null"
	if !n.IsVar() {
		switch opName = n.Op.Name; {
		case isCustom(n.Op, n.Attrs):
			opName = customOp
		case n.Alias != "":
			opName = n.Alias
		}
	}
	fmt.Fprintf(&w.b, "\n    {\n      \"op\": %s, \n      \"name\": %s, \n", quote(opName),
		quote(n.Name))
	if attrs := attrsOf(n); len(attrs) > 0 {
		w.b.WriteString("      \"attrs\": " + attrText(attrs) + ", \n")
	}
	w.b.WriteString("      \"inputs\": " + indent(w.list(w.entries(n.In, w.versions.of(n))),
		"    "))
	if len(n.After) > 0 {
		deps := make([]int, len(n.After))
		for i, d := range n.After {
			deps[i] = w.id[d]
		}
		w.b.WriteString(", \n      \"control_deps\": " + indent(w.list(ints(deps)), "    "))
	}
	if !n.IsVar() && n.Op.NumGraphs() > 0 {
		w.graphs(n)
	}
	w.b.WriteString("\n    }")
}

// graphs writes the graphs inside a node.
func (w *jsonWriter) graphs(n *op.Node) {
	w.b.WriteString(", \n      \"subgraphs\": [")
	for i, g := range n.Op.Graphs(n.Params) {
		if i > 0 {
			w.b.WriteString(", ")
		}
		w.b.WriteString(indent("\n{"+graphText(g.Outputs)+"\n}", "        "))
	}
	w.b.WriteString("\n      ]")
}

func indent(s, by string) string { return strings.ReplaceAll(s, "\n", "\n"+by) }

// attrText writes a map: one entry on one line, more on lines of their own.
func attrText(attrs map[string]string) string {
	keys := sortedKeys(attrs)
	if len(keys) == 1 {
		return "{" + quote(keys[0]) + ": " + quote(attrs[keys[0]]) + "}"
	}
	var b strings.Builder
	b.WriteString("{")
	for i, k := range keys {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString("\n        " + quote(k) + ": " + quote(attrs[k]))
	}
	b.WriteString("\n      }")
	return b.String()
}

// quote writes a JSON string without escaping HTML.
func quote(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return strconv.Quote(s)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// list writes elements on one line up to ten, else on a line each at depth two.
func (w *jsonWriter) list(elems []string) string {
	if len(elems) <= 10 {
		return "[" + strings.Join(elems, ", ") + "]"
	}
	return "[\n    " + strings.Join(elems, ", \n    ") + "\n  ]"
}

func ints(list []int) []string {
	s := make([]string, len(list))
	for i, v := range list {
		s[i] = strconv.Itoa(v)
	}
	return s
}

// entries writes [node, output, version]; the version is how often a state has been changed by
// then.
func (w *jsonWriter) entries(list []op.Entry, versions []int) []string {
	s := make([]string, len(list))
	for i, e := range list {
		s[i] = fmt.Sprintf("[%d, %d, %d]", w.id[e.Node], e.Index, versions[i])
	}
	return s
}
