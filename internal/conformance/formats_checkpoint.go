package conformance

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"gomx/checkpoint"
	"gomx/op"
	sym "gomx/symbol"

	nd "gomx/ndarray"
)

// checkpointCase is what Module saved of a network, and its outputs after loading.
type checkpointCase struct {
	File, States string
	Prefix       string
	Epoch        int
	Data, Label  Ref
	Outputs      []Ref
	Arrays       []Ref
}

func (c *checkpointCase) run(env Env) error {
	m, err := checkpoint.Load(env.Golden.Path("formats/"+c.Prefix), c.Epoch)
	if err != nil {
		return err
	}
	if err := c.checkArrays(env.Golden, m); err != nil {
		return err
	}
	if err := c.checkSaved(env.Golden, m); err != nil {
		return err
	}
	if err := c.checkStates(env.Golden, m); err != nil {
		return err
	}
	return c.forward(env, m)
}

// checkArrays compares the loaded parameters.
func (c *checkpointCase) checkArrays(g *Golden, m *checkpoint.Model) error {
	if n := len(m.Args) + len(m.Aux); n != len(c.Arrays) {
		return fmt.Errorf("%d parameters, want %d", n, len(c.Arrays))
	}
	for _, r := range c.Arrays {
		kind, name, _ := strings.Cut(r.Name, ":")
		a := m.Args[name]
		if kind == "aux" {
			a = m.Aux[name]
		}
		if a == nil {
			return fmt.Errorf("parameter %s is missing", r.Name)
		}
		if err := c.compare(g, r.Name, a, r, Tolerance{}); err != nil {
			return err
		}
	}
	return nil
}

func (c *checkpointCase) compare(g *Golden, what string, x *nd.Array, r Ref, tol Tolerance) error {
	want, err := g.Array(formatsArchive, r)
	if err != nil {
		return err
	}
	got, err := download(x)
	if err != nil {
		return err
	}
	return compare(what, got, want, tol)
}

// checkSaved checks that saving the model gives the file that it was loaded from.
func (c *checkpointCase) checkSaved(g *Golden, m *checkpoint.Model) error {
	dir, err := os.MkdirTemp("", "conformance")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	prefix := dir + string(os.PathSeparator) + c.Prefix
	if err := m.Save(prefix, c.Epoch); err != nil {
		return err
	}
	got, err := os.ReadFile(checkpoint.ParamsPath(prefix, c.Epoch))
	if err != nil {
		return err
	}
	want, err := os.ReadFile(g.Path("formats/" + c.File))
	if err != nil {
		return err
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("saved parameters are %d bytes that differ from the %d of MXNet", len(got), len(want))
	}
	return nil
}

// checkStates reads the optimizer's states: momenta of the parameters, in the order of the
// symbol's arguments.
func (c *checkpointCase) checkStates(g *Golden, m *checkpoint.Model) error {
	states, err := checkpoint.LoadStates(g.Path("formats/" + c.States))
	if err != nil {
		return err
	}
	names := slices.DeleteFunc(m.Symbol.Arguments(), func(n string) bool { return m.Args[n] == nil })
	if len(states) != len(names) {
		return fmt.Errorf("%d states, want %d", len(states), len(names))
	}
	for i, s := range states {
		if r := s.State.Array; s.Index != i || r == nil || !r.Shape.Equal(m.Args[names[i]].Shape()) {
			return fmt.Errorf("state %d is number %d, %+v, want an array of shape %v", i, s.Index, r, m.Args[names[i]].Shape())
		}
	}
	return nil
}

// forward compares the outputs in inference.
func (c *checkpointCase) forward(env Env, m *checkpoint.Model) error {
	data, err := env.Golden.Array(formatsArchive, c.Data)
	if err != nil {
		return err
	}
	cfg := sym.BindConfig{Device: env.Device, DefaultReq: op.ReqNull, Args: maps.Clone(m.Args), Aux: m.Aux}
	if cfg.Args["data"], err = data.upload(env.Device); err != nil {
		return err
	}
	for name, a := range cfg.Args {
		cfg.Args[name] = a.To(env.Device)
	}
	ex, err := m.Symbol.SimpleBind(cfg)
	if err != nil {
		return err
	}
	if err := ex.Forward(false); err != nil {
		return err
	}
	for i, r := range c.Outputs {
		if err := c.compare(env.Golden, fmt.Sprintf("output %d", i), ex.Outputs()[i], r, Tolerance{1e-5, 1e-4}); err != nil {
			return err
		}
	}
	return nil
}
