package conformance

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gomx/checkpoint"
	"gomx/dtype"
	"gomx/gluon"
	"gomx/gluon/nn"
	nd "gomx/ndarray"
)

// filesCase is a file that MXNet has written, and the outputs of the network that loads it.
type filesCase struct {
	ID, Kind, Note, File, NPZ string
	Symbol                    string
	Epoch                     int
	Arguments, Aux            []string
	SymbolBlockParams         json.RawMessage `json:"symbolblock_params"`
	Net                       *blockSpec
	Input                     *fillRef
	Params                    []blockParam
	Arrays                    []Ref // content of the file
	Outputs                   []Ref
	StripPrefix               string `json:"strip_prefix"`
	Deduplicate               bool
	Units                     int
	FillBase                  string `json:"fill_base"`

	States, Optimizer string
	StatesFormat      string         `json:"states_format"`
	OptimizerParams   map[string]any `json:"optimizer_params"`
	StepBatch         int            `json:"step_batch"`
	X, Y              *fillRef
	TrainerOrder      []string  `json:"trainer_order"`
	LossesBefore      []float64 `json:"losses_before"`
	LossesAfter       []float64 `json:"losses_after"`
	StateArrays       []Ref     `json:"state_arrays"`
	Final             []Ref
}

const filesFolder = "gluon/files/"

// sharing is a network whose layers A and B share their parameters.
type sharing struct{ A, B, C *nn.Dense }

// Forward calls the layers one after the other.
func (s *sharing) Forward(x *nd.Array) *nd.Array { return s.C.Forward(s.B.Forward(s.A.Forward(x))) }

func (c *filesCase) run(env Env) error {
	switch c.Kind {
	case "parameters":
		return c.parameters(env)
	case "parameters_prefixed":
		return c.prefixed(env)
	case "shared":
		return c.shared(env)
	case "export":
		return c.exported(env)
	case "trainer_states":
		return c.trainerStates(env)
	}
	return missing("files of kind %s", c.Kind)
}

// parameters loads parameters by structural names and compares them and the outputs.
func (c *filesCase) parameters(env Env) error {
	b, err := c.Net.build()
	if err != nil {
		return err
	}
	net := gluon.New(b)
	names := make([]string, len(c.Params))
	for i, p := range c.Params {
		names[i] = p.Name
	}
	if got := net.Params().Names(); !slices.Equal(got, names) {
		return fmt.Errorf("parameters %v, want %v", got, names)
	}
	return c.load(env, net)
}

// prefixed loads parameters by their order, because their names are MXNet's global ones.
func (c *filesCase) prefixed(env Env) error {
	b, err := c.Net.build()
	if err != nil {
		return err
	}
	params := gluon.New(b).Params()
	if err := params.Load(env.Golden.Path(filesFolder+c.File), gluon.ByOrder()); err != nil {
		return err
	}
	i := 0
	for name, p := range params.All() {
		if err := compareND(env.Golden, name, p.Data(), filesFolder+c.NPZ, c.Arrays[i]); err != nil {
			return err
		}
		i++
	}
	return nil
}

// shared loads parameters that two layers share.
func (c *filesCase) shared(env Env) error {
	root := &sharing{A: &nn.Dense{Units: c.Units}, C: &nn.Dense{Units: 2}}
	root.B = root.A
	return c.load(env, gluon.New(root))
}

// load loads the file, compares the parameters with its content, and the outputs.
func (c *filesCase) load(env Env, net *gluon.Net) error {
	if err := net.Init(nil, gluon.On(env.Device)); err != nil {
		return err
	}
	if err := net.Load(env.Golden.Path(filesFolder + c.File)); err != nil {
		return err
	}
	for _, r := range c.Arrays {
		p := net.Params().Get(r.Name)
		if _, plain, ok := strings.Cut(r.Name, ":"); ok {
			p = net.Params().Get(plain)
		}
		if p == nil {
			return fmt.Errorf("no parameter %s", r.Name)
		}
		if err := compareND(env.Golden, r.Name, p.Data(), filesFolder+c.NPZ, r); err != nil {
			return err
		}
	}
	return c.outputs(env, net)
}

// outputs compares the outputs of a network.
func (c *filesCase) outputs(env Env, net *gluon.Net) error {
	a, err := c.Input.array()
	if err != nil {
		return err
	}
	x, err := a.upload(env.Device)
	if err != nil {
		return err
	}
	out := net.Call(x)
	for i, r := range c.Outputs {
		want, err := env.Golden.Array(filesFolder+c.NPZ, r)
		if err != nil {
			return err
		}
		got, err := download(out[i])
		if err != nil {
			return err
		}
		tol := Tolerance{1e-4, 1e-3}
		if want.DType != dtype.Float32 {
			tol = Tolerance{}
		}
		if err := compare(fmt.Sprintf("output %d", i), got, want, tol); err != nil {
			return err
		}
	}
	return nil
}

// exported imports a symbol that MXNet has exported, with its parameters, and compares the outputs;
// then it exports what it has imported and compares them again.
func (c *filesCase) exported(env Env) error {
	net, err := gluon.Import(env.Golden.Path(filesFolder+c.Symbol), []string{"data"}, "")
	if err != nil {
		return err
	}
	var want []string
	if err := json.Unmarshal(c.SymbolBlockParams, &want); err != nil {
		return err
	}
	if got := slices.Sorted(slices.Values(net.Params().Names())); !slices.Equal(got, want) {
		return fmt.Errorf("parameters %v, want %v", got, want)
	}
	if err := c.load(env, net); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "export")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	prefix := filepath.Join(dir, "net")
	if err := net.Export(prefix, c.Epoch); err != nil {
		return err
	}
	again, err := gluon.Import(checkpoint.SymbolPath(prefix), []string{"data"}, "")
	if err != nil {
		return fmt.Errorf("exported again: %w", err)
	}
	again.Unhybridize()
	if err := again.Init(nil, gluon.On(env.Device)); err != nil {
		return err
	}
	if err := again.Load(checkpoint.ParamsPath(prefix, c.Epoch)); err != nil {
		return fmt.Errorf("exported again: %w", err)
	}
	return c.outputs(env, again)
}
