package plot_test

import (
	"encoding/xml"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"gomx/internal/plot"
)

// boxes reads the boxes of nodes back from a picture: white ones with a border.
func boxes(t *testing.T, svg string) (list [][4]float64) {
	t.Helper()
	dec := xml.NewDecoder(strings.NewReader(svg))
	for {
		tok, err := dec.Token()
		if err == io.EOF {
			return list
		}
		if err != nil {
			t.Fatalf("not XML: %v", err)
		}
		e, ok := tok.(xml.StartElement)
		if !ok || e.Name.Local != "rect" {
			continue
		}
		var b [4]float64
		found := false
		for _, a := range e.Attr {
			for k, name := range []string{"x", "y", "width", "height"} {
				if a.Name.Local == name {
					_, _ = fmt.Sscan(a.Value, &b[k])
				}
			}
			found = found || a.Name.Local == "stroke" && a.Value == "#777777"
		}
		if found {
			list = append(list, b)
		}
	}
}

// TestGraphBoxesDoNotOverlap draws random graphs.
func TestGraphBoxesDoNotOverlap(t *testing.T) {
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 3))
		g := &plot.Graph{Title: "random <graph>", Kinds: []string{"a", "b"}}
		for i := range 2 + rng.IntN(40) {
			n := plot.GraphNode{Kind: "a", Lines: []string{fmt.Sprintf("node%d", i),
				strings.Repeat("x", rng.IntN(20))}, Flow: "(1, 2) & 3 B",
				Cluster: fmt.Sprint(i / 4)}
			g.Nodes = append(g.Nodes, n)
			for range min(i, rng.IntN(3)) {
				g.Edges = append(g.Edges, [2]int{rng.IntN(i), i})
			}
		}
		var b strings.Builder
		if err := g.WriteSVG(&b); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		list := boxes(t, b.String())
		if len(list) != len(g.Nodes) {
			t.Fatalf("seed %d: %d boxes, want %d", seed, len(list), len(g.Nodes))
		}
		for i, a := range list {
			for _, c := range list[:i] {
				if a[0] < c[0]+c[2]-0.2 && c[0] < a[0]+a[2]-0.2 && a[1] < c[1]+c[3] &&
					c[1] < a[1]+a[3] {
					t.Errorf("seed %d: boxes %v and %v overlap", seed, a, c)
				}
			}
		}
	}
}

func TestGraphRefusesWhatItCannotDraw(t *testing.T) {
	node := plot.GraphNode{Lines: []string{"n"}}
	for name, g := range map[string]*plot.Graph{
		"nothing":     {},
		"a cycle":     {Nodes: []plot.GraphNode{node, node}, Edges: [][2]int{{0, 1}, {1, 0}}},
		"a lost edge": {Nodes: []plot.GraphNode{node}, Edges: [][2]int{{0, 1}}},
	} {
		if err := g.WriteSVG(io.Discard); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}
