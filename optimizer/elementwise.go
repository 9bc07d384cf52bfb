package optimizer

// Elementwise reports whether an optimizer changes every element of a weight by the same elements
// of gradient and state alone, so that pieces of a weight may be updated apart from each other.
// LAMB, LARS and LBSGD with the strategy lars are not: they look at norms of the whole.
func Elementwise(o Optimizer) bool {
	switch o := o.(type) {
	case LAMB, LARS:
		return false
	case LBSGD:
		return o.WarmupStrategy != "lars"
	}
	return true
}
