package conformance

import (
	"fmt"
	"os"

	"gomx/dtype"
	"gomx/op"
	sym "gomx/symbol"
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
	for _, c := range index.Cases {
		mode := "infer"
		if c.Train {
			mode = "train"
		}
		list = append(list, Case{ID: fmt.Sprintf("%s/batch%d/%s", c.Model, c.Batch, mode), Run: c.run})
	}
	return list, nil
}

// run passes when we plan no more than the best variant of MXNet, and when arguments, gradients
// and outputs are the same arrays.
func (c *planCase) run(env Env) error {
	data, err := os.ReadFile(env.Golden.Path(c.Symbol))
	if err != nil {
		return err
	}
	s, err := sym.Load(data)
	if err != nil {
		return err
	}
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
	ex, err := s.SimpleBind(cfg)
	if err != nil {
		return err
	}
	defer closeExecutor(ex)
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
