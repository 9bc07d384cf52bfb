package plot

import (
	"math"
	"slices"
)

// frame is the box around the nodes of a cluster.
type frame struct {
	name                     string
	left, top, right, bottom float64
}

func (f *frame) meets(g *frame) bool {
	return f.left < g.right && g.left < f.right && f.top < g.bottom && g.top < f.bottom
}

// draw writes frames, edges, boxes and the texts of outputs, in this order.
func (p *graphPicture) draw() {
	width := 2 * graphMargin
	for _, kind := range p.Kinds {
		width += 34 + graphChar*float64(len([]rune(kind)))
	}
	for i := range p.places {
		width = max(width, p.places[i].x+p.places[i].w/2+graphMargin)
	}
	last := len(p.ranks) - 1
	p.open(width, p.y[last]+p.height[last]+graphMargin+16)
	p.text(graphMargin, 24, `font-size="15"`, clean(p.Title))
	p.legend()
	for _, f := range p.frames() {
		p.printf(`<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="8" fill="#000000" `+
			`fill-opacity="0.04" stroke="#bbbbbb" stroke-dasharray="4 3"/>`+"\n",
			f.left, f.top, f.right-f.left, f.bottom-f.top)
		p.text(f.left+6, f.top+11, `font-size="10" fill="#777777"`, clean(f.name))
	}
	for _, path := range p.paths {
		p.edge(path)
	}
	for i := range p.places {
		if p.places[i].node >= 0 {
			p.box(&p.places[i])
		}
	}
}

func (p *graphPicture) legend() {
	x := graphMargin
	for i, kind := range p.Kinds {
		if !slices.ContainsFunc(p.Nodes, func(n GraphNode) bool { return n.Kind == kind }) {
			continue
		}
		p.printf(`<rect x="%.1f" y="36" width="12" height="12" rx="2" fill="%s"/>`+"\n", x, fill(i))
		p.text(x+17, 46, `font-size="11"`, clean(kind))
		x += 34 + graphChar*float64(len([]rune(kind)))
	}
}

// frames returns the boxes of clusters of two or more nodes that overlap no other node and no other
// frame.
func (p *graphPicture) frames() []frame {
	list := p.clusters()
	free := func(f *frame) bool {
		for i := range p.places {
			q := &p.places[i]
			b := frame{"", q.x - q.w/2, p.top(q), q.x + q.w/2, p.top(q) + q.h}
			if q.node >= 0 && p.Nodes[q.node].Cluster != f.name && f.meets(&b) {
				return false
			}
		}
		return !slices.ContainsFunc(list, func(g frame) bool {
			return g.name != f.name && f.meets(&g)
		})
	}
	var kept []frame
	for i := range list {
		if free(&list[i]) {
			kept = append(kept, list[i])
		}
	}
	return kept
}

// clusters returns the boxes around all clusters.
func (p *graphPicture) clusters() (list []frame) {
	index, count := map[string]int{}, map[string]int{}
	for _, n := range p.Nodes {
		count[n.Cluster]++
	}
	for i := range p.places {
		q := &p.places[i]
		if q.node < 0 || p.Nodes[q.node].Cluster == "" || count[p.Nodes[q.node].Cluster] < 2 {
			continue
		}
		name := p.Nodes[q.node].Cluster
		k, ok := index[name]
		if !ok {
			k = len(list)
			index[name] = k
			list = append(list, frame{name, math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)})
		}
		f, y := &list[k], p.top(q)
		f.left, f.right = min(f.left, q.x-q.w/2-clusterInset), max(f.right, q.x+q.w/2+clusterInset)
		f.top, f.bottom = min(f.top, y-clusterInset-8), max(f.bottom, y+q.h+18)
	}
	return list
}

// top returns the y of a place's upper border.
func (p *graphPicture) top(q *place) float64 { return p.y[q.rank] + (p.height[q.rank]-q.h)/2 }

// edge draws a line through the places of a path. It is vertical in ranks and curved between them.
func (p *graphPicture) edge(path []int) {
	const tip = 5.0
	from := &p.places[path[0]]
	x, y := from.x, p.top(from)+from.h
	p.printf(`<path d="M%.1f,%.1f`, x, y)
	for k := 1; k < len(path); k++ {
		q := &p.places[path[k]]
		top, bottom := p.y[q.rank], p.y[q.rank]+p.height[q.rank]
		if q.node >= 0 {
			top = p.top(q) - tip
			bottom = top
		}
		bend := (top - y) * 0.5
		p.printf(` C%.1f,%.1f %.1f,%.1f %.1f,%.1f`, x, y+bend, q.x, top-bend, q.x, top)
		if bottom > top {
			p.printf(` L%.1f,%.1f`, q.x, bottom)
		}
		x, y = q.x, bottom
	}
	p.printf(`" fill="none" stroke="#888888" stroke-width="1.1"/>`)
	p.printf(`<path d="M%.1f,%.1f l-3.5,-6 l7,0 z" fill="#888888"/>`+"\n", x, y+tip)
}

func (p *graphPicture) box(q *place) {
	n := &p.Nodes[q.node]
	y := p.top(q)
	p.printf(`<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="4" fill="#ffffff" `+
		`stroke="#777777" stroke-width="0.8"/>`, q.x-q.w/2, y, q.w, q.h)
	p.printf(`<rect x="%.1f" y="%.1f" width="5" height="%.1f" rx="2" fill="%s"/>`+"\n", q.x-q.w/2,
		y, q.h, fill(slices.Index(p.Kinds, n.Kind)))
	for k, line := range n.Lines {
		attributes := `text-anchor="middle" font-size="10.5" fill="#555555"`
		if k == 0 {
			attributes = `text-anchor="middle" font-size="11.5" font-weight="bold"`
		}
		p.text(q.x+2, y+graphPad+6+graphLine*float64(k), attributes, clean(line))
	}
	if n.Flow != "" {
		p.text(q.x, y+q.h+12, `text-anchor="middle" font-size="10" fill="#4c6a92" `+
			`stroke="#ffffff" stroke-width="3" paint-order="stroke"`, clean(n.Flow))
	}
}
