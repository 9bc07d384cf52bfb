package compile

import (
	"gomx/device"
	"gomx/memplan"
	"gomx/op"
)

// Branches of a graph that do not depend on each other may run side by side on the queues of one
// device. Every node is given a lane: a node goes on where one of its inputs was computed last, so
// that a chain stays in one lane; a branch begins in a lane whose last node it needs anyway. A lane
// waits for another by an event, as segments wait for each other's tokens wherever they run.

// noTip is the tip of a lane that has no node yet.
const noTip = -1

// branches is the state of spreadBranches.
type branches struct {
	u     *Unit          // read, but for the lanes of its draft
	order *memplan.Order // of nodes, by number
	tips  []int          // by lane: the last node, or noTip
	last  int            // lane of the last node
}

// spreadBranches gives the nodes of a program lanes, if it runs on one device and may use several
// queues. Steps are visited in their order, which keeps the depth of a branch together.
func spreadBranches(u *Unit) {
	lanes := min(u.opt.Streams, 1+device.Beside)
	if lanes < 2 || u.opt.Spread != nil {
		return
	}
	b := &branches{u: u, order: memplan.NewOrder(len(u.prog.Graph.Nodes)), tips: make([]int, lanes)}
	for i := range b.tips {
		b.tips[i] = noTip
	}
	u.draft.lanes = map[*op.Node]int{}
	for i := range u.prog.Steps {
		s := &u.prog.Steps[i]
		for _, before := range b.u.prog.producers(s.Node) {
			b.order.Add(before, s.Index)
		}
		lane := b.choose(s)
		b.tips[lane], b.last = s.Index, lane
		u.draft.lanes[s.Node] = lane
	}
}

// producers lists the numbers of the operators that n waits for: for their results, or as its
// control dependencies.
func (p *Program) producers(n *op.Node) (list []int) {
	add := func(m *op.Node) {
		if !m.IsVar() {
			i, _ := p.Graph.Node(m)
			list = append(list, i)
		}
	}
	for _, e := range n.In {
		add(e.Node)
	}
	for _, a := range n.After {
		add(a)
	}
	return list
}

// choose returns the lane of a step: the one in which an input was computed last; else one whose
// tip comes before the step anyway, so that it is idle then; else the lane of the first input. A
// step that needs no other, as one that makes another form of a parameter, stays in the lane of the
// step before it.
func (b *branches) choose(s *Step) int {
	before := b.u.prog.producers(s.Node)
	if len(before) == 0 {
		return b.last
	}
	for lane, tip := range b.tips {
		for _, i := range before {
			if i == tip {
				return lane
			}
		}
	}
	for lane, tip := range b.tips {
		if tip == noTip || b.order.Has(tip, s.Index) {
			return lane
		}
	}
	return b.u.draft.lanes[b.u.prog.Graph.Nodes[before[0]]]
}
