package conformance

import (
	"bytes"
	"fmt"
	"os"
	"slices"

	sym "gomx/symbol"
)

// controlCase is a graph with loops and choices, and the arrays of one pass as an opCase has them.
type controlCase struct {
	opCase
	Symbol    string
	Operators []string // informative: all operators, those inside loops included
	Arguments []string
	Unrolled  map[string]float64 // informative: differences to the graph written out
}

// ControlCases reads control/cases.json.
func ControlCases(g *Golden) ([]Case, error) {
	cases, err := casesOf[controlCase](g, "control/cases.json")
	if err != nil {
		return nil, err
	}
	var list []Case
	for _, c := range cases {
		c.File = "control/" + c.File
		list = append(list, Case{ID: c.ID, Run: c.run})
	}
	return list, nil
}

// run loads the graph, writes it back, and runs it for inference and for training.
func (c *controlCase) run(env Env) error {
	data, err := os.ReadFile(env.Golden.Path("control/" + c.Symbol))
	if err != nil {
		return err
	}
	s, err := sym.Load(data)
	if err != nil {
		return err
	}
	text, err := s.JSON()
	if err != nil {
		return err
	}
	if !bytes.Equal(text, bytes.TrimSpace(data)) {
		return fmt.Errorf("written as %d bytes that differ from the %d of the file", len(text),
			len(data))
	}
	if got := s.Outputs(); !slices.Equal(got, c.OutputNames) {
		return fmt.Errorf("outputs are called %q, want %q", got, c.OutputNames)
	}
	if got := s.Arguments(); !slices.Equal(got, c.Arguments) {
		return fmt.Errorf("arguments are %q, want %q", got, c.Arguments)
	}
	for _, train := range []bool{false, true} {
		if err := c.pass(s, env, train); err != nil {
			return fmt.Errorf("training %v: %w", train, err)
		}
	}
	return nil
}

// pass checks one forward pass, in training with the gradients.
func (c *controlCase) pass(s *sym.Symbol, env Env, train bool) error {
	one := c.opCase
	if !train {
		one.Grads, one.HeadGrads = nil, nil
	}
	f, err := one.feed(env.Golden)
	if err != nil {
		return err
	}
	ex, err := f.bind(s, env)
	if err != nil {
		return err
	}
	defer f.close(ex)
	if err := ex.Forward(train); err != nil {
		return err
	}
	if err := one.backward(ex, env); err != nil {
		return err
	}
	return one.check(env.Golden, ex)
}
