package conformance

import (
	"fmt"
	"maps"
	"os"

	"gomx/device"
	"gomx/dtype"
	"gomx/op"
	sym "gomx/symbol"

	nd "gomx/ndarray"
)

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
}

// PlanCases reads memplan/memplan.json.
func PlanCases(g *Golden) ([]Case, error) {
	var index struct{ Cases []*planCase }
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
	return list, nil
}

// run passes when we plan no more than the best variant of MXNet. Operator workspace is not in its
// figures, so the plan is made for the reference kernels, which have none.
func (c *planCase) run(env Env, reuse *planReuse) error {
	defer device.LimitTier(device.LimitTier(device.TierRef))
	cfg := sym.BindConfig{Device: env.Device, DefaultReq: op.ReqNull,
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
		return err
	}
	use, err := ex.MemoryUse(c.Train)
	if err != nil {
		return err
	}
	if use.Outputs != c.OutputBytes {
		return fmt.Errorf("outputs take %d bytes, want %d", use.Outputs, c.OutputBytes)
	}
	best := int64(1) << 62
	for _, mb := range c.PlannedMB {
		best = min(best, mb)
	}
	if got := (use.Arena + use.Outputs) >> 20; got > best {
		return fmt.Errorf("%d MiB planned, MXNet's best variant has %d (lower bound %d MiB)",
			got, best, (use.LowerBound+use.Outputs)>>20)
	}
	return nil
}

// planReuse keeps the arrays of the last network: binding it again for another batch size then
// costs no fresh memory for its parameters.
type planReuse struct {
	file   string
	symbol *sym.Symbol
	arrays map[string]*nd.Array // arguments and auxiliary states
	grads  map[string]*nd.Array
}

// bind binds the symbol in a file, with the arrays kept where they fit.
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
		*r = planReuse{file, s, map[string]*nd.Array{}, map[string]*nd.Array{}}
	}
	args, _, aux, err := r.symbol.InferShape(cfg.Shapes)
	if err != nil {
		return nil, err
	}
	fitting := func(names []string, shapes []dtype.Shape, from map[string]*nd.Array) map[string]*nd.Array {
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

// close gives the arrays back.
func (r *planReuse) close() {
	for _, m := range []map[string]*nd.Array{r.arrays, r.grads} {
		for _, a := range m {
			a.Close()
		}
	}
}
