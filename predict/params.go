package predict

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	nd "gomx/ndarray"
	"gomx/op"
)

// SetParams copies values into parameters and auxiliary states. Runs that have begun use the old
// values, later ones the new.
func (p *Predictor) SetParams(args, aux map[string]*nd.Array) (err error) {
	defer op.Recover(&err)
	if p == nil {
		return errors.New("predict: SetParams of a predictor that is nil")
	}
	p.params.Lock()
	defer p.params.Unlock()
	for _, part := range []struct {
		what        string
		have, given map[string]*nd.Array
	}{{"parameter", p.first.Args, args}, {"auxiliary state", p.first.Aux, aux}} {
		for _, name := range slices.Sorted(maps.Keys(part.given)) {
			src, dst := part.given[name], part.have[name]
			if dst == nil || slices.Contains(p.inputs, name) {
				return fmt.Errorf("predict: value given for %q, which is no %s of the model", name,
					part.what)
			}
			if src == nil {
				return fmt.Errorf("predict: value for %s %q is nil", part.what, name)
			}
			if !src.Shape().Equal(dst.Shape()) {
				return fmt.Errorf("predict: value for %s %q has shape %v, want %v", part.what, name,
					src.Shape(), dst.Shape())
			}
			if src.DType() != dst.DType() {
				src = src.AsType(dst.DType())
			}
			src.CopyInto(dst)
		}
	}
	return nil
}
