package conformance

import (
	"fmt"
	"math"

	"gomx/dtype"
	"gomx/metric"
	"gomx/op"

	nd "gomx/ndarray"
)

// OptimCases reads the indexes below optim/.
func OptimCases(g *Golden) ([]Case, error) {
	var list []Case
	for _, load := range []func(*Golden) ([]Case, error){optimizerCases, updateCases, scheduleCases,
		metricCases, compressionCases} {
		cases, err := load(g)
		if err != nil {
			return nil, err
		}
		list = append(list, cases...)
	}
	return list, nil
}

// updateCase is one call of an imperative update operator.
type updateCase struct {
	ID, Op, File    string
	Attrs           map[string]string
	Inputs, Outputs []Ref
	InputsAfter     []Ref `json:"inputs_after"`
	Note            string
}

func updateCases(g *Golden) ([]Case, error) {
	cases, err := casesOf[updateCase](g, "optim/update_ops.json")
	if err != nil {
		return nil, err
	}
	var list []Case
	for _, c := range cases {
		c.File = "optim/" + c.File
		list = append(list, Case{ID: "update/" + c.ID, Run: c.run})
	}
	return list, nil
}

// run gives the output an array of its own, as MXNet does without out: the weight is unchanged.
func (c *updateCase) run(env Env) error {
	o := op.Lookup(c.Op)
	if o == nil {
		return missing("operator %s", c.Op)
	}
	params, err := o.ParseParams(c.Attrs)
	if err != nil {
		return err
	}
	in, err := env.upload(c.File, c.Inputs)
	if err != nil {
		return err
	}
	out := make([]*nd.Array, len(o.Outputs(params)))
	out[0] = nd.Empty(in[0].Shape(), nd.On(env.Device), nd.As(in[0].DType()))
	if out, err = nd.Invoke(o, params, in, out); err != nil {
		return err
	}
	for i, r := range c.Outputs {
		if err := compareND(env.Golden, fmt.Sprintf("output %d", i), out[i], c.File,
			r); err != nil {
			return err
		}
	}
	for i, r := range c.InputsAfter {
		if err := compareND(env.Golden, r.Name+" afterwards", in[i], c.File, r); err != nil {
			return err
		}
	}
	return nil
}

// compareND compares an array of a device with a golden one, by the tolerance of its dtype.
func compareND(g *Golden, what string, x *nd.Array, file string, r Ref) error {
	t, err := dtype.Parse(r.DType)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return compareWith(g, what, x, file, r, opTolerance("", "", t))
}

// compareWith compares an array with a reference, within a tolerance.
func compareWith(g *Golden, what string, x *nd.Array, file string, r Ref, tol Tolerance) error {
	want, err := g.Array(file, r)
	if err != nil {
		return err
	}
	got, err := download(x)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return compare(what, got, want, tol)
}

// metricCase is a metric fed with batches.
type metricCase struct {
	ID, Class, Name, File string
	Kwargs                map[string]any
	Batches               []struct {
		Label, Pred Ref
		ValueAfter  *float64 `json:"value_after"` // null: not a number
	}
	// NumInst and SumMetric are two numbers inside MXNet's metric, from which it computes the last
	// value; informative.
	NumInst   *float64 `json:"num_inst"`
	SumMetric *float64 `json:"sum_metric"`
}

func metricCases(g *Golden) ([]Case, error) {
	cases, err := casesOf[metricCase](g, "optim/metrics.json")
	if err != nil {
		return nil, err
	}
	var list []Case
	for _, c := range cases {
		c.File = "optim/" + c.File
		list = append(list, Case{ID: "metric/" + c.ID, Run: c.run})
	}
	return list, nil
}

func (c *metricCase) run(env Env) error {
	m, err := metric.New(c.Class, c.Kwargs)
	if err != nil {
		return err
	}
	for i, b := range c.Batches {
		arrays, err := env.upload(c.File, []Ref{b.Label, b.Pred})
		if err != nil {
			return err
		}
		if err := m.Update(arrays[:1], arrays[1:]); err != nil {
			return err
		}
		names, got := m.Value()
		if len(got) != 1 || names[0] != c.Name {
			return fmt.Errorf("values are called %v, want %s", names, c.Name)
		}
		want := math.NaN()
		if b.ValueAfter != nil {
			want = *b.ValueAfter
		}
		if err := near(fmt.Sprintf("value after batch %d", i), got[0], want,
			Tolerance{1e-6, 1e-5}); err != nil {
			return err
		}
	}
	return nil
}
