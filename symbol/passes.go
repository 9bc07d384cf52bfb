package symbol

import (
	"fmt"
	"strings"

	"gomx/dtype"
	"gomx/graph"
	nd "gomx/ndarray"
	"gomx/op"
)

// passes lists the passes of stages that the configuration leaves on.
func (p *program) passes(stages ...graph.Stage) []graph.Pass {
	c := &p.ex.config
	if c.NoFusion {
		return nil
	}
	var list []graph.Pass
	for _, pass := range graph.Select(c.Without, stages...) {
		if !pass.Host || p.ex.onHost() {
			list = append(list, pass)
		}
	}
	return list
}

// checkPasses reports a name that no pass has.
func checkPasses(names []string) error {
	all := map[string]bool{}
	for _, pass := range graph.Passes() {
		all[pass.Name] = true
	}
	for _, name := range names {
		if !all[name] {
			return fmt.Errorf("symbol: no pass %q, want one of %s", name, strings.Join(sortedKeys(all), ", "))
		}
	}
	return nil
}

// optimize runs the passes for graphs without gradient.
func (p *program) optimize(outs []op.Entry) ([]op.Entry, error) {
	outs, err := p.mixPrecision(outs)
	if err != nil {
		return nil, err
	}
	outs = graph.Streams(outs)
	mode := graph.Inferring
	if p.train {
		mode = graph.Training
	}
	f, err := p.facts(outs)
	if err != nil {
		return nil, err
	}
	outs, applied := graph.Run(p.passes(graph.Composed, mode), outs, f)
	p.applied = append(p.applied, applied...)
	return outs, nil
}

// optimizeAll runs the passes for the whole graph, whose outputs begin with those of the forward part and end with the
// gradients.
func (p *program) optimizeAll(outs, all []op.Entry, grads []gradient) (forward, list []op.Entry, err error) {
	passes := p.passes(graph.Compiled)
	if len(passes) == 0 {
		return outs, all, nil
	}
	f, err := p.factsOf(all, grads)
	if err != nil {
		return nil, nil, err
	}
	f.Forward, f.Device = len(outs), p.ex.config.Device
	list, applied := graph.Run(passes, all, f)
	p.applied = append(p.applied, applied...)
	for i := range grads {
		grads[i].entry = list[len(outs)+i]
	}
	return list[:len(outs)], list, nil
}

// factsOf infers the shapes and element types of the graph that computes outs from the arrays that are bound.
func (p *program) factsOf(outs []op.Entry, grads []gradient) (*graph.Facts, error) {
	old := map[*op.Node]*nd.Array{}
	for _, g := range grads {
		if g.old != nil {
			old[g.old] = p.ex.Grads[g.arg]
		}
	}
	g := graph.Index(outs)
	shapes, types := make([]dtype.Shape, g.NumEntries()), make([]dtype.Type, g.NumEntries())
	for i := range types {
		types[i] = dtype.Unknown
	}
	for i, n := range g.Nodes {
		if a := p.boundTo(n, old); a != nil {
			e, _ := g.Out(i)
			shapes[e], types[e] = a.Shape(), a.DType()
		}
	}
	if err := graph.InferShapes(g, shapes); err != nil {
		return nil, err
	}
	if err := graph.InferTypes(g, types); err != nil {
		return nil, err
	}
	return graph.FactsOf(g, shapes, types), nil
}

// boundTo returns the array that variable n stands for, nil for other nodes.
func (p *program) boundTo(n *op.Node, old map[*op.Node]*nd.Array) *nd.Array {
	if !n.IsVar() {
		return nil
	}
	if a := old[n]; a != nil {
		return a
	}
	if s, ok := p.slotName[n.Name]; ok {
		return p.slots[s].array
	}
	if a := p.ex.Args[n.Name]; a != nil {
		return a
	}
	return p.ex.Aux[n.Name]
}
