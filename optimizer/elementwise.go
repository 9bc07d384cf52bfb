package optimizer

// Elementwise reports whether the update of each element of a weight depends on the same element of
// gradient and state only, so that parts of a weight may be updated separately. LAMB, LARS and
// LBSGD with the strategy lars are not elementwise: they use norms of the whole weight. Nor is
// GroupAdaGrad, which uses norms of rows.
func Elementwise(o Optimizer) bool {
	switch o := o.(type) {
	case LAMB, LARS, GroupAdaGrad:
		return false
	case LBSGD:
		return o.WarmupStrategy != "lars"
	}
	return true
}
