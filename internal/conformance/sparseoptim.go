package conformance

import (
	"fmt"

	"gomx/optimizer"

	nd "gomx/ndarray"
)

// sparseOptimCase is several steps of an optimizer with row_sparse gradients.
type sparseOptimCase struct {
	ID, Optimizer, File string
	Class               string // informative
	Kwargs              map[string]any
	WeightStype         string `json:"weight_stype"`
	Steps               int
	Params              []struct {
		Index          int
		Init           storedRef
		Grads, Weights []storedRef // by step; a weight is that after the step
		States         []storedRef // after the last step
	}
}

func sparseOptimCases(g *Golden) ([]Case, error) {
	cases, err := casesOf[sparseOptimCase](g, "sparse/optim.json")
	if err != nil {
		return nil, err
	}
	var list []Case
	for _, c := range cases {
		for _, p := range c.Params {
			if len(p.Grads) != c.Steps || len(p.Weights) != c.Steps {
				return nil, fmt.Errorf("conformance: optim.json: %s: %d gradients and %d weights "+
					"for %d steps", c.ID, len(p.Grads), len(p.Weights), c.Steps)
			}
		}
		c.File = "sparse/" + c.File
		list = append(list, Case{ID: "optim/" + c.ID, Run: c.run})
	}
	return list, nil
}

// sparseStepTolerance is the tolerance of weights and states.
func sparseStepTolerance(*Array) Tolerance { return Tolerance{1e-5, 5e-5} }

func (c *sparseOptimCase) run(env Env) error {
	o, err := optimizer.New(c.Optimizer, c.Kwargs)
	if err != nil {
		return err
	}
	u, err := optimizer.NewUpdater(o, nil)
	if err != nil {
		return err
	}
	weights := make([]*nd.Array, len(c.Params))
	for i, p := range c.Params {
		if weights[i], err = env.stored(c.File, p.Init); err != nil {
			return err
		}
		if got := weights[i].Storage().String(); got != c.WeightStype {
			return fmt.Errorf("weight %d is %s, the case %s", i, got, c.WeightStype)
		}
	}
	for step := range c.Steps {
		for i, p := range c.Params {
			grad, err := env.stored(c.File, p.Grads[step])
			if err != nil {
				return err
			}
			if err := u.Update(p.Index, weights[i], grad); err != nil {
				return err
			}
			if err := compareStoredWithin(env.Golden, fmt.Sprintf("weight %d after step %d", i,
				step), weights[i], c.File, p.Weights[step], sparseStepTolerance); err != nil {
				return err
			}
		}
	}
	for i, p := range c.Params {
		state := u.State(p.Index)
		if len(state) != len(p.States) {
			return fmt.Errorf("weight %d has %d states, want %d", i, len(state), len(p.States))
		}
		for k, r := range p.States {
			if err := compareStoredWithin(env.Golden, fmt.Sprintf("state %d of weight %d", k, i),
				state[k], c.File, r, sparseStepTolerance); err != nil {
				return err
			}
		}
	}
	return nil
}
