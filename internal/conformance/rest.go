package conformance

import (
	"fmt"
	"slices"

	"gomx/autograd"
	"gomx/op"

	nd "gomx/ndarray"
)

// RestCases reads the two indexes below rest/: operators as in ops/, and operators that cannot be
// in a graph.
func RestCases(g *Golden) ([]Case, error) {
	list, err := opCasesOf(g, "rest")
	if err != nil {
		return nil, err
	}
	cases, err := casesOf[imperativeCase](g, "rest/imperative.json")
	if err != nil {
		return nil, err
	}
	for _, c := range cases {
		if c.Kind != "imperative" {
			return nil, fmt.Errorf("conformance: imperative.json: %s is of kind %q, want "+
				"imperative", c.ID, c.Kind)
		}
		list = append(list, Case{ID: "imperative/" + c.ID, Run: c.run})
	}
	return list, nil
}

// imperativeArchive holds the arrays of imperative.json.
const imperativeArchive = "rest/imperative.npz"

// imperativeCase is one call of an operator on arrays: its output shape depends on values, its
// input is sparse, or it changes its inputs.
type imperativeCase struct {
	ID, Kind, Op string
	Note         string // informative
	Attrs        map[string]string
	Inputs       []storedRef
	Outputs      []Ref
	HeadGrads    []Ref `json:"head_grads"`
	Grads        []Ref // gradients of inputs, by name
	InputsAfter  []Ref `json:"inputs_after"` // empty: the inputs are unchanged
}

// storedRef refers to an array and to the stored parts of a sparse array.
type storedRef struct {
	Ref
	Stype                 string
	Data, Indices, Indptr *Ref
}

func (c *imperativeCase) run(env Env) error {
	o := op.Lookup(c.Op)
	if o == nil {
		return missing("operator %s", c.Op)
	}
	params, err := o.ParseParams(c.Attrs)
	if err != nil {
		return err
	}
	in, err := c.inputs(env)
	if err != nil {
		return err
	}
	given := slices.Clone(in)
	tape := autograd.Train()
	wrt := make([]*nd.Array, len(c.Grads))
	for i, r := range c.Grads {
		k := slices.IndexFunc(c.Inputs, func(in storedRef) bool { return in.Name == r.Name })
		if k < 0 {
			return fmt.Errorf("found a gradient of %s, want an input", r.Name)
		}
		in[k].AttachGrad(nd.GradWrite)
		in[k] = tape.Watch(in[k])
		wrt[i] = in[k]
	}
	out, err := nd.Invoke(o, o.WithCount(params, len(in)), in, nil)
	if err != nil {
		return err
	}
	if len(c.Outputs) > 0 && len(out) != len(c.Outputs) {
		return fmt.Errorf("%d outputs, want %d", len(out), len(c.Outputs))
	}
	for i, r := range c.Outputs {
		if err := compareND(env.Golden, fmt.Sprintf("output %d", i), out[i], imperativeArchive,
			r); err != nil {
			return err
		}
	}
	if err := c.gradients(env, out, wrt); err != nil {
		return err
	}
	return c.inputsAfter(env.Golden, given)
}

// inputs reads the inputs.
func (c *imperativeCase) inputs(env Env) ([]*nd.Array, error) {
	list := make([]*nd.Array, len(c.Inputs))
	for i, r := range c.Inputs {
		var err error
		if list[i], err = env.stored(imperativeArchive, r); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// gradients compares the gradients for the head gradients of the case.
func (c *imperativeCase) gradients(env Env, out, wrt []*nd.Array) error {
	if len(wrt) == 0 {
		return nil
	}
	heads, err := env.upload(imperativeArchive, c.HeadGrads)
	if err != nil {
		return err
	}
	grads, err := autograd.Grad(out, wrt, autograd.HeadGrads(heads...))
	if err != nil {
		return err
	}
	for i, r := range c.Grads {
		if err := compareND(env.Golden, "gradient of "+r.Name, grads[i], imperativeArchive,
			r); err != nil {
			return err
		}
	}
	return nil
}

// inputsAfter compares the inputs after the call with the case, or with the inputs before.
func (c *imperativeCase) inputsAfter(g *Golden, in []*nd.Array) error {
	for i, x := range in {
		want := c.Inputs[i].Ref
		if k := slices.IndexFunc(c.InputsAfter,
			func(r Ref) bool { return r.Name == want.Name }); k >= 0 {
			want = c.InputsAfter[k]
		}
		if err := compareND(g, want.Name+" afterwards", x, imperativeArchive, want); err != nil {
			return err
		}
	}
	return nil
}
