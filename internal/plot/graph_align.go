package plot

import (
	"math"
	"slices"
)

// align computes the x of every place: near the mean of its connected places, in the order of its
// rank, without overlap.
func (p *graphPicture) align() {
	for _, rank := range p.ranks {
		x := 0.0
		for _, i := range rank {
			p.places[i].x = x + p.places[i].w/2
			x += p.places[i].w + graphSpace
		}
	}
	for sweep := range 4*graphSweeps + 1 {
		for k := range p.ranks {
			r := k
			if sweep%2 == 1 {
				r = len(p.ranks) - 1 - k
			}
			p.settle(p.ranks[r], sweep)
		}
	}
	left := math.Inf(1)
	for i := range p.places {
		left = min(left, p.places[i].x-p.places[i].w/2)
	}
	for i := range p.places {
		p.places[i].x += graphMargin - left
	}
	p.y, p.height = make([]float64, len(p.ranks)), make([]float64, len(p.ranks))
	y := graphHead
	for r, rank := range p.ranks {
		for _, i := range rank {
			p.height[r] = max(p.height[r], p.places[i].h)
		}
		p.y[r] = y
		y += p.height[r] + graphGap
	}
}

// block is a sequence of neighbours at their smallest distances.
type block struct {
	first, n    int
	x           float64 // wanted x of the rank's first place
	sum, weight float64
}

// settle moves the places of a rank to their wanted positions, as far as their neighbours allow.
// Places that would overlap form a block at the mean of their wanted positions.
func (p *graphPicture) settle(rank []int, sweep int) {
	offset := make([]float64, len(rank)) // distance of a place from the rank's first place
	var blocks []block
	for k, i := range rank {
		if k > 0 {
			prev := rank[k-1]
			offset[k] = offset[k-1] + (p.places[prev].w+p.places[i].w)/2 + p.space(prev, i)
		}
		want, weight := p.wish(i, sweep)
		blocks = append(blocks, block{k, 1, want - offset[k], (want - offset[k]) * weight, weight})
		for len(blocks) > 1 && blocks[len(blocks)-2].x > blocks[len(blocks)-1].x {
			a, c := blocks[len(blocks)-2], blocks[len(blocks)-1]
			a.n, a.sum, a.weight = a.n+c.n, a.sum+c.sum, a.weight+c.weight
			a.x = a.sum / a.weight
			blocks = append(blocks[:len(blocks)-2], a)
		}
	}
	for _, b := range blocks {
		for k := b.first; k < b.first+b.n; k++ {
			p.places[rank[k]].x = b.x + offset[k]
		}
	}
}

// space is the distance between two neighbours: edges may be closer together than boxes.
func (p *graphPicture) space(a, b int) float64 {
	if p.places[a].node < 0 && p.places[b].node < 0 {
		return graphSpace / 3
	}
	return graphSpace
}

// wish returns the wanted x of a place and its weight. Straight edges have more weight than
// centered boxes.
func (p *graphPicture) wish(i, sweep int) (x, weight float64) {
	q := &p.places[i]
	joined := q.up
	switch {
	case sweep%2 == 1:
		joined = q.down
	}
	if len(joined) == 0 {
		return q.x, 0.1
	}
	list := make([]float64, len(joined))
	for k, j := range joined {
		list[k] = p.places[j].x
	}
	slices.Sort(list)
	weight = 1
	if q.node < 0 {
		weight = 4
	}
	return (list[(len(list)-1)/2] + list[len(list)/2]) / 2, weight
}
