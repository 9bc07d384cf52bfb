package symbol

import (
	"gomx/graph"
	"gomx/op"
)

// mirrorAttr names the attribute that asks for a node to be computed again in the backward part.
const mirrorAttr = "__force_mirroring__"

// recompute trades time for memory as the configuration asks. It comes after all passes that merge
// equal nodes.
func (p *program) recompute(outs, all []op.Entry, grads []gradient) ([]op.Entry, error) {
	if !p.train || len(grads) == 0 || p.ex.config.Recompute <= 0 && !mirrored(outs) {
		return all, nil
	}
	f, err := p.factsOf(all, grads)
	if err != nil {
		return nil, err
	}
	all, p.trade = graph.Recompute(all, f, graph.RecomputeConfig{Forward: len(outs), Target: p.ex.config.Recompute})
	for i := range grads {
		grads[i].entry = all[len(outs)+i]
	}
	return all, nil
}

// mirrored reports whether some node asks to be computed again.
func mirrored(outs []op.Entry) bool {
	for _, n := range op.Topo(outs) {
		if n.Attrs[mirrorAttr] != "" && !n.IsVar() {
			return true
		}
	}
	return false
}
