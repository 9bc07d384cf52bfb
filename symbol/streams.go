package symbol

import (
	"gomx/device"
	"gomx/engine"
	"gomx/memplan"
	"gomx/op"
)

// Branches of a graph that do not depend on each other may run side by side on the queues of one device. Every node is given a lane: a node goes on where
// one of its inputs was computed last, so that a chain stays in one lane; a branch begins in a lane whose last node it needs anyway. What one lane needs of
// another it waits for by an event, as segments wait for each other's tokens wherever they run.

// branches is the state of spreadBranches.
type branches struct {
	p     *program
	order *memplan.Order // of nodes, by number
	tips  []int          // by lane: the last node, -1 before the first
	last  int            // the lane of the last node
}

// spreadBranches gives the nodes of a program lanes, if it runs on one device that has several queues for kernels.
func (p *program) spreadBranches() {
	lanes := min(p.ex.config.Streams, 1+device.Beside)
	if lanes < 2 || p.ex.spread != nil || !device.HasQueues(p.ex.config.Device.Kind) {
		return
	}
	b := &branches{p: p, order: memplan.NewOrder(len(p.g.Nodes)), tips: make([]int, lanes)}
	for i := range b.tips {
		b.tips[i] = -1
	}
	p.beside = map[*op.Node]int{}
	for i := range p.steps {
		s := &p.steps[i]
		for _, before := range b.before(s.node) {
			b.order.Add(before, s.index)
		}
		lane := b.choose(s)
		b.tips[lane], b.last = s.index, lane
		p.beside[s.node] = lane
	}
}

// before lists the numbers of the operators that n waits for.
func (b *branches) before(n *op.Node) (list []int) {
	for _, e := range n.In {
		if i, ok := b.p.g.Node(e.Node); ok && !e.Node.IsVar() {
			list = append(list, i)
		}
	}
	for _, a := range n.After {
		if i, ok := b.p.g.Node(a); ok && !a.IsVar() {
			list = append(list, i)
		}
	}
	return list
}

// choose returns the lane of a step. One that needs no other, as what makes another form of a parameter, stays where the one before it is.
func (b *branches) choose(s *step) int {
	before := b.before(s.node)
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
		if tip < 0 || b.order.Has(tip, s.index) {
			return lane
		}
	}
	return b.p.beside[b.p.g.Nodes[before[0]]]
}

// crosses reports whether a step reads what another lane computes.
func (p *program) crosses(s *step) bool {
	for _, e := range s.node.In {
		if p.beside != nil && !e.Node.IsVar() && p.beside[e.Node] != p.beside[s.node] {
			return true
		}
	}
	return false
}

// branchLane is the lane of a node among those for kernels.
func (p *program) branchLane(n *op.Node) engine.LaneKind {
	if k := p.beside[n]; k > 0 {
		return engine.Beside + engine.LaneKind(k-1)
	}
	return engine.Compute
}

// queueOf returns the queue of a lane for kernels.
func queueOf(l engine.Lane) (device.Queue, error) {
	kind := device.QueueCompute
	if l.Kind >= engine.Beside {
		kind = device.QueueBeside + device.QueueKind(l.Kind-engine.Beside)
	}
	return device.QueueOf(l.Device, kind)
}
