package estimator

import (
	"fmt"

	"gomx/gluon"
	nd "gomx/ndarray"
	"gomx/op"
)

// guardBlocks lets all blocks look at their results, if Guard says so. The result ends that.
func (f *fitting) guardBlocks() (end func()) {
	var removes []func()
	watch := func(name string, h gluon.Hookable) {
		removes = append(removes, h.OnForward(func(c *gluon.Call) {
			for i, y := range c.Out {
				if y.Traced() {
					continue
				}
				if err := finite(y, fmt.Sprintf("result %d of %s", i, name)); err != nil {
					panic(op.WithOp(err, "gluon", "", ""))
				}
			}
		}))
	}
	if f.config.trainer.guard {
		f.net.Apply(func(path string, block any) {
			if h, ok := block.(gluon.Hookable); ok && path != "" {
				watch("block "+path, h)
			}
		})
		watch("the network", f.net)
	}
	return func() {
		for _, remove := range removes {
			remove()
		}
	}
}

// guardLoss reports losses that are not finite.
func (f *fitting) guardLoss(l *nd.Array) error {
	if !f.config.trainer.guard {
		return nil
	}
	return finite(l, "the loss")
}

// guardGradients reports gradients that are not finite, unless there is a loss scale, which treats
// them itself.
func (f *fitting) guardGradients() error {
	if !f.config.trainer.guard || f.trainer.LossScale() != 1 {
		return nil
	}
	for name, p := range f.params.All() {
		for _, a := range p.All() {
			if g := a.Grad(); g != nil {
				if err := finite(g, "the gradient of parameter "+name); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// finite reports values that are not finite. It waits for all values.
func finite(a *nd.Array, name string) error {
	if !a.DType().IsFloat() {
		return nil
	}
	yes, err := nd.AllFinite(a.Detach(), nd.AllFiniteParams{}).Item()
	if err != nil {
		return err
	}
	if yes == 0 {
		return fmt.Errorf("%s has values that are not finite", name)
	}
	return nil
}
