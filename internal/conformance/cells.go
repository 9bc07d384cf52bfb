package conformance

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"gomx/initializer"
	nd "gomx/ndarray"
	"gomx/op"
	sym "gomx/symbol"
)

// cellFolder holds the unrolled cells of mx.rnn.
const cellFolder = "gluon/rnn/"

// CellCases reads legacy_rnn.json: networks that MXNet's symbolic recurrent cells unroll, and the
// initializers of their parameters. Layers and cells of Gluon, in rnn.json beside it, have no
// symbol file and are not read; neither is the packing of a cell's parameters.
func CellCases(g *Golden) ([]Case, error) {
	var index struct{ Cases []json.RawMessage }
	if err := g.Part(cellFolder+"legacy_rnn.json", &index); err != nil {
		return nil, err
	}
	var list []Case
	for _, text := range index.Cases {
		run, err := decodeCell(text)
		if err != nil {
			return nil, fmt.Errorf("conformance: legacy_rnn.json: %s: %w", nameOf(text), err)
		}
		list = append(list, Case{ID: "cell/" + nameOf(text), Run: run})
	}
	return list, nil
}

// decodeCell decodes a case by its kind.
func decodeCell(text []byte) (func(Env) error, error) {
	var kind struct{ Kind string }
	if err := json.Unmarshal(text, &kind); err != nil {
		return nil, err
	}
	switch kind.Kind {
	case "cell":
		c := new(cellCase)
		return c.run, decodeStrictly(text, c)
	case "initializer":
		c := new(cellInitCase)
		return c.run, decodeStrictly(text, c)
	}
	return nil, fmt.Errorf("kind %q, want cell or initializer", kind.Kind)
}

// cellCase is an unrolled cell.
type cellCase struct {
	ID, Kind, Cell, Symbol, File, Layout string
	Length                               int
	InputShape                           []int `json:"input_shape"`
	Arguments                            []filled
	Outputs                              []Ref
	HeadGrads                            []filled `json:"head_grads"`
	Grads                                []Ref

	// The cell's description of its parameters, which a symbol file does not have.
	ParamsNames      []string          `json:"params_names"`
	StateInfo        []json.RawMessage `json:"state_info"`
	Unpacked         []Ref
	UnfusedArguments []string `json:"unfused_arguments"`
}

// filled is an array whose values depend on a name.
type filled struct {
	Name  string
	Shape []int
	Fill  string
}

// array computes the array.
func (f filled) array() *Array {
	if name, ok := strings.CutPrefix(f.Fill, "unit:"); ok {
		return Fill(name+".data", f.Shape)
	}
	return Fill(f.Fill, f.Shape)
}

func (c *cellCase) run(env Env) error {
	data, err := os.ReadFile(env.Golden.Path(cellFolder + c.Symbol))
	if err != nil {
		return err
	}
	s, err := sym.Load(data)
	if err != nil {
		return err
	}
	f := &feed{args: values{}, req: map[string]op.Req{}}
	var names []string
	for _, a := range c.Arguments {
		f.args[a.Name] = a.array()
		names = append(names, a.Name)
	}
	for _, r := range c.Grads {
		f.req[r.Name] = op.ReqWrite
	}
	if got := s.Arguments(); !slices.Equal(got, names) {
		return fmt.Errorf("arguments are %v, want %v", got, names)
	}
	ex, err := f.bind(s, env)
	if err != nil {
		return err
	}
	defer f.close(ex)
	for _, train := range []bool{false, true} {
		if err := c.compute(ex, env, train); err != nil {
			return fmt.Errorf("train %v: %w", train, err)
		}
	}
	return nil
}

// compute runs forward and backward, and compares the results.
func (c *cellCase) compute(ex *sym.Executor, env Env, train bool) error {
	if err := ex.Forward(train); err != nil {
		return err
	}
	if len(ex.Outputs()) != len(c.Outputs) {
		return fmt.Errorf("%d outputs, want %d", len(ex.Outputs()), len(c.Outputs))
	}
	for i, r := range c.Outputs {
		if err := c.compare(env, fmt.Sprintf("output %d", i), ex.Outputs()[i], r); err != nil {
			return err
		}
	}
	if len(c.Grads) == 0 {
		return nil
	}
	heads := make([]*nd.Array, len(c.HeadGrads))
	for i, h := range c.HeadGrads {
		var err error
		if heads[i], err = h.array().upload(env.Device); err != nil {
			return err
		}
	}
	if err := ex.Backward(heads...); err != nil {
		return err
	}
	for _, r := range c.Grads {
		if err := c.compare(env, "gradient of "+r.Name, ex.Grads[r.Name], r); err != nil {
			return err
		}
	}
	return nil
}

func (c *cellCase) compare(env Env, what string, x *nd.Array, r Ref) error {
	want, err := env.Golden.Array(cellFolder+c.File, r)
	if err != nil {
		return err
	}
	got, err := download(x)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return compare(what, got, want, opTolerance("rnn", "", want.DType))
}

// cellInitCase is an initializer of the parameters of cells.
type cellInitCase struct {
	ID, Kind, Initializer, File string
	Dumps                       string // text form, which includes the fields below
	Parameters                  Ref

	Mode, Inner   any // as in Dumps
	NumHidden     int `json:"num_hidden"`
	NumLayers     int `json:"num_layers"`
	Bidirectional bool
	ForgetBias    float64 `json:"forget_bias"`
	InputSize     int     `json:"input_size"`
}

func (c *cellInitCase) run(env Env) error {
	init, err := initializer.Parse(c.Dumps)
	if err != nil {
		return err
	}
	want, err := env.Golden.Array(cellFolder+c.File, c.Parameters)
	if err != nil {
		return err
	}
	got := NewArray(want.DType, want.Shape)
	d := initializer.Desc{Name: "parameters", Shape: want.Shape}
	if err := init.Weight(d, Elements[float32](got)); err != nil {
		return err
	}
	return compare("parameters", got, want, Tolerance{})
}
