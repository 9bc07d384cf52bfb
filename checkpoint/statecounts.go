package checkpoint

import "math"

// updateCounts returns the counts of updates in a pickled optimizer of MXNet by the parameters'
// numbers or names; none if there are no counts.
func updateCounts(v any) map[any]int {
	o, ok := v.(*pyObject)
	if !ok {
		return nil
	}
	attributes, ok := o.state.(*pyDict)
	if !ok {
		return nil
	}
	counts := map[any]int{}
	for i, k := range attributes.keys {
		d, ok := attributes.values[i].(*pyDict)
		if !ok || k != "_index_update_count" {
			continue
		}
		for j, key := range d.keys {
			n, ok := d.values[j].(int64)
			if _, number := key.(int64); number && ok && n > 0 && n <= math.MaxInt32 {
				counts[key] = int(n)
			}
		}
	}
	return counts
}
