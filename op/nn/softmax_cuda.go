//go:build cuda

package nn

import (
	"gomx/op"
	"gomx/op/attach"
)

// lanesCUDA prepares a kernel along the classes.
func (p SoftmaxActivationParams) lanesCUDA(name string, a *op.Args) (*attach.Lanes, error) {
	t, ok := attach.OneFloat(a)
	if !ok {
		return nil, op.ErrUnsupported
	}
	v := p.classes(a.In[0].Shape)
	return attach.NewLanes("softmax", name, t, []int{v.outer, v.count, v.inner}, 1), nil
}
