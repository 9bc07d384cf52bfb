package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"gomx/dtype"
	"gomx/internal/plot"
	"gomx/op"
	"gomx/symbol"
)

// kinds are the kinds of boxes, in the order of the legend.
var kinds = [...]string{"data", "product", "normalization", "function", "pooling", "shape", "loss",
	"other"}

// pictureOf returns a drawing of the operators and the data of s. Parameters have no boxes: the box
// of an operator says how many it has.
func pictureOf(s *symbol.Symbol, shapes map[string]dtype.Shape, path string) (*plot.Graph, error) {
	sum, err := symbol.Summarize(s, shapes)
	if err != nil {
		return nil, err
	}
	g := &plot.Graph{Kinds: kinds[:], Title: fmt.Sprintf("%s: %d parameters, %.4g GFLOPs",
		strings.TrimSuffix(filepath.Base(path), "-symbol.json"),
		sum.Parameters, float64(sum.FLOPs)/1e9)}
	rows := map[string]*symbol.SummaryRow{}
	for i := range sum.Rows {
		rows[sum.Rows[i].Name] = &sum.Rows[i]
	}
	at := map[*op.Node]int{}
	names := []string{}
	for _, n := range s.Nodes() {
		row := rows[n.Name]
		if row == nil {
			continue
		}
		at[n] = len(g.Nodes)
		g.Nodes = append(g.Nodes, boxOf(n, row))
		name := n.Name
		if n.IsVar() {
			name = ""
		}
		names = append(names, name)
		for _, e := range n.In {
			if from, ok := at[e.Node]; ok {
				g.Edges = append(g.Edges, [2]int{from, at[n]})
			}
		}
	}
	for i, c := range clusters(names) {
		g.Nodes[i].Cluster = c
	}
	return g, nil
}

func boxOf(n *op.Node, row *symbol.SummaryRow) plot.GraphNode {
	b := plot.GraphNode{Kind: kindOf(n), Lines: []string{n.Name}, Flow: flow(row)}
	if n.IsVar() {
		return b
	}
	b.Lines = append(b.Lines, strings.TrimSpace(n.Op.Name+" "+essence(n)))
	if row.Parameters > 0 {
		b.Lines = append(b.Lines, fmt.Sprintf("%d parameters", row.Parameters))
	}
	return b
}

// flow describes a result: its shape and its size in bytes.
func flow(row *symbol.SummaryRow) string {
	if !row.Output.Known() {
		return ""
	}
	return fmt.Sprintf("%v %s", row.Output, bytesText(op.Plain(row.Type, row.Output).Bytes))
}

func bytesText(bytes int) string {
	switch {
	case bytes >= 1<<20:
		return fmt.Sprintf("%.3g MiB", float64(bytes)/(1<<20))
	case bytes >= 1<<10:
		return fmt.Sprintf("%.3g KiB", float64(bytes)/(1<<10))
	}
	return fmt.Sprintf("%d B", bytes)
}

// essence lists the parameters that distinguish layers of one kind.
func essence(n *op.Node) string {
	var parts []string
	attrs := n.Op.FormatParams(n.Params)
	for _, key := range []string{"act_type", "pool_type", "num_filter", "num_hidden", "kernel",
		"stride", "num_group", "scalar", "axis", "p"} {
		if v, ok := attrs[key]; ok && !(key == "stride" && v == "(1, 1)") && !(key == "num_group" &&
			v == "1") {
			parts = append(parts, strings.ReplaceAll(strings.Trim(v, "()"), ", ", "×"))
		}
	}
	return strings.Join(parts, " ")
}

func kindOf(n *op.Node) string {
	if n.IsVar() {
		return "data"
	}
	return n.Op.KindOf().String()
}

// clusters returns the cluster of each name: the name without its last part and without the parts
// that all names begin with. Parts are separated by underscores.
func clusters(names []string) []string {
	parts := make([][]string, len(names))
	for i, name := range names {
		parts[i] = strings.FieldsFunc(strings.TrimSuffix(name, "_fwd"),
			func(r rune) bool { return r == '_' })
	}
	list := make([]string, len(names))
	common := commonStart(parts)
	for i, p := range parts {
		if len(p) > common+1 {
			list[i] = strings.Join(p[common:len(p)-1], "_")
		}
	}
	return list
}

// commonStart counts the leading parts that are equal in all names of several parts.
func commonStart(parts [][]string) int {
	var first []string
	for _, p := range parts {
		if len(p) < 2 {
			continue
		}
		if first == nil {
			first = p[:len(p)-1]
			continue
		}
		n := 0
		for n < len(first) && n < len(p)-1 && first[n] == p[n] {
			n++
		}
		first = first[:n]
	}
	return len(first)
}
