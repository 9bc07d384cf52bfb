package trainer

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"gomx/compile"
	"gomx/device"
	"gomx/dtype"
	"gomx/engine"
	"gomx/op"
	"gomx/runs"
	sym "gomx/symbol"
)

// Network records the graph of a network for inputs of some shapes.
func (r *Recorder) Network(s *sym.Symbol, shapes map[string]dtype.Shape) error {
	if r == nil {
		return nil
	}
	g, err := graphOf(s, shapes)
	if err == nil {
		r.run.Graph(g)
	}
	return err
}

// graphOf describes a network. Parameters have no nodes: the node of an operator says how many it
// has.
func graphOf(s *sym.Symbol, shapes map[string]dtype.Shape) (*runs.Graph, error) {
	sum, err := sym.Summarize(s, shapes)
	if err != nil {
		return nil, err
	}
	g := &runs.Graph{Parameters: sum.Parameters, FLOPs: sum.FLOPs}
	nodes := map[string]*op.Node{}
	for _, n := range s.Nodes() {
		nodes[n.Name] = n
	}
	for i := range sum.Rows {
		row := &sum.Rows[i]
		n := runs.Node{Name: row.Name, Op: row.Op, Kind: "data", In: row.Previous,
			Shape: row.Output, Type: row.Type.String(), Parameters: row.Parameters,
			FLOPs: row.FLOPs}
		if row.Output.Known() {
			n.Bytes = int64(op.Plain(row.Type, row.Output).Bytes)
		}
		if o := nodes[row.Name]; o != nil && !o.IsVar() {
			n.Kind, n.Attrs = o.Op.KindOf().String(), attributes(o)
		}
		g.Nodes = append(g.Nodes, n)
	}
	return g, nil
}

// attributes lists the parameters of a node as text.
func attributes(n *op.Node) string {
	all := n.Op.FormatParams(n.Params)
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(all)) {
		parts = append(parts, k+"="+all[k])
	}
	return strings.Join(parts, " ")
}

// Memory records the plan of an executor's memory.
func (r *Recorder) Memory(m *compile.MemoryPlan) {
	if r == nil || m == nil {
		return
	}
	out := &runs.Memory{Total: m.Plan.Total, Bound: m.Plan.LowerBound, Naive: m.Plan.Naive,
		Steps: m.Steps}
	for i, b := range m.Buffers {
		out.Blocks = append(out.Blocks, runs.Block{Name: b.Name, Kind: b.Kind.String(),
			Offset: m.Plan.Offsets[i], Bytes: b.Bytes, Start: b.Start, End: b.End})
	}
	r.run.Memory(out)
}

// mostBoxes is the greatest number of boxes of a trace: a page with more cannot be read.
const mostBoxes = 20000

// timeline returns a profile as lanes of boxes, with arrows from operations to the ones that need
// their results.
func timeline(p *engine.Profile) *runs.Timeline {
	t := &runs.Timeline{}
	lanes := map[string]int{}
	lane := func(l engine.Lane, worker int, scope bool) int {
		name := "program"
		if !scope {
			name = laneName(l, worker)
		}
		n, ok := lanes[name]
		if !ok {
			n = len(t.Lanes)
			lanes[name], t.Lanes = n, append(t.Lanes, name)
		}
		return n
	}
	spans := p.Spans()
	spans = spans[:min(len(spans), mostBoxes/2)]
	writer := map[*engine.Var]int{}
	for i, s := range spans {
		t.Boxes = append(t.Boxes, runs.Box{Name: s.Name, Lane: lane(s.Lane, s.Worker, s.Scope),
			Start: micros(s.Start), Dur: micros(s.End - s.Start)})
		t.Flows = append(t.Flows, flows(&s, i, writer)...)
	}
	kernels := p.Kernels()
	for _, k := range kernels[:min(len(kernels), mostBoxes/2)] {
		t.Boxes = append(t.Boxes, runs.Box{Name: k.Node, Op: k.Op, Lane: lane(k.Lane, k.Worker,
			false), Depth: 1, Start: micros(k.Start), Dur: micros(k.End - k.Start),
			Bytes: k.Bytes, FLOPs: k.FLOPs})
	}
	return t
}

// flows returns the arrows to operation i, and notes the variables that it writes.
func flows(s *engine.Span, i int, writer map[*engine.Var]int) [][2]int {
	var list [][2]int
	for _, u := range s.Uses {
		if from, ok := writer[u.Var]; ok && !slices.Contains(list, [2]int{from, i}) {
			list = append(list, [2]int{from, i})
		}
	}
	for _, u := range s.Uses {
		if u.Access != engine.Read {
			writer[u.Var] = i
		}
	}
	return list
}

// laneName names the place where an operation ran.
func laneName(l engine.Lane, worker int) string {
	if l.Device.Kind != device.KindCPU {
		return l.String()
	}
	if worker < 0 {
		return "program"
	}
	return fmt.Sprintf("%s worker %d", l, worker)
}

// micros returns a duration in microseconds.
func micros(d time.Duration) float64 { return float64(d) / 1e3 }
