package conformance

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gomx/optimizer"

	nd "gomx/ndarray"
)

// optimizerCase is several steps of an optimizer over several parameters.
type optimizerCase struct {
	ID, Optimizer, File string
	Kwargs              map[string]any
	Mult                struct {
		LR map[string]float64 `json:"lr_mult"`
		WD map[string]float64 `json:"wd_mult"`
	}
	Steps  int
	Params []optimizerParam
	DType  string // element type of the weights
	// State of MXNet's optimizer after it is made: its class, its attributes, and the multipliers
	// that follow from Mult and the names. The weights show whether ours are the same.
	Class    string
	Defaults map[string]any
	LRMult   map[string]float64 `json:"lr_mult"`
	WDMult   map[string]float64 `json:"wd_mult"`
}

// optimizerParam is one parameter: gradients and weights have a leading axis of steps.
type optimizerParam struct {
	Index                int
	Name                 string
	Init, Grads, Weights Ref
	States               []Ref // after the last step
}

func optimizerCases(g *Golden) ([]Case, error) {
	cases, err := casesOf[optimizerCase](g, "optim/optimizers.json")
	if err != nil {
		return nil, err
	}
	var list []Case
	for _, c := range cases {
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
		if got := arrays[0].DType.String(); c.DType != "" && got != c.DType {
			return fmt.Errorf("%s has dtype %s, the case %s", p.Name, got, c.DType)
		}
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

// updater makes the updater from the keyword arguments.
func (c *optimizerCase) updater() (*optimizer.Updater, error) {
	kwargs, err := optimizerKwargs(c.Kwargs)
	if err != nil {
		return nil, err
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

// optimizerKwargs returns a copy of an optimizer's keyword arguments, with a schedule in place of
// its text.
func optimizerKwargs(given map[string]any) (map[string]any, error) {
	kwargs := map[string]any{}
	maps.Copy(kwargs, given)
	if text, ok := kwargs["lr_scheduler"].(string); ok {
		s, err := scheduleOf(text)
		if err != nil {
			return nil, err
		}
		kwargs["lr_scheduler"] = s
	}
	return kwargs, nil
}

// scheduleOf parses a schedule such as "factor:step=3,factor=0.5".
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
		if err := compare(fmt.Sprintf("%s after step %d", p.Name, step), got, want.Row(step),
			opTolerance("", "", want.DType)); err != nil {
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
			if err := compareND(g, fmt.Sprintf("%s state %d", p.Name, k), state[k], c.File,
				r); err != nil {
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
	LR     []float64 // after each number of updates
	// NumUpdate holds the first and the last number of updates; empty: from 0.
	NumUpdate []int `json:"num_update"`
}

func scheduleCases(g *Golden) ([]Case, error) {
	cases, err := casesOf[scheduleCase](g, "optim/lr_schedules.json")
	if err != nil {
		return nil, err
	}
	var list []Case
	for _, c := range cases {
		if n := len(c.NumUpdate); n != 0 &&
			(n != 2 || c.NumUpdate[1]-c.NumUpdate[0]+1 != len(c.LR)) {
			return nil, fmt.Errorf("conformance: lr_schedules.json: %s: %d rates for the "+
				"updates %v, want first and last", c.Class, len(c.LR), c.NumUpdate)
		}
		list = append(list, Case{ID: "schedule/" + c.Class + "(" + spell(c.Kwargs) + ")",
			Run: c.run})
	}
	return list, nil
}

func (c *scheduleCase) run(Env) error {
	s, err := optimizer.NewSchedule(strings.ToLower(strings.TrimSuffix(c.Class, "Scheduler")),
		c.Kwargs)
	if err != nil {
		return err
	}
	first := 0
	if len(c.NumUpdate) > 0 {
		first = c.NumUpdate[0]
	}
	for i, want := range c.LR {
		n := first + i
		if err := near(fmt.Sprintf("rate after %d updates", n), s.Rate(0, n), want,
			Tolerance{1e-15, 1e-12}); err != nil {
			return err
		}
	}
	return nil
}
