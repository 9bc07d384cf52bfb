package optimizer_test

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"gomx/dtype"
	"gomx/internal/conformance"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

func openGolden(t *testing.T) *conformance.Golden {
	t.Helper()
	g, err := conformance.Open("../../shared/golden/optim")
	if err != nil {
		t.Skip("no golden data")
	}
	t.Cleanup(func() { g.Close() })
	return g
}

type goldenParam struct {
	Index                int
	Name                 string
	Init, Grads, Weights conformance.Ref
	States               []conformance.Ref
}

type goldenCase struct {
	ID, Optimizer, File string
	Kwargs              map[string]any
	Mult                struct {
		LR map[string]float64 `json:"lr_mult"`
		WD map[string]float64 `json:"wd_mult"`
	}
	Steps  int
	Params []goldenParam
}

// TestGolden runs every optimizer for ten steps beside MXNet's.
func TestGolden(t *testing.T) {
	g := openGolden(t)
	var index struct{ Cases []goldenCase }
	if err := g.Part("optimizers.json", &index); err != nil {
		t.Fatal(err)
	}
	for _, c := range index.Cases {
		t.Run(c.ID, func(t *testing.T) { runGolden(t, g, &c) })
	}
}

func runGolden(t *testing.T, g *conformance.Golden, c *goldenCase) {
	kwargs := c.Kwargs
	if text, ok := kwargs["lr_scheduler"].(string); ok {
		kwargs["lr_scheduler"] = parseSchedule(t, text)
	}
	kwargs["lr_mult"], kwargs["wd_mult"] = c.Mult.LR, c.Mult.WD
	o, err := optimizer.New(c.Optimizer, kwargs)
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, len(c.Params))
	weights := make([]*nd.Array, len(c.Params))
	grads := make([]*conformance.Array, len(c.Params))
	for i, p := range c.Params {
		names[p.Index] = p.Name
		weights[i] = load(t, g, c.File, p.Init)
		if grads[i], err = g.Array(c.File, p.Grads); err != nil {
			t.Fatal(err)
		}
	}
	u, err := optimizer.NewUpdater(o, names)
	if err != nil {
		t.Fatal(err)
	}
	for step := range c.Steps {
		for i, p := range c.Params {
			if err := u.Update(p.Index, weights[i], array(grads[i].Row(step))); err != nil {
				t.Fatal(err)
			}
		}
		for i, p := range c.Params {
			want, err := g.Array(c.File, p.Weights)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, fmt.Sprintf("step %d %s", step, p.Name), weights[i], want.Row(step))
		}
	}
	for _, p := range c.Params {
		state := u.State(p.Index)
		if len(state) != len(p.States) {
			t.Fatalf("%s: %d state arrays, want %d", p.Name, len(state), len(p.States))
		}
		for k, ref := range p.States {
			want, err := g.Array(c.File, ref)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, fmt.Sprintf("%s state %d", p.Name, k), state[k], want)
		}
	}
}

// parseSchedule reads "factor:step=3,factor=0.5".
func parseSchedule(t *testing.T, text string) optimizer.Schedule {
	name, args, _ := strings.Cut(text, ":")
	kwargs := map[string]any{}
	for pair := range strings.SplitSeq(args, ",") {
		key, value, _ := strings.Cut(pair, "=")
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			t.Fatal(err)
		}
		kwargs[key] = v
	}
	s, err := optimizer.NewSchedule(name, kwargs)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func load(t *testing.T, g *conformance.Golden, file string, ref conformance.Ref) *nd.Array {
	t.Helper()
	a, err := g.Array(file, ref)
	if err != nil {
		t.Fatal(err)
	}
	return array(a)
}

func array(a *conformance.Array) *nd.Array {
	if a.DType == dtype.Float16 {
		return nd.FromSlice(conformance.Elements[dtype.Half](a), a.Shape...)
	}
	return nd.FromSlice(conformance.Elements[float32](a), a.Shape...)
}

func compare(t *testing.T, what string, got *nd.Array, want *conformance.Array) {
	t.Helper()
	values, err := got.Float64s()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	// MXNet rounds constants such as 1-beta2 to float32.
	tol := 5e-6
	if want.DType == dtype.Float16 {
		tol = 2e-3
	}
	for i, w := range want.Float64s() {
		if d := math.Abs(values[i] - w); d > tol+10*tol*math.Abs(w) ||
			math.IsNaN(d) != math.IsNaN(w) {
			t.Fatalf("%s: element %d is %v, want %v", what, i, values[i], w)
		}
	}
}

// TestSchedules compares the learning rates of 200 updates with MXNet's.
func TestSchedules(t *testing.T) {
	g := openGolden(t)
	var index struct {
		Cases []struct {
			Class  string
			Kwargs map[string]any
			LR     []float64
		}
	}
	if err := g.Part("lr_schedules.json", &index); err != nil {
		t.Fatal(err)
	}
	for i, c := range index.Cases {
		name := strings.ToLower(strings.TrimSuffix(c.Class, "Scheduler"))
		s, err := optimizer.NewSchedule(name, c.Kwargs)
		if err != nil {
			t.Fatal(err)
		}
		for n, want := range c.LR {
			if got := s.Rate(0, n); math.Abs(got-want) > 1e-15+1e-12*want {
				t.Errorf("case %d %s: rate %v after %d updates, want %v", i, name, got, n, want)
				break
			}
		}
	}
}
