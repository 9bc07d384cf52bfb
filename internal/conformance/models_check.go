package conformance

import (
	"fmt"
	"maps"
	"math"
	"slices"

	sym "gomx/symbol"

	nd "gomx/ndarray"
)

// outputs compares the outputs of an executor with golden ones. The tolerance is relative to the
// largest value.
func (c *modelCase) outputs(ex *sym.Executor, refs []Ref, g *Golden) error {
	for i, r := range refs {
		if err := c.relative(g, r.Name, ex.Outputs()[i], r, c.BackendDiff.Outputs); err != nil {
			return err
		}
	}
	return nil
}

// grads compares the gradients that are stored in full by the length of their difference, because
// single elements differ more, relatively, than the whole gradient.
func (c *modelCase) grads(ex *sym.Executor, g *Golden) error {
	tol := 4 * modelTolerance(c.BackendDiff.GradNorm)
	for _, r := range c.Grads {
		want, err := g.Array(c.File, r)
		if err != nil {
			return err
		}
		got, err := download(ex.Grads[r.Name])
		if err != nil {
			return fmt.Errorf("gradient of %s: %w", r.Name, err)
		}
		x, y := got.Float64s(), want.Float64s()
		if len(x) != len(y) {
			return fmt.Errorf("gradient of %s: shape %v, want %v", r.Name, got.Shape, want.Shape)
		}
		length := sumUp(y).L2
		for i := range x {
			x[i] -= y[i]
		}
		if d := sumUp(x).L2; !(d <= c.noise()+tol*length) {
			return fmt.Errorf("gradient of %s: difference of length %g from one of length %g "+
				"(tolerance %.1g)", r.Name, d, length, tol)
		}
	}
	return nil
}

// modelTolerance returns the tolerance for a known difference between MXNet's own back ends.
func modelTolerance(backendDiff float64) float64 { return max(1e-4, 5*backendDiff) }

func (c *modelCase) relative(g *Golden, what string, x *nd.Array, r Ref, diff float64) error {
	want, err := g.Array(c.File, r)
	if err != nil {
		return err
	}
	if x == nil {
		return fmt.Errorf("%s: the executor has none", what)
	}
	got, err := download(x)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	largest := 0.0
	for _, v := range want.Float64s() {
		largest = max(largest, math.Abs(v))
	}
	tol := modelTolerance(diff)
	return compare(what, got, want, Tolerance{tol * largest, tol})
}

// noise is the tolerated length of the difference of any gradient: the rounding of the whole
// gradient in float32. The bias of a convolution before a batch norm, for example, has the gradient
// zero, for which MXNet computes only rounding errors.
func (c *modelCase) noise() float64 {
	var total float64
	for _, n := range c.GradNorms {
		total += n.L2 * n.L2
	}
	return 1e-7 + 1e-6*math.Sqrt(total)
}

// norms compares lengths and sums of arrays. A sum may cancel, so its tolerance is relative to the
// length.
func (c *modelCase) norms(what string, got map[string]*nd.Array, want map[string]norm) error {
	tol, noise := modelTolerance(c.BackendDiff.GradNorm), c.noise()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		w := want[name]
		if got[name] == nil {
			return fmt.Errorf("%s%s: the executor has none", what, name)
		}
		v, err := got[name].Float64s()
		if err != nil {
			return fmt.Errorf("%s%s: %w", what, name, err)
		}
		n := sumUp(v)
		if err := near(what+name+": length", n.L2, w.L2, Tolerance{noise, tol}); err != nil {
			return err
		}
		if err := near(what+name+": sum", n.Sum, w.Sum, Tolerance{(noise + tol*w.L2) *
			math.Sqrt(float64(len(v))), tol}); err != nil {
			return err
		}
	}
	return nil
}

func sumUp(v []float64) norm {
	var n norm
	for _, x := range v {
		n.L2 += x * x
		n.Sum += x
	}
	n.L2 = math.Sqrt(n.L2)
	return n
}
