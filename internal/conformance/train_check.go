package conformance

import (
	"fmt"
	"math"

	"gomx/module"

	nd "gomx/ndarray"
)

// tolerance is five times the difference between MXNet's own back ends. In networks with batch norm
// it holds only for the first steps: a rectifier whose input is within rounding of zero may be on
// or off, the batch norm below it spreads the difference, and further steps amplify it.
func (c *trainCase) tolerance(step int, diff float64) Tolerance {
	tol := max(1e-4, 5*diff)
	if step >= settled && len(c.FinalAux) > 0 {
		tol = max(tol, 1e-2)
	}
	return Tolerance{Abs: tol}
}

// settled is the number of first steps that are compared closely in every network.
const settled = 5

// lossOf computes the loss of a loss layer from its output: the mean over the labels, or over the
// output of a layer without labels. Regression layers have one label for every output.
func lossOf(layer string, out, label *nd.Array) (float64, error) {
	p, err := out.Float64s()
	if err != nil {
		return 0, err
	}
	if layer == "MakeLoss" {
		return sumUp(p).Sum / float64(len(p)), nil
	}
	if label == nil {
		return 0, fmt.Errorf("no loss is defined for %s without a label", layer)
	}
	y, err := label.Float64s()
	if err != nil {
		return 0, err
	}
	classes := len(p) / len(y)
	sum := 0.0
	for i, t := range y {
		switch layer {
		case "SoftmaxOutput":
			sum -= math.Log(p[i*classes+int(t)])
		case "LogisticRegressionOutput":
			sum -= t*math.Log(p[i]) + (1-t)*math.Log(1-p[i])
		case "LinearRegressionOutput":
			sum += (p[i] - t) * (p[i] - t)
		case "MAERegressionOutput":
			sum += math.Abs(p[i] - t)
		default:
			return 0, fmt.Errorf("no loss is defined for %s", layer)
		}
	}
	return sum / float64(len(y)), nil
}

// checkFinal compares the state after training. MXNet's batch norm changes its moving averages in
// the backward pass without telling the engine, so the golden values may be from before the last
// step: the values before and after are both accepted.
func (c *trainCase) checkFinal(g *Golden, m *module.Module, before values) error {
	tol := c.tolerance(c.Steps, c.BackendDiff.Args)
	args, _ := m.Params()
	for _, r := range c.FinalArgs {
		want, err := g.Array(c.File, r)
		if err != nil {
			return err
		}
		got, err := download(args[r.Name])
		if err != nil {
			return err
		}
		if err := c.compareFinal("parameter "+r.Name, got, want, tol); err != nil {
			return err
		}
	}
	after, err := auxOf(m)
	if err != nil {
		return err
	}
	for _, r := range c.FinalAux {
		want, err := g.Array(c.File, r)
		if err != nil {
			return err
		}
		if c.compareFinal("", before[r.Name], want, tol) == nil {
			continue
		}
		if err := c.compareFinal("auxiliary state "+r.Name, after[r.Name], want, tol); err != nil {
			return err
		}
	}
	return nil
}

// compareFinal compares element by element, or by the length of the difference in networks with
// batch norm.
func (c *trainCase) compareFinal(what string, got, want *Array, tol Tolerance) error {
	if len(c.FinalAux) == 0 {
		return compare(what, got, want, tol)
	}
	x, y := got.Float64s(), want.Float64s()
	if len(x) != len(y) {
		return fmt.Errorf("%s: shape %v, want %v", what, got.Shape, want.Shape)
	}
	for i := range x {
		x[i] -= y[i]
	}
	d, length := sumUp(x).L2, sumUp(y).L2
	if !(d <= tol.Abs+0.1*length) {
		return fmt.Errorf("%s: difference of length %g from one of length %g", what, d, length)
	}
	return nil
}
