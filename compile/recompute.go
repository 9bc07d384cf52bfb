package compile

import (
	"gomx/graph"
	"gomx/op"
)

// recompute trades time for memory as the options ask (Chen et al., Training Deep Nets with
// Sublinear Memory Cost, 2016). It needs gradients: without a backward part no value is kept for
// it. MXNet has the same as backward mirroring, for nodes with the attribute.
func recompute(u *Unit) error {
	if len(u.Grads) == 0 || u.opt.Recompute <= 0 && !mirrored(u.Outs) {
		return nil
	}
	list, trade := graph.Recompute(u.all(), u.Facts, graph.RecomputeConfig{Forward: len(u.Outs),
		Target: u.opt.Recompute})
	u.become(list)
	u.prog.Memory.Trade = trade
	return u.Facts.Complete(list)
}

// mirrored reports whether some node asks to be computed again.
func mirrored(outs []op.Entry) bool {
	for _, n := range op.Topo(outs) {
		if n.Attrs[graph.MirrorAttr] != "" && !n.IsVar() {
			return true
		}
	}
	return false
}
