package conformance

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	"gomx/dtype"
	dataio "gomx/io"
	"gomx/module"
	"gomx/optimizer"
	sym "gomx/symbol"

	nd "gomx/ndarray"
)

// trainCase is a network trained by Module for some steps over alternating batches.
type trainCase struct {
	ID, Symbol, File string
	Batch            int
	Optimizer        string
	OptimizerParams  map[string]any `json:"optimizer_params"`
	Steps, Batches   int
	Inputs           map[string]trainInput
	Loss             []float64 // mean over the batch, before the update of each step
	ParamL2          []float64 `json:"param_l2"` // length of all parameters, after it
	FinalArgs        []Ref     `json:"final_args"`
	FinalAux         []Ref     `json:"final_aux"`
	BackendDiff      struct {
		Loss float64 `json:"loss_abs"`
		Args float64 `json:"final_args_abs"`
	} `json:"backend_diff"`
}

// trainInput says how an input of each batch is computed.
type trainInput struct {
	Shape []int
	Names []string
	Fill  string
}

// TrainCases reads train/train.json and train/dist.json.
func TrainCases(g *Golden) ([]Case, error) {
	var index struct{ Cases []*trainCase }
	if err := g.JSON("train/train.json", &index); err != nil {
		return nil, err
	}
	var list []Case
	for _, c := range index.Cases {
		c.File = "train/" + c.File
		list = append(list, Case{ID: "train/" + c.ID, Run: c.run})
	}
	dist, err := distCases(g)
	return append(list, dist...), err
}

func (c *trainCase) run(env Env) error {
	data, err := os.ReadFile(env.Golden.Path("train/" + c.Symbol))
	if err != nil {
		return err
	}
	s, err := sym.Load(data)
	if err != nil {
		return err
	}
	batches, err := c.batches(s, env)
	if err != nil {
		return err
	}
	m, err := c.module(s, env)
	if err != nil {
		return err
	}
	var before values // auxiliary states before the last step
	for step := range c.Steps {
		if step == c.Steps-1 {
			if before, err = auxOf(m); err != nil {
				return err
			}
		}
		if err := c.step(m, batches[step%c.Batches], step); err != nil {
			return fmt.Errorf("step %d: %w", step, err)
		}
	}
	return c.checkFinal(env.Golden, m, before)
}

// auxOf copies the auxiliary states.
func auxOf(m *module.Module) (values, error) {
	_, aux := m.Params()
	v := values{}
	for name, x := range aux {
		a, err := download(x)
		if err != nil {
			return nil, err
		}
		v[name] = a
	}
	return v, nil
}

// inputs returns the names of data and label, in the order of the arguments.
func (c *trainCase) inputs(s *sym.Symbol) (data, label []string) {
	for _, name := range s.Arguments() {
		if _, ok := c.Inputs[name]; !ok {
			continue
		}
		if strings.HasSuffix(name, "label") {
			label = append(label, name)
		} else {
			data = append(data, name)
		}
	}
	return data, label
}

// batches computes the batches that the steps use in turn.
func (c *trainCase) batches(s *sym.Symbol, env Env) ([]*dataio.Batch, error) {
	data, label := c.inputs(s)
	list := make([]*dataio.Batch, c.Batches)
	for i := range list {
		list[i] = &dataio.Batch{}
		for k, name := range slices.Concat(data, label) {
			in := c.Inputs[name]
			a, err := FillInput(in.Fill, in.Names[i], in.Shape)
			if err != nil {
				return nil, err
			}
			x, err := a.upload(env.Device)
			if err != nil {
				return nil, err
			}
			if k < len(data) {
				list[i].Data = append(list[i].Data, x)
			} else {
				list[i].Label = append(list[i].Label, x)
			}
		}
	}
	return list, nil
}

// module binds the network with its initial parameters and optimizer.
func (c *trainCase) module(s *sym.Symbol, env Env) (*module.Module, error) {
	describe := func(names []string) (list []dataio.Desc) {
		for _, n := range names {
			list = append(list, dataio.Desc{Name: n, Shape: c.Inputs[n].Shape, DType: dtype.Float32})
		}
		return list
	}
	data, label := c.inputs(s)
	m := module.New(s, module.On(env.Device))
	if err := m.Bind(describe(data), describe(label)); err != nil {
		return nil, err
	}
	fill := func(refs []Ref) (map[string]*nd.Array, error) {
		v := values{}
		for _, r := range refs {
			v[r.Name] = Fill(r.Name, r.Shape)
		}
		return v.upload(env.Device)
	}
	args, err := fill(c.FinalArgs)
	if err != nil {
		return nil, err
	}
	aux, err := fill(c.FinalAux)
	if err != nil {
		return nil, err
	}
	if err := m.SetParams(args, aux); err != nil {
		return nil, err
	}
	o, err := optimizer.New(c.Optimizer, c.OptimizerParams)
	if err != nil {
		return nil, err
	}
	return m, m.InitOptimizer(o)
}

// step trains on one batch and compares loss and length of the parameters.
func (c *trainCase) step(m *module.Module, b *dataio.Batch, step int) error {
	if err := m.ForwardBackward(b); err != nil {
		return err
	}
	loss, err := lossOf(m.Symbol().Entries()[0].Node.Op.Name, m.Outputs()[0], b.Label[0])
	if err != nil {
		return err
	}
	if err := near("loss", loss, c.Loss[step], c.tolerance(step, c.BackendDiff.Loss)); err != nil {
		return err
	}
	if err := m.Update(); err != nil {
		return err
	}
	args, _ := m.Params()
	total := 0.0
	for _, a := range args {
		v, err := a.Float64s()
		if err != nil {
			return err
		}
		l2 := sumUp(v).L2
		total += l2 * l2
	}
	return near("length of the parameters", math.Sqrt(total), c.ParamL2[step], Tolerance{Rel: c.tolerance(step, 0).Abs / 10})
}
