package conformance

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"gomx/op"
	sym "gomx/symbol"

	nd "gomx/ndarray"
)

// opCase is one case of an operator: a graph of variables and one node.
type opCase struct {
	ID               string
	Family, File     string
	Op, Alias        string
	Attrs            map[string]string
	IsTrain          bool     `json:"is_train"`
	GradReq          string   `json:"grad_req"`
	Inputs, Aux      []Ref    // in argument order
	Outputs          []Ref    // visible ones
	OutputNames      []string `json:"output_names"`
	HeadGrads        []Ref    `json:"head_grads"`
	GradInit         []Ref    `json:"grad_init"` // content of the gradient arrays before backward
	Grads            []Ref
	AuxAfter         []Ref `json:"aux_after"`
	UndefinedOutputs []int `json:"undefined_outputs"`
	Nonfinite        bool  `json:"has_nonfinite"`
	Note, Backend    string
}

// OpCases reads ops/cases.json.
func OpCases(g *Golden) ([]Case, error) {
	return opCasesOf(g, "ops")
}

// opCasesOf reads the operator cases of a folder.
func opCasesOf(g *Golden, folder string) ([]Case, error) {
	cases, err := casesOf[opCase](g, folder+"/cases.json")
	if err != nil {
		return nil, err
	}
	list := make([]Case, len(cases))
	for i, c := range cases {
		c.File = folder + "/" + c.File
		if err := c.valid(); err != nil {
			return nil, fmt.Errorf("conformance: %s/cases.json: %s: %w", folder, c.ID, err)
		}
		list[i] = Case{ID: c.ID, Run: c.run}
	}
	return list, nil
}

// valid checks that the fields of a case agree with each other.
func (c *opCase) valid() error {
	for _, r := range c.Inputs {
		if r.GradReq != c.GradReq && r.GradReq != "null" {
			return fmt.Errorf("input %s has grad_req %q, the case %q", r.Name, r.GradReq, c.GradReq)
		}
	}
	switch {
	case (c.GradReq == "null") != (len(c.Grads) == 0):
		return fmt.Errorf("grad_req %q and %d gradients", c.GradReq, len(c.Grads))
	case (c.GradReq == "add") != (len(c.GradInit) > 0):
		return fmt.Errorf("grad_req %q and %d initial gradients", c.GradReq, len(c.GradInit))
	case len(c.OutputNames) != len(c.Outputs):
		return fmt.Errorf("%d names of %d outputs", len(c.OutputNames), len(c.Outputs))
	case len(c.Aux) != len(c.AuxAfter):
		return fmt.Errorf("%d auxiliary states before and %d after", len(c.Aux), len(c.AuxAfter))
	}
	return nil
}

// run loads the case's graph from JSON, binds it and runs it, like a program.
func (c *opCase) run(env Env) error {
	if op.Lookup(c.Op) == nil {
		return missing("operator %s", c.Op)
	}
	if a := op.Lookup(c.Alias); a != op.Lookup(c.Op) {
		return missing("alias %s of operator %s", c.Alias, c.Op)
	}
	s, err := c.symbol()
	if err != nil {
		return err
	}
	if got := s.Outputs(); !slices.Equal(got, c.OutputNames) {
		return fmt.Errorf("outputs are called %s, want %s", strings.Join(got, ", "),
			strings.Join(c.OutputNames, ", "))
	}
	f, err := c.feed(env.Golden)
	if err != nil {
		return err
	}
	ex, err := f.bind(s, env)
	if err != nil {
		return err
	}
	defer f.close(ex)
	if err := ex.Forward(c.IsTrain); err != nil {
		return err
	}
	if err := c.backward(ex, env); err != nil {
		return err
	}
	return c.check(env.Golden, ex)
}

// symbol builds the graph of the case: variables for inputs then auxiliary states, and a node
// called op of which every visible output is a head.
func (c *opCase) symbol() (*sym.Symbol, error) {
	type node struct {
		Op     string            `json:"op"`
		Name   string            `json:"name"`
		Attrs  map[string]string `json:"attrs,omitempty"`
		Inputs [][3]int          `json:"inputs"`
	}
	var g struct {
		Nodes    []node         `json:"nodes"`
		ArgNodes []int          `json:"arg_nodes"`
		Heads    [][3]int       `json:"heads"`
		Attrs    map[string]any `json:"attrs"`
	}
	last := node{Op: c.Op, Name: "op", Attrs: c.Attrs, Inputs: [][3]int{}}
	for i, r := range slices.Concat(c.Inputs, c.Aux) {
		g.Nodes = append(g.Nodes, node{Op: "null", Name: r.Name, Inputs: [][3]int{}})
		g.ArgNodes = append(g.ArgNodes, i)
		last.Inputs = append(last.Inputs, [3]int{i, 0, 0})
	}
	g.Nodes = append(g.Nodes, last)
	for i := range c.Outputs {
		g.Heads = append(g.Heads, [3]int{len(g.Nodes) - 1, i, 0})
	}
	g.Attrs = map[string]any{"mxnet_version": []any{"int", 10901}}
	data, err := json.Marshal(g)
	if err != nil {
		return nil, err
	}
	return sym.Load(data)
}

// feed reads the inputs of the graph.
func (c *opCase) feed(g *Golden) (*feed, error) {
	f := &feed{req: map[string]op.Req{}}
	var err error
	if f.args, err = c.named(g, c.Inputs); err != nil {
		return nil, err
	}
	if f.aux, err = c.named(g, c.Aux); err != nil {
		return nil, err
	}
	if f.grads, err = c.named(g, c.GradInit); err != nil {
		return nil, err
	}
	for _, r := range c.Inputs {
		if f.req[r.Name], err = op.ParseReq(r.GradReq); err != nil {
			return nil, err
		}
		if len(c.Grads) == 0 {
			f.req[r.Name] = op.ReqNull
		}
	}
	return f, nil
}

func (c *opCase) named(g *Golden, refs []Ref) (values, error) {
	v := values{}
	for _, r := range refs {
		a, err := g.Array(c.File, r)
		if err != nil {
			return nil, err
		}
		v[r.Name] = a
	}
	return v, nil
}

// backward computes the gradients of the case.
func (c *opCase) backward(ex *sym.Executor, env Env) error {
	if len(c.Grads) == 0 {
		return nil
	}
	heads, err := env.upload(c.File, c.HeadGrads)
	if err != nil {
		return err
	}
	return ex.Backward(heads...)
}

// check compares the results of an executor with the golden arrays.
func (c *opCase) check(g *Golden, ex *sym.Executor) error {
	for i, r := range c.Outputs {
		if slices.Contains(c.UndefinedOutputs, i) {
			continue
		}
		if err := c.compare(g, "output "+c.OutputNames[i], ex.Outputs()[i], r, c.Op); err != nil {
			return err
		}
	}
	for _, r := range c.Grads {
		if err := c.compare(g, "gradient of "+r.Name, ex.Grads[r.Name], r, ""); err != nil {
			return err
		}
	}
	for _, r := range c.AuxAfter {
		if err := c.compare(g, "auxiliary state "+r.Name, ex.Aux[r.Name], r, ""); err != nil {
			return err
		}
	}
	return nil
}

// compare compares one array; name selects the tolerance of operators with exact results.
func (c *opCase) compare(g *Golden, what string, x *nd.Array, r Ref, name string) error {
	if x == nil {
		return fmt.Errorf("%s: the executor has none", what)
	}
	want, err := g.Array(c.File, r)
	if err != nil {
		return err
	}
	got, err := download(x)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if tol, ok := roundedTolerance(c.Family, c.Op, want.DType); ok {
		return compare(what, got, want, tol)
	}
	if name == "" && c.Op == "CTCLoss" {
		name = c.Op
	}
	return compare(what, got, want, opTolerance(c.Family, name, want.DType))
}
