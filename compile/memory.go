package compile

import (
	"fmt"
	"io"
	"slices"

	"gomx/device"
	"gomx/memplan"
)

// MemoryUse is the memory that a program needs beside the arrays bound to it, in bytes.
type MemoryUse struct {
	Arena      int64 // planned memory, scratch of kernels included
	LowerBound int64 // the most that is alive at one time: no plan is smaller
	Unshared   int64 // the same without sharing
	Outputs    int64 // arrays of the outputs
	Kept       int64 // parameters in another form, folded or blocked, kept between runs

	// Values is Arena without the memory that kernels need for themselves: scratch, and values that
	// they keep for their gradients. MXNet's figures of planned memory compare with this one.
	Values int64

	Recomputed int // nodes of the forward part that the backward part computes again

	On map[device.Device]int64 // the part of Arena on each device
}

// MemoryUse returns the memory of a program.
func (p *Program) MemoryUse() MemoryUse {
	m := &p.Memory
	use := MemoryUse{Arena: m.Plan.Total, LowerBound: m.Plan.LowerBound, Unshared: m.Plan.Naive,
		Outputs: m.Outputs, Kept: m.Kept,
		Values: m.values(), Recomputed: m.Trade.Nodes, On: map[device.Device]int64{}}
	for _, r := range m.Rooms {
		use.On[r.Device] += r.Bytes
	}
	return use
}

// values returns the size of a plan without the working memory of kernels, which costs a second
// plan where there is such memory.
func (m *Memory) values() int64 {
	list := slices.DeleteFunc(slices.Clone(m.Buffers),
		func(b memplan.Buffer) bool { return b.Kind == memplan.Scratch })
	if len(list) == len(m.Buffers) {
		return m.Plan.Total
	}
	plan, err := memplan.Compute(list, nil, m.config())
	if err != nil {
		panic(err) // a part of a list that has been planned already
	}
	return plan.Total
}

// MemoryPlan gives each value between the arguments and the outputs of a program its bytes and its
// first and last step. Pictures and reports show it, as `gomx inspect` does. The number of a step
// is its index in Steps.
type MemoryPlan struct {
	Plan    *memplan.Plan
	Buffers []memplan.Buffer // in-place chains are one buffer with several values
	Steps   []string         // names of the operators in the order of the plan
}

// MemoryPlan returns the plan of a program, with the names of the values. Buffers of the backward
// part are of the kind Gradient. The result shares only Plan with the program.
func (p *Program) MemoryPlan() (*MemoryPlan, error) {
	m := &MemoryPlan{Plan: p.Memory.Plan, Buffers: slices.Clone(p.Memory.Buffers)}
	store := p.Memory.Store
	forward := len(p.Graph.Nodes)
	if p.Train && p.HasBackward() {
		forward = p.Steps[p.Segments[p.Forward].From].Index
	}
	for i, n := range p.Graph.Nodes {
		m.Steps = append(m.Steps, n.Name)
		from, to := p.Graph.Out(i)
		for e := from; e < to; e++ {
			k, ok := p.Memory.BufferOf[store.Root[e]]
			if !ok || store.Bytes[e] == 0 {
				continue
			}
			m.Buffers[k].Values = append(m.Buffers[k].Values,
				memplan.Value{Name: n.Entry(e - from).String(), Step: i})
			if store.Root[e] == e && i >= forward {
				m.Buffers[k].Kind = memplan.Gradient
			}
		}
	}
	for k := range m.Buffers {
		if len(m.Buffers[k].Values) == 1 {
			m.Buffers[k].Values = nil
		}
	}
	if len(m.Plan.Offsets) != len(m.Buffers) {
		return nil, fmt.Errorf("compile: the plan has %d buffers, the graph %d",
			len(m.Plan.Offsets), len(m.Buffers))
	}
	return m, nil
}

// WriteSVG draws the plan: time from left to right, addresses from bottom to top.
func (m *MemoryPlan) WriteSVG(w io.Writer) error { return m.Plan.SVG(w, m.Buffers) }
