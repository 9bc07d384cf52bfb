package symbol

import (
	"fmt"
	"io"

	"gomx/memplan"
)

// MemoryPlan is where everything between the arguments and the outputs of a compiled graph lies, and when. Steps are
// numbered as Steps lists them.
type MemoryPlan struct {
	Plan    *memplan.Plan
	Buffers []memplan.Buffer // in-place chains are one buffer with several values
	Steps   []string         // names of the operators in the order of the plan
}

// MemoryPlan returns the plan of a mode, which is compiled if it has not been.
func (ex *Executor) MemoryPlan(train bool) (*MemoryPlan, error) {
	b, err := ex.program(train)
	if err != nil {
		return nil, err
	}
	p := b.p
	m := &MemoryPlan{Plan: p.plan}
	buffers, bufferOf, _ := p.buffers()
	forward := len(p.g.Nodes)
	if p.train && p.forward < len(p.segments) {
		forward = p.steps[p.segments[p.forward].from].index
	}
	for i, n := range p.g.Nodes {
		m.Steps = append(m.Steps, n.Name)
		from, to := p.g.Out(i)
		for e := from; e < to; e++ {
			k, ok := bufferOf[p.store.Root[e]]
			if !ok || p.store.Bytes[e] == 0 {
				continue
			}
			buffers[k].Values = append(buffers[k].Values, memplan.Value{Name: n.Entry(e - from).String(), Step: i})
			if p.store.Root[e] == e && i >= forward {
				buffers[k].Kind = memplan.Gradient
			}
		}
	}
	for k := range buffers {
		if len(buffers[k].Values) == 1 {
			buffers[k].Values = nil
		}
	}
	m.Buffers = buffers
	if len(m.Plan.Offsets) != len(m.Buffers) {
		return nil, fmt.Errorf("symbol: the plan has %d buffers, the graph %d", len(m.Plan.Offsets), len(m.Buffers))
	}
	return m, nil
}

// WriteSVG draws the plan: time from left to right, addresses from bottom to top.
func (m *MemoryPlan) WriteSVG(w io.Writer) error { return m.Plan.SVG(w, m.Buffers) }
