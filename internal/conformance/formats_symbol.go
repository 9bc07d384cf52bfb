package conformance

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"

	"gomx/dtype"
	sym "gomx/symbol"
)

// symbolCase is a symbol file.
type symbolCase struct {
	described
	File           string
	Upgraded       string // file that MXNet 1.9.1 writes after loading an old file
	Arguments, Aux []string
	Outputs        []string
	Internals      []string
	AttrDict       map[string]map[string]string `json:"attr_dict"`
	ArgShapes      []dtype.Shape                `json:"arg_shapes"`
	OutShapes      []dtype.Shape                `json:"out_shapes"`
	// exported by Gluon: the network has one input, data
	Exported bool
}

func (c *symbolCase) run(env Env) error {
	data, err := os.ReadFile(env.Golden.Path("formats/" + c.File))
	if err != nil {
		return err
	}
	s, err := sym.Load(data)
	if err != nil {
		return err
	}
	if err := c.checkNames(s); err != nil {
		return err
	}
	if c.Exported && !slices.Contains(s.Arguments(), "data") {
		return fmt.Errorf("an exported network has no argument data but %v", s.Arguments())
	}
	if got := s.AttrDict(); c.AttrDict != nil && !reflect.DeepEqual(got, c.AttrDict) {
		return fmt.Errorf("attributes are %v, want %v", got, c.AttrDict)
	}
	if c.ArgShapes != nil {
		args, outs, _, err := s.InferShape(nil)
		if err != nil {
			return err
		}
		if !sameShapes(args, c.ArgShapes) || !sameShapes(outs, c.OutShapes) {
			return fmt.Errorf("shapes of arguments and outputs are %v and %v, want %v and %v", args,
				outs, c.ArgShapes, c.OutShapes)
		}
	}
	return c.checkJSON(s, data, env.Golden)
}

func (c *symbolCase) checkNames(s *sym.Symbol) error {
	check := func(what string, got, want []string) error {
		if !slices.Equal(got, want) {
			return fmt.Errorf("%s are %v, want %v", what, got, want)
		}
		return nil
	}
	if err := check("arguments", s.Arguments(), c.Arguments); err != nil {
		return err
	}
	if err := check("auxiliary states", s.AuxStates(), c.Aux); err != nil {
		return err
	}
	if err := check("outputs", s.Outputs(), c.Outputs); err != nil || c.Internals == nil {
		return err
	}
	return check("internal outputs", s.Internals().Outputs(), c.Internals)
}

func sameShapes(got, want []dtype.Shape) bool {
	return slices.EqualFunc(got, want, func(a, b dtype.Shape) bool { return a.Equal(b) })
}

// checkJSON compares our JSON with the JSON that MXNet 1.9.1 writes. For a file of that version,
// this is the file itself.
func (c *symbolCase) checkJSON(s *sym.Symbol, file []byte, g *Golden) error {
	if c.Upgraded != "" {
		var err error
		if file, err = os.ReadFile(g.Path("formats/" + c.Upgraded)); err != nil {
			return err
		}
	}
	written, err := s.JSON()
	if err != nil {
		return err
	}
	var got, want map[string]any
	if err := json.Unmarshal(written, &got); err != nil {
		return fmt.Errorf("written JSON: %w", err)
	}
	if err := json.Unmarshal(file, &want); err != nil {
		return err
	}
	plainJSON(got)
	plainJSON(want)
	return sameJSON("written JSON", got, want)
}

// plainJSON removes fields that loading ignores: the numbers of outputs of nodes, which in MXNet
// depend on its back ends, and the versions of entries.
func plainJSON(g map[string]any) {
	delete(g, "node_row_ptr")
	nodes, _ := g["nodes"].([]any)
	for _, n := range nodes {
		o, _ := n.(map[string]any)
		inputs, _ := o["inputs"].([]any)
		for i, e := range inputs {
			if entry, ok := e.([]any); ok && len(entry) == 3 {
				inputs[i] = entry[:2]
			}
		}
	}
}

// sameJSON reports the first difference of two decoded documents.
func sameJSON(at string, got, want any) error {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			break
		}
		for k := range g {
			if _, ok := w[k]; !ok {
				return fmt.Errorf("%s has %q: %v, want none", at, k, g[k])
			}
		}
		for k, v := range w {
			if err := sameJSON(at+"."+k, g[k], v); err != nil {
				return err
			}
		}
		return nil
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			break
		}
		for i, v := range w {
			if err := sameJSON(fmt.Sprintf("%s[%d]", at, i), g[i], v); err != nil {
				return err
			}
		}
		return nil
	default:
		if got == want {
			return nil
		}
	}
	return fmt.Errorf("%s is %v, want %v", at, got, want)
}
