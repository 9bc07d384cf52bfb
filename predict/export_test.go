package predict

import (
	"maps"
	"slices"
)

// Fixed lists the inputs whose values are constants of models, by name.
func (o *ONNX) Fixed() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Sorted(maps.Keys(o.fixed))
}

// Models counts the models that are kept.
func (o *ONNX) Models() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.bound)
}
