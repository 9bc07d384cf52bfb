package graph

import (
	"math"
	"slices"

	"gomx/device"
	"gomx/op"
)

// MirrorAttr names the attribute of a node that asks for its results to be computed again in the
// backward part (True), or to be kept (False).
const MirrorAttr = "__force_mirroring__"

// RecomputeConfig says how much work to trade for memory.
type RecomputeConfig struct {
	// Forward is the number of outputs that belong to the forward part; the others are gradients.
	Forward int
	// Target is the wanted memory as a fraction of the memory of a plan without recomputation.
	// Recompute chooses the plan with the least work that achieves it, or else the plan with the
	// least memory. Zero recomputes only the nodes whose attribute MirrorAttr is true.
	Target float64
}

// Trade is the result of Recompute: the memory that it saves and the work that it adds.
type Trade struct {
	Before, After int64   // most bytes alive at once, without and with recomputation
	Work, Again   float64 // nanoseconds on one core: the forward part, and its part done twice
	Nodes         int     // number of nodes computed twice
}

// Recompute lets the backward part compute values of the forward part again instead of keeping
// them, as in Chen et al., Training Deep Nets with Sublinear Memory Cost, section 4. The forward
// part is divided into groups at places that few bytes cross. Values that cross such a place are
// kept. When the backward part comes to a group, it computes the other values of the group again,
// but for nodes whose work per byte is above a limit. Recompute chooses groups and limit by
// counting live bytes.
//
// Results stay the same bit for bit: the same kernels see the same inputs, random numbers depend on
// the number of the stream, and a node changes its auxiliary states once, because its second
// computation gets stand-ins for them. Recompute must run after the passes that merge equal nodes.
func Recompute(all []op.Entry, f *Facts, c RecomputeConfig) ([]op.Entry, Trade) {
	r := newRecomputer(all, f, c.Forward)
	none := division{groups: 1, limit: math.Inf(1)}
	best, outs, origin := r.try(none)
	if len(r.back) == 0 {
		return all, best
	}
	before := best.After
	for _, d := range r.divisions(c.Target) {
		t, o, from := r.try(d)
		if better(t, best, int64(c.Target*float64(before))) {
			best, outs, origin = t, o, from
		}
	}
	best.Before = before
	for n, old := range origin {
		for i := range n.NumOutputs() {
			f.copy(n.Entry(i), old.Entry(i))
		}
	}
	return outs, best
}

// better compares two trades: reaching the goal comes first, then work, or memory where neither
// does.
func better(a, b Trade, goal int64) bool {
	ra, rb := a.After <= goal, b.After <= goal
	switch {
	case ra != rb:
		return ra
	case ra:
		return a.Again < b.Again || a.Again == b.Again && a.After < b.After
	}
	return a.After < b.After
}

// division is one way of choosing the values to keep.
type division struct {
	groups int     // number of groups of forward nodes
	limit  float64 // nanoseconds per byte; results of nodes above it are kept
}

// recomputer holds the facts that all divisions of one graph share. Slices from work on are indexed
// by the number of a forward node.
type recomputer struct {
	all     []op.Entry       // outputs, then gradients; not changed
	facts   *Facts           // belongs to the caller; try only reads it
	forward int              // number of outputs
	fwd     []*op.Node       // forward nodes, inputs first
	back    []*op.Node       // backward nodes, inputs first
	id      map[*op.Node]int // numbers of forward nodes
	work    []float64        // nanoseconds on one core; 0 for a variable
	bytes   []int64          // bytes of its results; 0 for a variable
	last    []int            // the last forward node that reads it; its own number if none does
	cross   []int64          // bytes of results made up to it that later forward nodes read
	outs    []bool           // it computes an output
	before  []int64          // bytes of the results of all nodes before it; the total at the end
}

func newRecomputer(all []op.Entry, f *Facts, forward int) *recomputer {
	r := &recomputer{all: all, facts: f, forward: forward, id: map[*op.Node]int{}}
	nodes := IndexPhases(all[:forward], all).Nodes
	n := len(op.Topo(all[:forward]))
	r.fwd, r.back = nodes[:n], nodes[n:]
	r.work, r.bytes, r.last, r.outs = make([]float64, n), make([]int64, n), make([]int, n),
		make([]bool, n)
	r.cross, r.before = make([]int64, n+1), make([]int64, n+1)
	for i, m := range r.fwd {
		r.id[m], r.last[i] = i, i
		if !m.IsVar() {
			r.work[i] = f.work(m)
			for k := range m.NumOutputs() {
				r.bytes[i] += f.bytes(m.Entry(k))
			}
		}
		for _, e := range m.In {
			r.last[r.id[e.Node]] = i
		}
		r.before[i+1] = r.before[i] + r.bytes[i]
	}
	for i := range r.fwd {
		r.cross[i] += r.bytes[i]
		r.cross[r.last[i]] -= r.bytes[i]
	}
	for i := 1; i <= n; i++ {
		r.cross[i] += r.cross[i-1]
	}
	for _, e := range all[:forward] {
		r.outs[r.id[e.Node]] = true
	}
	return r
}

// divisions lists the divisions to try; none if target is not positive.
func (r *recomputer) divisions(target float64) []division {
	if target <= 0 {
		return nil
	}
	var ratios []float64
	for i := range r.fwd {
		if r.bytes[i] > 0 {
			ratios = append(ratios, r.work[i]/float64(r.bytes[i]))
		}
	}
	slices.Sort(ratios)
	limits := []float64{math.Inf(1)}
	for _, q := range []int{60, 70, 80, 90, 95} {
		if len(ratios) > 0 {
			limits = append(limits, ratios[min(len(ratios)*q/100, len(ratios)-1)])
		}
	}
	limits = slices.Compact(limits)
	var list []division
	for _, g := range []int{2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32, 48} {
		for _, l := range limits {
			if g <= len(r.fwd)/2 {
				list = append(list, division{g, l})
			}
		}
	}
	return list
}

// cuts returns the last node of every group: groups hold equal bytes as nearly as places allow that
// few bytes cross.
func (r *recomputer) cuts(groups int) []int {
	n := len(r.fwd)
	var cuts []int
	for g := 1; g < groups; g++ {
		at := func(share float64) int {
			want := int64(share / float64(groups) * float64(r.before[n]))
			i, _ := slices.BinarySearch(r.before, want)
			return min(max(i-1, 0), n-1)
		}
		from, to := at(float64(g)-0.4), at(float64(g)+0.4)
		best := from
		for i := from; i <= to; i++ {
			if r.cross[i] < r.cross[best] {
				best = i
			}
		}
		if len(cuts) == 0 || best > cuts[len(cuts)-1] {
			cuts = append(cuts, best)
		}
	}
	return append(cuts, n-1)
}

// kept says for every forward node whether its results are kept under a division.
func (r *recomputer) kept(d division) []bool {
	keep := make([]bool, len(r.fwd))
	cuts := r.cuts(d.groups)
	g := 0
	for i, m := range r.fwd {
		for i > cuts[g] {
			g++
		}
		keep[i] = g == len(cuts)-1 || r.last[i] > cuts[g] || r.bytes[i] > 0 &&
			r.work[i] > d.limit*float64(r.bytes[i])
		switch m.Attrs[MirrorAttr] {
		case "True", "true", "1":
			keep[i] = false
		case "False", "false", "0":
			keep[i] = true
		}
		keep[i] = keep[i] || m.IsVar() || r.outs[i] || m.Op.Update || m.Op.Derived
	}
	return keep
}

// try carries a division out and counts live bytes.
func (r *recomputer) try(d division) (t Trade, outs []op.Entry, origin map[*op.Node]*op.Node) {
	m := &mirror{r: r, keep: r.kept(d), again: map[*op.Node]*op.Node{},
		made: map[*op.Node]*op.Node{}, origin: map[*op.Node]*op.Node{}}
	for _, b := range r.back {
		m.visit(b)
	}
	outs = slices.Clone(r.all)
	for i, e := range outs[r.forward:] {
		outs[r.forward+i] = op.Entry{Node: m.now(e.Node), Index: e.Index}
	}
	t = Trade{After: r.alive(outs, m.origin), Nodes: len(m.again)}
	for i, n := range r.fwd {
		t.Work += r.work[i]
		if m.again[n] != nil {
			t.Again += r.work[i]
		}
	}
	return t, outs, m.origin
}

// alive returns the most bytes that are alive at once in the arena of a graph, some of whose nodes
// stand for others.
func (r *recomputer) alive(outs []op.Entry, origin map[*op.Node]*op.Node) int64 {
	g := IndexPhases(outs[:r.forward], outs)
	places, bytes := make([]Place, g.NumEntries()), make([]int64, g.NumEntries())
	for i, n := range g.Nodes {
		from, to := g.Out(i)
		known := n
		if old := origin[n]; old != nil {
			known = old
		}
		for e := from; e < to; e++ {
			bytes[e] = r.facts.bytes(known.Entry(e - from))
			if n.IsVar() {
				places[e] = Source
			}
		}
	}
	for _, e := range g.Outputs {
		places[e] = Sink
	}
	s := AssignStorage(g, places, bytes, len(r.fwd), nil)
	live := make([]int64, len(g.Nodes)+1)
	for e, root := range s.Root {
		if root == e && places[e] == Arena {
			live[s.Start[e]] += bytes[e]
			live[s.End[e]+1] -= bytes[e]
		}
	}
	now, most := int64(0), int64(0)
	for _, d := range live {
		now += d
		most = max(most, now)
	}
	return most
}

// bytes returns the size of an entry, zero where its shape is not known.
func (f *Facts) bytes(e op.Entry) int64 {
	s, ok := f.Shapes[e]
	if !ok || !s.Known() {
		return 0
	}
	return int64(s.Size()) * int64(f.Types[e].Size())
}

// work estimates how long a node takes on one core, in nanoseconds, from its operator's cost.
func (f *Facts) work(n *op.Node) float64 {
	in, out := make([]op.Desc, len(n.In)), make([]op.Desc, n.NumOutputs())
	for k, e := range n.In {
		in[k] = f.desc(e)
	}
	for i := range out {
		out[i] = f.desc(n.Entry(i))
	}
	c := n.Op.Cost(n.Params, in, out)
	return device.Work{Flops: float64(c.FLOPs), Bytes: float64(c.Bytes)}.NS()
}

// desc describes an entry as a plain operand, of unknown shape where nothing is known of it.
func (f *Facts) desc(e op.Entry) op.Desc { return op.Plain(f.Types[e], f.Shapes[e]) }
