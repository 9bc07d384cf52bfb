package gorgonia_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	interop "gomx/interop/gorgonia"
	sym "gomx/symbol"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files")

// TestOperationTexts pins the texts of Gorgonia's operations, which are no promise of its, and what
// they convert to. A difference after an update of Gorgonia shows what the conversion must learn.
func TestOperationTexts(t *testing.T) {
	const path = "testdata/operations.golden"
	var text strings.Builder
	list := expressions()
	for _, u := range unsound() {
		list = append(list, u.expression)
	}
	list = append(list, expression{"dropout",
		func(b *builder) *G.Node { return b.must(G.Dropout(b.input("x", 2, 3), 0.25)) }},
		expression{"max pooling of images", func(b *builder) *G.Node {
			return b.must(G.MaxPool2D(b.input("x", 1, 1, 8, 9), tensor.Shape{3, 2}, []int{1, 0},
				[]int{2, 1}))
		}})
	for _, e := range list {
		b := newBuilder(t, 1)
		b.lo, b.hi = 0.5, 2
		out := e.build(b)
		net, _, err := interop.FromGraph(out)
		if err != nil {
			t.Fatalf("%s: %v", e.name, err)
		}
		fmt.Fprintf(&text, "%s\n", e.name)
		for _, line := range operationTexts(out) {
			fmt.Fprintf(&text, "\t%s\n", line)
		}
		for _, line := range operators(t, net) {
			fmt.Fprintf(&text, "\t\t%s\n", line)
		}
	}
	if *rewrite {
		if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	gotLines, wantLines := strings.Split(text.String(), "\n"), strings.Split(string(want), "\n")
	for i := range max(len(gotLines), len(wantLines)) {
		if i >= len(gotLines) || i >= len(wantLines) || gotLines[i] != wantLines[i] {
			t.Fatalf("%s:%d: got %q, want %q", path, i+1, gotLines[min(i, len(gotLines)-1)],
				wantLines[min(i, len(wantLines)-1)])
		}
	}
}

// operationTexts returns the texts of what out is computed from, out last.
func operationTexts(out *G.Node) (list []string) {
	seen := map[int64]bool{}
	graph := out.Graph().ExactSubgraphRoots(out)
	var visit func(n *G.Node)
	visit = func(n *G.Node) {
		if seen[n.ID()] || n.Op() == nil {
			return
		}
		seen[n.ID()] = true
		for it := graph.From(n.ID()); it.Next(); {
			visit(it.Node().(*G.Node))
		}
		list = append(list, fmt.Sprintf("%s -> %v", n.Op(), n.Shape()))
	}
	visit(out)
	return list
}

// operators returns the operators of a symbol with their parameters.
func operators(t *testing.T, net *sym.Symbol) (list []string) {
	t.Helper()
	data, err := net.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var graph struct {
		Nodes []struct {
			Op    string
			Attrs map[string]string
		}
	}
	if err := json.Unmarshal(data, &graph); err != nil {
		t.Fatal(err)
	}
	for _, n := range graph.Nodes {
		if n.Op == "null" {
			continue
		}
		line := n.Op
		for _, key := range slices.Sorted(maps.Keys(n.Attrs)) {
			line += " " + key + "=" + n.Attrs[key]
		}
		list = append(list, line)
	}
	return list
}
