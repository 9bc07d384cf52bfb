package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"

	"gomx/device"
	"gomx/dtype"
	"gomx/op"
	sym "gomx/symbol"

	nd "gomx/ndarray"
)

// planIndex is the content of memplan.json. Variants describes MXNet's environment for each figure,
// RSS the memory of MXNet's processes.
type planIndex struct {
	MXNet         string
	Variants, RSS json.RawMessage
	Cases         []*planCase
}

// planCase is a network bound for one batch size and mode, and the memory that MXNet planned.
type planCase struct {
	Model       string
	Batch       int
	Train       bool
	Symbol      string
	InputShapes map[string][]int `json:"input_shapes"`
	PlannedMB   map[string]int64 `json:"planned_mb"` // per variant, truncated to MiB
	ArgBytes    int64            `json:"arg_bytes"`
	GradBytes   int64            `json:"grad_bytes"`
	AuxBytes    int64            `json:"aux_bytes"`
	OutputBytes int64            `json:"output_bytes"`
	Nodes       map[string]int   // number of nodes of MXNet's graphs per variant, informative
}

// PlanCases reads memplan/memplan.json.
func PlanCases(g *Golden) ([]Case, error) {
	var index planIndex
	if err := g.JSON("memplan/memplan.json", &index); err != nil {
		return nil, err
	}
	var list []Case
	reuse := &planReuse{}
	for _, c := range index.Cases {
		mode := "infer"
		if c.Train {
			mode = "train"
		}
		list = append(list, Case{ID: fmt.Sprintf("%s/batch%d/%s", c.Model, c.Batch, mode),
			Run: func(env Env) error { return c.run(env, reuse) }})
	}
	mean := Case{ID: "mean", Run: func(Env) error { return reuse.checkMean() }}
	return append(list, mean), nil
}

// mostMean is the largest geometric mean of our planned memory relative to MXNet's, over the cases
// in which MXNet plans 5 MiB or more.
const mostMean = 0.8

// checkMean checks the mean of all cases that have run.
func (r *planReuse) checkMean() error {
	if mean := math.Exp(r.logs / float64(max(r.rows, 1))); r.rows > 0 && mean > mostMean {
		return fmt.Errorf("%.3f times MXNet's planned memory over %d rows of 5 MiB and more, "+
			"want at most %v", mean, r.rows, mostMean)
	}
	return nil
}

// run checks that we plan no more than MXNet with and without its fusion, up to the MiB by which
// its figures are truncated, and little more than the bytes that are live at one time.
func (c *planCase) run(env Env, reuse *planReuse) error {
	use, err := c.measure(env, reuse, 0)
	if err != nil {
		return err
	}
	if use.Outputs != c.OutputBytes {
		return fmt.Errorf("outputs take %d bytes, want %d", use.Outputs, c.OutputBytes)
	}
	if c.best() >= 5 {
		reuse.rows++
		reuse.logs += math.Log(float64(use.Values+use.Outputs) / float64(c.best()<<20))
	}
	if got, want := (use.Values+use.Outputs)>>20, c.best()+1; got > want {
		return fmt.Errorf("%d MiB planned, MXNet has %d (lower bound %d MiB)", got, want-1,
			(use.LowerBound+use.Outputs)>>20)
	}
	if most := use.LowerBound + max(use.LowerBound/20, 64<<10); use.Arena > most {
		return fmt.Errorf("%d bytes planned, want at most %d: 5 %% or 64 KiB above the lower bound",
			use.Arena, most)
	}
	return nil
}

// best returns the smaller of MXNet's plans, in MiB, with and without fusion.
func (c *planCase) best() int64 { return min(c.PlannedMB["none"], c.PlannedMB["default"]) }

// ErrNoCase is the error for a case that the golden data do not have.
var ErrNoCase = errors.New("no case")

// PlanRecomputed plans training of a network in memplan.json twice. The second time it recomputes
// values until the plan takes the given share of the memory.
func PlanRecomputed(env Env, model string, batch int, share float64) (without, with sym.MemoryUse,
	err error) {
	var index planIndex
	if err := env.Golden.JSON("memplan/memplan.json", &index); err != nil {
		return without, with, err
	}
	reuse := &planReuse{}
	defer reuse.close()
	for _, c := range index.Cases {
		if c.Model != model || c.Batch != batch || !c.Train {
			continue
		}
		if without, err = c.measure(env, reuse, 0); err != nil {
			return without, with, err
		}
		with, err = c.measure(env, reuse, share)
		return without, with, err
	}
	return without, with, fmt.Errorf("%w %s with batch %d", ErrNoCase, model, batch)
}

// measure plans the case, and recomputes values until the plan takes a share of the memory. MXNet's
// figures have no operator workspace, so the plan is made for the reference kernels, which need
// none.
func (c *planCase) measure(env Env, reuse *planReuse, share float64) (use sym.MemoryUse,
	err error) {
	defer device.LimitTier(device.LimitTier(device.TierRef))
	cfg := sym.BindConfig{Device: env.Device, DefaultReq: op.ReqNull, Recompute: share,
		Shapes: map[string]dtype.Shape{}, GradReq: map[string]op.Req{}}
	for name, shape := range c.InputShapes {
		cfg.Shapes[name] = shape
	}
	if c.Train {
		cfg.DefaultReq = op.ReqWrite
		for name := range c.InputShapes {
			cfg.GradReq[name] = op.ReqNull
		}
	}
	ex, err := reuse.bind(c.Symbol, cfg, env.Golden)
	if err != nil {
		return use, err
	}
	defer ex.Close()
	if err := c.checkArrays(ex); err != nil {
		return use, err
	}
	return ex.MemoryUse(c.Train)
}

// checkArrays compares the bytes of arguments, gradients and auxiliary states with MXNet's.
func (c *planCase) checkArrays(ex *sym.Executor) error {
	for _, x := range []struct {
		what   string
		arrays map[string]*nd.Array
		want   int64
	}{{"arguments", ex.Args, c.ArgBytes}, {"gradients", ex.Grads, c.GradBytes},
		{"auxiliary states", ex.Aux, c.AuxBytes}} {
		got := int64(0)
		for _, a := range x.arrays {
			got += int64(a.Shape().Size() * a.DType().Size())
		}
		if got != x.want {
			return fmt.Errorf("%s take %d bytes, want %d", x.what, got, x.want)
		}
	}
	return nil
}

// planReuse keeps the arrays of the last network, so that binding it for another batch size needs
// no new memory for its parameters. It also sums the measured ratios.
type planReuse struct {
	rows int
	logs float64 // sum of the logarithms of the ratios to MXNet

	file   string
	symbol *sym.Symbol
	arrays map[string]*nd.Array // arguments and auxiliary states
	grads  map[string]*nd.Array
}

// bind binds the symbol in a file, with the kept arrays where their shapes are the same.
func (r *planReuse) bind(file string, cfg sym.BindConfig, g *Golden) (*sym.Executor, error) {
	if r.file != file {
		data, err := os.ReadFile(g.Path(file))
		if err != nil {
			return nil, err
		}
		s, err := sym.Load(data)
		if err != nil {
			return nil, err
		}
		r.close()
		*r = planReuse{r.rows, r.logs, file, s, map[string]*nd.Array{}, map[string]*nd.Array{}}
	}
	args, _, aux, err := r.symbol.InferShape(cfg.Shapes)
	if err != nil {
		return nil, err
	}
	fitting := func(names []string, shapes []dtype.Shape,
		from map[string]*nd.Array) map[string]*nd.Array {
		m := map[string]*nd.Array{}
		for i, name := range names {
			if a := from[name]; a != nil && a.Shape().Equal(shapes[i]) {
				m[name] = a
			}
		}
		return m
	}
	cfg.Args = fitting(r.symbol.Arguments(), args, r.arrays)
	cfg.Grads = fitting(r.symbol.Arguments(), args, r.grads)
	cfg.Aux = fitting(r.symbol.AuxStates(), aux, r.arrays)
	ex, err := r.symbol.SimpleBind(cfg)
	if err != nil {
		return nil, err
	}
	maps.Copy(r.arrays, ex.Args)
	maps.Copy(r.arrays, ex.Aux)
	maps.Copy(r.grads, ex.Grads)
	return ex, nil
}

// close frees the arrays.
func (r *planReuse) close() {
	for _, m := range []map[string]*nd.Array{r.arrays, r.grads} {
		for _, a := range m {
			a.Close()
		}
	}
}
