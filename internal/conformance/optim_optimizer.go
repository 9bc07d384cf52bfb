package conformance

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gomx/optimizer"

	nd "gomx/ndarray"
)

// optimizerCase is some steps of an optimizer over several parameters.
type optimizerCase struct {
	ID, Optimizer, File string
	Kwargs              map[string]any
	Mult                struct {
		LR map[string]float64 `json:"lr_mult"`
		WD map[string]float64 `json:"wd_mult"`
	}
	Steps  int
	Params []optimizerParam
}

// optimizerParam is one parameter: gradients and weights have a leading axis of steps.
type optimizerParam struct {
	Index                int
	Name                 string
	Init, Grads, Weights Ref
	States               []Ref // after the last step
}

func optimizerCases(g *Golden) ([]Case, error) {
	var index struct{ Cases []*optimizerCase }
	if err := g.JSON("optim/optimizers.json", &index); err != nil {
		return nil, err
	}
	var list []Case
	for _, c := range index.Cases {
		c.File = "optim/" + c.File
		list = append(list, Case{ID: "optimizer/" + c.ID, Run: c.run})
	}
	return list, nil
}

func (c *optimizerCase) run(env Env) error {
	if !slices.Contains(optimizer.Names(), c.Optimizer) {
		return missing("optimizer %s", c.Optimizer)
	}
	u, err := c.updater()
	if err != nil {
		return err
	}
	weights, grads := make([]*nd.Array, len(c.Params)), make([]*Array, len(c.Params))
	for i, p := range c.Params {
		arrays, err := env.Golden.Arrays(c.File, []Ref{p.Init, p.Grads})
		if err != nil {
			return err
		}
		grads[i] = arrays[1]
		if weights[i], err = arrays[0].upload(env.Device); err != nil {
			return err
		}
	}
	for step := range c.Steps {
		for i, p := range c.Params {
			grad, err := grads[i].Row(step).upload(env.Device)
			if err != nil {
				return err
			}
			if err := u.Update(p.Index, weights[i], grad); err != nil {
				return err
			}
		}
		if err := c.checkWeights(env.Golden, weights, step); err != nil {
			return err
		}
	}
	return c.checkStates(env.Golden, u)
}

// updater makes the updater that the keyword arguments describe.
func (c *optimizerCase) updater() (*optimizer.Updater, error) {
	kwargs := maps.Clone(c.Kwargs)
	if text, ok := kwargs["lr_scheduler"].(string); ok {
		s, err := scheduleOf(text)
		if err != nil {
			return nil, err
		}
		kwargs["lr_scheduler"] = s
	}
	kwargs["lr_mult"], kwargs["wd_mult"] = c.Mult.LR, c.Mult.WD
	o, err := optimizer.New(c.Optimizer, kwargs)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(c.Params))
	for _, p := range c.Params {
		names[p.Index] = p.Name
	}
	return optimizer.NewUpdater(o, names)
}

// scheduleOf reads "factor:step=3,factor=0.5".
func scheduleOf(text string) (optimizer.Schedule, error) {
	name, args, _ := strings.Cut(text, ":")
	kwargs := map[string]any{}
	for pair := range strings.SplitSeq(args, ",") {
		key, value, _ := strings.Cut(pair, "=")
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return nil, fmt.Errorf("schedule %q: %w", text, err)
		}
		kwargs[key] = v
	}
	return optimizer.NewSchedule(name, kwargs)
}

func (c *optimizerCase) checkWeights(g *Golden, weights []*nd.Array, step int) error {
	for i, p := range c.Params {
		want, err := g.Array(c.File, p.Weights)
		if err != nil {
			return err
		}
		got, err := download(weights[i])
		if err != nil {
			return err
		}
		if err := compare(fmt.Sprintf("%s after step %d", p.Name, step), got, want.Row(step), opTolerance("", "", want.DType)); err != nil {
			return err
		}
	}
	return nil
}

func (c *optimizerCase) checkStates(g *Golden, u *optimizer.Updater) error {
	for _, p := range c.Params {
		state := u.State(p.Index)
		if len(state) != len(p.States) {
			return fmt.Errorf("%s: %d states, want %d", p.Name, len(state), len(p.States))
		}
		for k, r := range p.States {
			if err := compareND(g, fmt.Sprintf("%s state %d", p.Name, k), state[k], c.File, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// scheduleCase is a learning rate as a function of the number of updates.
type scheduleCase struct {
	Class  string
	Kwargs map[string]any
	LR     []float64 // after 0, 1, 2, ... updates
}

func scheduleCases(g *Golden) ([]Case, error) {
	var index struct{ Cases []json.RawMessage }
	if err := g.JSON("optim/lr_schedules.json", &index); err != nil {
		return nil, err
	}
	var list []Case
	for _, raw := range index.Cases {
		c := &scheduleCase{}
		if err := json.Unmarshal(raw, c); err != nil {
			return nil, fmt.Errorf("conformance: lr_schedules.json: %w", err)
		}
		list = append(list, Case{ID: "schedule/" + c.Class + "(" + spell(c.Kwargs) + ")", Run: c.run})
	}
	return list, nil
}

func (c *scheduleCase) run(Env) error {
	s, err := optimizer.NewSchedule(strings.ToLower(strings.TrimSuffix(c.Class, "Scheduler")), c.Kwargs)
	if err != nil {
		return err
	}
	for n, want := range c.LR {
		if err := near(fmt.Sprintf("rate after %d updates", n), s.Rate(0, n), want, Tolerance{1e-15, 1e-12}); err != nil {
			return err
		}
	}
	return nil
}
