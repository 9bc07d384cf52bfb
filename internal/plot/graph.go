package plot

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
)

// Graph is a picture of operators and the data between them, from top to bottom.
type Graph struct {
	Title string
	Kinds []string // kinds, in the order of the legend and of the colours
	Nodes []GraphNode
	Edges [][2]int // edges from node to node, by index
}

// GraphNode is a box with lines of text.
type GraphNode struct {
	Kind  string
	Lines []string // the first line is bold
	Flow  string   // text below the box that describes the output
	// Cluster names a group of nodes. They get a common frame, if their places allow it. May be
	// empty.
	Cluster string
}

// Sizes of the picture in pixels.
const (
	graphChar    = 6.3 // width of a character
	graphBold    = 7.6 // width of a bold character
	graphLine    = 14.0
	graphPad     = 9.0
	graphGap     = 40.0 // between ranks, with space for Flow
	graphSpace   = 26.0 // between boxes of a rank
	graphMargin  = 30.0
	graphHead    = 66.0
	graphThin    = 14.0 // width of an edge that passes a rank
	graphSweeps  = 12
	clusterInset = 9.0
)

// place is the place of a box, or of an edge that passes a rank.
type place struct {
	node     int // -1: an edge
	rank     int
	x        float64 // center
	w, h     float64
	up, down []int // connected places above and below
}

// graphPicture is a graph being drawn.
type graphPicture struct {
	*Graph
	svg
	places []place
	ranks  [][]int // places from left to right
	y      []float64
	height []float64
	paths  [][]int // places that each edge passes, including its ends
}

// WriteSVG draws the graph in layers: every box is below all boxes that it reads. Edges that pass
// other layers go around their boxes.
func (g *Graph) WriteSVG(w io.Writer) error {
	if len(g.Nodes) == 0 {
		return fmt.Errorf("plot: graph %q has no nodes", g.Title)
	}
	for _, e := range g.Edges {
		if e[0] < 0 || e[0] >= len(g.Nodes) || e[1] < 0 || e[1] >= len(g.Nodes) {
			return fmt.Errorf("plot: graph %q has an edge from %d to %d, but %d nodes", g.Title,
				e[0], e[1], len(g.Nodes))
		}
	}
	p := &graphPicture{Graph: g, svg: svg{bufio.NewWriter(w)}}
	if err := p.layer(); err != nil {
		return err
	}
	for sweep := range graphSweeps {
		p.order(sweep%2 == 1)
	}
	p.align()
	p.draw()
	return p.close()
}

// layer gives every node a rank, and every edge a place on each rank that it passes.
func (p *graphPicture) layer() error {
	ranks, err := p.rankNodes()
	if err != nil {
		return err
	}
	p.ranks = make([][]int, slices.Max(ranks)+1)
	for i, n := range p.Nodes {
		w := 0.0
		for k, line := range n.Lines {
			width := graphChar
			if k == 0 {
				width = graphBold
			}
			w = max(w, width*float64(len([]rune(line))))
		}
		w = max(w+2*graphPad, graphChar*0.9*float64(len([]rune(n.Flow)))+8)
		p.add(place{node: i, rank: ranks[i], w: w, h: graphLine*float64(len(n.Lines)) + 2*graphPad -
			4})
	}
	seen := map[[2]int]bool{}
	for _, e := range p.Edges {
		if seen[e] {
			continue
		}
		seen[e] = true
		path := []int{e[0]}
		for r := ranks[e[0]] + 1; r < ranks[e[1]]; r++ {
			path = append(path, p.add(place{node: -1, rank: r, w: graphThin}))
		}
		path = append(path, e[1])
		for k := 1; k < len(path); k++ {
			p.places[path[k-1]].down = append(p.places[path[k-1]].down, path[k])
			p.places[path[k]].up = append(p.places[path[k]].up, path[k-1])
		}
		p.paths = append(p.paths, path)
	}
	return nil
}

func (p *graphPicture) add(q place) int {
	p.places = append(p.places, q)
	p.ranks[q.rank] = append(p.ranks[q.rank], len(p.places)-1)
	return len(p.places) - 1
}

// rankNodes puts every node below the nodes that it reads. A node without inputs is directly above
// its first reader.
func (p *graphPicture) rankNodes() ([]int, error) {
	rank, waits := make([]int, len(p.Nodes)), make([]int, len(p.Nodes))
	out := make([][]int, len(p.Nodes))
	for _, e := range p.Edges {
		waits[e[1]]++
		out[e[0]] = append(out[e[0]], e[1])
	}
	var ready []int
	for i, n := range waits {
		if n == 0 {
			ready = append(ready, i)
		}
	}
	sources := slices.Clone(ready)
	done := 0
	for ; done < len(ready); done++ {
		for _, t := range out[ready[done]] {
			rank[t] = max(rank[t], rank[ready[done]]+1)
			if waits[t]--; waits[t] == 0 {
				ready = append(ready, t)
			}
		}
	}
	if done < len(p.Nodes) {
		return nil, fmt.Errorf("plot: graph %q has a cycle", p.Title)
	}
	for _, s := range sources {
		first := math.MaxInt
		for _, t := range out[s] {
			first = min(first, rank[t]-1)
		}
		if first < math.MaxInt {
			rank[s] = first
		}
	}
	return rank, nil
}

// order sorts the places of every rank by the mean position of their connected places above, or
// below if upward is true.
func (p *graphPicture) order(upward bool) {
	at := make([]float64, len(p.places)) // place in the rank, from 0 to 1
	number := func(rank []int) {
		for k, i := range rank {
			at[i] = (float64(k) + 0.5) / float64(len(rank))
		}
	}
	for _, rank := range p.ranks {
		number(rank)
	}
	for k := range p.ranks {
		rank := p.ranks[k]
		if upward {
			rank = p.ranks[len(p.ranks)-1-k]
		}
		key := map[int]float64{}
		for _, i := range rank {
			joined := p.places[i].up
			if upward {
				joined = p.places[i].down
			}
			key[i] = at[i]
			if len(joined) > 0 {
				sum := 0.0
				for _, j := range joined {
					sum += at[j]
				}
				key[i] = sum / float64(len(joined))
			}
		}
		slices.SortStableFunc(rank, func(a, b int) int { return cmp.Compare(key[a], key[b]) })
		number(rank)
	}
}
