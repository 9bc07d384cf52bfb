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

// inputFill says how an input is computed.
type inputFill struct {
	Shape []int
	Fill  string
}

// norm sums up an array.
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
	var index struct{ Cases []*modelCase }
	if err := g.JSON("models/cases.json", &index); err != nil {
		return nil, err
	}
	var list []Case
	for _, c := range index.Cases {
		c.File = "models/" + c.File
		list = append(list, Case{ID: c.Name, Run: c.run, Weight: c.elements()})
	}
	return list, nil
}

// elements counts the elements of parameters and of everything computed from them.
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
	if s, err = withoutDropout(data); err != nil {
		return err
	}
	if err := c.train(s, f, env); err != nil {
		return fmt.Errorf("training: %w", err)
	}
	return nil
}

// checkShapes compares names and inferred shapes with those of the case.
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
	if len(names) != len(c.InternalShapes) {
		return fmt.Errorf("%d internal outputs, want %d", len(names), len(c.InternalShapes))
	}
	for i, want := range c.InternalShapes {
		if names[i] != want.name || !shapes[i].Equal(want.shape) {
			return fmt.Errorf("internal output %d is %s %v, want %s %v", i, names[i], shapes[i], want.name, want.shape)
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
	return f, nil
}

// infer checks the outputs in inference, and the tensor that enters the loss layer.
func (c *modelCase) infer(s *sym.Symbol, f *feed, env Env) error {
	g := *f
	g.req = nil
	ex, err := g.bind(withPreHead(s), env)
	if err != nil {
		return err
	}
	defer f.close(ex)
	if err := ex.Forward(false); err != nil {
		return err
	}
	return c.outputs(ex, c.ForwardInfer, env.Golden)
}

// withPreHead adds the tensor that enters the first head's layer to the outputs.
func withPreHead(s *sym.Symbol) *sym.Symbol {
	heads := s.Entries()
	return sym.FromEntries(append(slices.Clone(heads), heads[0].Node.In[0])...)
}

// train checks one forward and backward pass in training mode. What enters the loss is checked
// with an executor of its own, because as an output it would get a gradient.
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
	if err := ex.Backward(); err != nil {
		return err
	}
	if err := c.outputs(ex, c.ForwardTrain[:len(c.Outputs)], env.Golden); err != nil {
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
	ex, err := g.bind(withPreHead(s), env)
	if err != nil {
		return err
	}
	defer f.close(ex)
	if err := ex.Forward(true); err != nil {
		return err
	}
	return c.outputs(ex, c.ForwardTrain, env.Golden)
}

// withoutDropout loads a symbol with the probability of every Dropout set to zero.
func withoutDropout(data []byte) (*sym.Symbol, error) {
	var g map[string]any
	if err := json.Unmarshal(data, &g); err != nil {
		return nil, err
	}
	nodes, _ := g["nodes"].([]any)
	for _, n := range nodes {
		if n, ok := n.(map[string]any); ok && n["op"] == "Dropout" {
			if attrs, ok := n["attrs"].(map[string]any); ok {
				attrs["p"] = "0"
			}
		}
	}
	changed, err := json.Marshal(g)
	if err != nil {
		return nil, err
	}
	return sym.Load(changed)
}
