package conformance

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"gomx/dtype"
	"gomx/op"
	sym "gomx/symbol"
)

// modelCase is a whole network.
type modelCase struct {
	Name, Symbol, File string
	Batch              int // batch of the inputs, informative
	Dropouts           int `json:"dropout_set_to_zero_for_training"`
	Internals          int
	Inputs             map[string]inputFill
	Arguments          []Ref
	Aux                []Ref
	Outputs            []Ref
	InternalShapes     []namedShape    `json:"internal_shapes"`
	ForwardInfer       []Ref           `json:"forward_infer"`
	ForwardTrain       []Ref           `json:"forward_train"`
	GradNorms          map[string]norm `json:"grad_norms"`
	Grads              []Ref
	AuxAfter           map[string]norm `json:"aux_after_train"`
	BackendDiff        struct {
		Outputs  float64 `json:"outputs_rel"`
		GradNorm float64 `json:"grad_norm_rel"`
	} `json:"backend_diff"`
}

// inputFill is the shape of an input and the rule that computes its values.
type inputFill struct {
	Shape []int
	Fill  string
}

// norm is the length and the sum of an array.
type norm struct{ L2, Sum float64 }

// namedShape is ["fc1_output", [2, 10]] in JSON.
type namedShape struct {
	name  string
	shape dtype.Shape
}

// UnmarshalJSON reads the pair.
func (s *namedShape) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&s.name, &s.shape})
}

// ModelCases reads models/cases.json.
func ModelCases(g *Golden) ([]Case, error) {
	cases, err := casesOf[modelCase](g, "models/cases.json")
	if err != nil {
		return nil, err
	}
	var list []Case
	for _, c := range cases {
		if c.Internals != 0 && c.Internals != len(c.InternalShapes) {
			return nil, fmt.Errorf("conformance: models/cases.json: %s: %d internals and %d "+
				"shapes of them", c.Name, c.Internals, len(c.InternalShapes))
		}
		c.File = "models/" + c.File
		list = append(list, Case{ID: c.Name, Run: c.run, Weight: c.elements()})
	}
	return list, nil
}

// elements counts the elements of parameters and of all computed arrays.
func (c *modelCase) elements() int {
	n := 0
	for _, s := range c.InternalShapes {
		n += s.shape.Size()
	}
	return n
}

func (c *modelCase) run(env Env) error {
	data, err := os.ReadFile(env.Golden.Path("models/" + c.Symbol))
	if err != nil {
		return err
	}
	s, err := sym.Load(data)
	if err != nil {
		return err
	}
	if err := c.checkShapes(s); err != nil {
		return err
	}
	f, err := c.feed()
	if err != nil {
		return err
	}
	if err := f.share(env); err != nil {
		return err
	}
	defer f.closeShared()
	if err := c.infer(s, f, env); err != nil {
		return fmt.Errorf("inference: %w", err)
	}
	if !c.trains() {
		return nil
	}
	var dropouts int
	if s, dropouts, err = withoutDropout(data); err != nil {
		return err
	}
	if dropouts != c.Dropouts {
		return fmt.Errorf("%d dropouts are set to zero for training, want %d", dropouts, c.Dropouts)
	}
	if err := c.train(s, f, env); err != nil {
		return fmt.Errorf("training: %w", err)
	}
	return nil
}

// trains reports whether the case has a training part: some are for inference only.
func (c *modelCase) trains() bool {
	return len(c.ForwardTrain) > 0 || len(c.GradNorms) > 0 || len(c.Grads) > 0
}

// checkShapes compares names and inferred shapes with the case.
func (c *modelCase) checkShapes(s *sym.Symbol) error {
	given := map[string]dtype.Shape{}
	for name, in := range c.Inputs {
		given[name] = in.Shape
	}
	in := s.Internals()
	_, shapes, _, err := in.InferShape(given)
	if err != nil {
		return err
	}
	names := in.Outputs()
	if c.InternalShapes != nil && len(names) != len(c.InternalShapes) {
		return fmt.Errorf("%d internal outputs, want %d", len(names), len(c.InternalShapes))
	}
	for i, want := range c.InternalShapes {
		if names[i] != want.name || !shapes[i].Equal(want.shape) {
			return fmt.Errorf("internal output %d is %s %v, want %s %v", i, names[i], shapes[i],
				want.name, want.shape)
		}
	}
	for what, pair := range map[string][2][]string{
		"arguments": {s.Arguments(), refNames(c.Arguments)},
		"auxiliary": {s.AuxStates(), refNames(c.Aux)},
		"outputs":   {s.Outputs(), refNames(c.Outputs)},
	} {
		if !slices.Equal(pair[0], pair[1]) {
			return fmt.Errorf("%s are %v, want %v", what, pair[0], pair[1])
		}
	}
	return nil
}

func refNames(refs []Ref) []string {
	names := make([]string, len(refs))
	for i, r := range refs {
		names[i] = r.Name
	}
	return names
}

// feed computes inputs and parameters.
func (c *modelCase) feed() (*feed, error) {
	f := &feed{args: values{}, aux: values{}, req: map[string]op.Req{}}
	for _, r := range c.Arguments {
		f.args[r.Name] = Fill(r.Name, r.Shape)
	}
	for name, in := range c.Inputs {
		a, err := FillInput(in.Fill, name, in.Shape)
		if err != nil {
			return nil, err
		}
		f.args[name] = a
	}
	for _, r := range c.Aux {
		f.aux[r.Name] = Fill(r.Name, r.Shape)
	}
	for name := range c.GradNorms {
		f.req[name] = op.ReqWrite
	}
	for _, r := range c.Grads {
		f.req[r.Name] = op.ReqWrite
	}
	return f, nil
}

// infer checks the outputs of inference, and the input of the loss layer.
func (c *modelCase) infer(s *sym.Symbol, f *feed, env Env) error {
	g := *f
	g.req = nil
	ex, err := g.bind(c.withPreHead(s, c.ForwardInfer), env)
	if err != nil {
		return err
	}
	defer f.close(ex)
	if err := ex.Forward(false); err != nil {
		return err
	}
	return c.outputs(ex, c.ForwardInfer, env.Golden)
}

// withPreHead adds the input of the first head's layer to the outputs, if the references end with
// it.
func (c *modelCase) withPreHead(s *sym.Symbol, refs []Ref) *sym.Symbol {
	heads := s.Entries()
	if len(refs) == len(c.Outputs) {
		return s
	}
	return sym.FromEntries(append(slices.Clone(heads), heads[0].Node.In[0])...)
}

// train checks one forward and backward pass in training mode. It checks the input of the loss
// layer with an executor of its own, because as an output it would get a gradient.
func (c *modelCase) train(s *sym.Symbol, f *feed, env Env) error {
	if err := c.trainForward(s, f, env); err != nil {
		return err
	}
	ex, err := f.bind(s, env)
	if err != nil {
		return err
	}
	defer f.close(ex)
	if err := ex.Forward(true); err != nil {
		return err
	}
	if len(f.req) > 0 {
		if err := ex.Backward(); err != nil {
			return err
		}
	}
	if err := c.outputs(ex, c.ForwardTrain[:min(len(c.ForwardTrain), len(c.Outputs))],
		env.Golden); err != nil {
		return err
	}
	if err := c.norms("gradient of ", ex.Grads, c.GradNorms); err != nil {
		return err
	}
	if err := c.norms("auxiliary state ", ex.Aux, c.AuxAfter); err != nil {
		return err
	}
	return c.grads(ex, env.Golden)
}

func (c *modelCase) trainForward(s *sym.Symbol, f *feed, env Env) error {
	g := *f
	g.req = nil
	ex, err := g.bind(c.withPreHead(s, c.ForwardTrain), env)
	if err != nil {
		return err
	}
	defer f.close(ex)
	if err := ex.Forward(true); err != nil {
		return err
	}
	return c.outputs(ex, c.ForwardTrain, env.Golden)
}

// withoutDropout loads a symbol with the probability of every Dropout set to zero, and counts them.
// A Dropout without attributes has MXNet's default probability otherwise.
func withoutDropout(data []byte) (*sym.Symbol, int, error) {
	var g map[string]any
	if err := json.Unmarshal(data, &g); err != nil {
		return nil, 0, err
	}
	nodes, _ := g["nodes"].([]any)
	count := 0
	for _, n := range nodes {
		n, ok := n.(map[string]any)
		if !ok || n["op"] != "Dropout" {
			continue
		}
		count++
		key := "attrs"
		for _, old := range []string{"attr", "param"} { // names in older files
			if n[old] != nil {
				key = old
			}
		}
		attrs, ok := n[key].(map[string]any)
		if !ok {
			attrs = map[string]any{}
			n[key] = attrs
		}
		attrs["p"] = "0"
	}
	changed, err := json.Marshal(g)
	if err != nil {
		return nil, 0, err
	}
	s, err := sym.Load(changed)
	return s, count, err
}
