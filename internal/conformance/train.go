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
	Model, Note      string // informative
	Batch            int
	RescaleGrad      *float64 `json:"rescale_grad"` // nil: chosen by the module
	Optimizer        string
	OptimizerParams  map[string]any `json:"optimizer_params"`
	Steps, Batches   int
	Inputs           map[string]trainInput
	Loss             []float64 // mean over the batch, before the update of each step
	ParamL2          []float64 `json:"param_l2"` // length of all parameters after each step
	FinalArgs        []Ref     `json:"final_args"`
	FinalAux         []Ref     `json:"final_aux"`
	BackendDiff      struct {
		Loss float64 `json:"loss_abs"`
		Args float64 `json:"final_args_abs"`
	} `json:"backend_diff"`
}

// trainInput is the shape of an input and the rule that computes its values in each batch.
type trainInput struct {
	Shape []int
	Names []string
	Fill  string
}

// TrainCases reads train/train.json and train/dist.json.
func TrainCases(g *Golden) ([]Case, error) {
	cases, err := casesOf[trainCase](g, "train/train.json")
	if err != nil {
		return nil, err
	}
	var list []Case
	for _, c := range cases {
		if len(c.Loss) != c.Steps || len(c.ParamL2) != c.Steps {
			return nil, fmt.Errorf("conformance: train.json: %s: %d losses and %d lengths for "+
				"%d steps", c.ID, len(c.Loss), len(c.ParamL2), c.Steps)
		}
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
	names, err := c.inputs(s)
	if err != nil {
		return err
	}
	batches, err := c.batches(names, env)
	if err != nil {
		return err
	}
	m, err := c.module(s, names, env)
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

// trainNames are the inputs of a network that is trained, in the order of its arguments.
type trainNames struct {
	data, label []string
	// target is the input that the loss layer compares with; empty: none.
	target   string
	borrowed bool // the case has no such input: its first data input is the label
}

// inputs sorts the inputs into data and label. The label of a case may be called label or be the
// data; a case without a label uses the data.
func (c *trainCase) inputs(s *sym.Symbol) (n trainNames, err error) {
	args := s.Arguments()
	for name := range c.Inputs {
		if !slices.Contains(args, name) {
			return n, fmt.Errorf("the network has no argument %s", name)
		}
	}
	n.target = lossTarget(s)
	for _, name := range args {
		if _, ok := c.Inputs[name]; !ok {
			continue
		}
		if strings.HasSuffix(name, "label") {
			n.label = append(n.label, name)
		} else {
			n.data = append(n.data, name)
		}
	}
	if _, ok := c.Inputs[n.target]; n.target != "" && !ok {
		if len(n.data) == 0 {
			return n, fmt.Errorf("found no input for %s, and no data in its place", n.target)
		}
		n.label, n.borrowed = append(n.label, n.target), true
	}
	return n, nil
}

// lossTarget returns the variable that the first head compares with: the source of its last input.
func lossTarget(s *sym.Symbol) string {
	head := s.Entries()[0].Node
	if len(head.In) < 2 {
		return ""
	}
	node := head.In[len(head.In)-1].Node
	for len(node.In) > 0 {
		node = node.In[0].Node
	}
	return node.Name
}

// trainBatch is a batch with the target of the loss, nil if it needs none.
type trainBatch struct {
	*dataio.Batch
	target *nd.Array
}

// batches computes the batches that the steps use in turn.
func (c *trainCase) batches(n trainNames, env Env) ([]trainBatch, error) {
	list := make([]trainBatch, c.Batches)
	for i := range list {
		b := trainBatch{Batch: &dataio.Batch{}}
		for k, name := range slices.Concat(n.data, n.label) {
			x, err := c.value(n.source(name), i, env)
			if err != nil {
				return nil, err
			}
			if name == n.target {
				b.target = x
			}
			if k < len(n.data) {
				b.Data = append(b.Data, x)
			} else {
				b.Label = append(b.Label, x)
			}
		}
		list[i] = b
	}
	return list, nil
}

// source returns the name of the case's input for an argument.
func (n *trainNames) source(name string) string {
	if n.borrowed && name == n.target {
		return n.data[0]
	}
	return name
}

// value computes an input of one batch.
func (c *trainCase) value(name string, batch int, env Env) (*nd.Array, error) {
	in := c.Inputs[name]
	if len(in.Names) != c.Batches {
		return nil, fmt.Errorf("input %s has %d names for %d batches", name, len(in.Names),
			c.Batches)
	}
	a, err := FillInput(in.Fill, in.Names[batch], in.Shape)
	if err != nil {
		return nil, err
	}
	return a.upload(env.Device)
}

// module binds the network with its initial parameters and optimizer.
func (c *trainCase) module(s *sym.Symbol, n trainNames, env Env) (*module.Module, error) {
	describe := func(names []string) (list []dataio.Desc) {
		for _, name := range names {
			list = append(list, dataio.Desc{Name: name, Shape: c.Inputs[n.source(name)].Shape,
				DType: dtype.Float32})
		}
		return list
	}
	m := module.New(s, module.On(env.Device))
	if err := m.Bind(describe(n.data), describe(n.label)); err != nil {
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
	kwargs, err := optimizerKwargs(c.OptimizerParams)
	if err != nil {
		return nil, err
	}
	if c.RescaleGrad != nil {
		kwargs["rescale_grad"] = *c.RescaleGrad
	}
	o, err := optimizer.New(c.Optimizer, kwargs)
	if err != nil {
		return nil, err
	}
	return m, m.InitOptimizer(o)
}

// step trains on one batch and compares loss and length of the parameters.
func (c *trainCase) step(m *module.Module, b trainBatch, step int) error {
	if err := m.ForwardBackward(b.Batch); err != nil {
		return err
	}
	loss, err := lossOf(m.Symbol().Entries()[0].Node.Op.Name, m.Outputs()[0], b.target)
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
	return near("length of the parameters", math.Sqrt(total), c.ParamL2[step],
		Tolerance{Rel: c.tolerance(step, 0).Abs / 10})
}
