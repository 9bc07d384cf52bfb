package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"gomx/checkpoint"
	"gomx/op"
	sym "gomx/symbol"

	nd "gomx/ndarray"
)

// checkpointCase is a checkpoint that Module saved, and the outputs of the network after loading.
type checkpointCase struct {
	described
	File, States string
	StatesFormat string `json:"states_format"` // informative
	Symbol       string // the file of the network, PREFIX-symbol.json
	Prefix       string
	Epoch        int
	Data, Label  Ref
	Outputs      []Ref
	Arrays       []Ref
}

func (c *checkpointCase) run(env Env) error {
	if want := c.Prefix + "-symbol.json"; c.Symbol != want {
		return fmt.Errorf("the symbol is in %s, want %s", c.Symbol, want)
	}
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

// checkSaved compares the saved model with the file that it was loaded from.
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
		return fmt.Errorf("saved parameters are %d bytes that differ from the %d of MXNet",
			len(got), len(want))
	}
	return nil
}

// checkStates reads the optimizer's states: for each parameter, in the order of the symbol's
// arguments, as many arrays as the optimizer has. It checks that they are the same after writing
// and reading.
func (c *checkpointCase) checkStates(g *Golden, m *checkpoint.Model) error {
	if c.States == "" {
		return nil
	}
	states, err := checkpoint.LoadStates(g.Path("formats/" + c.States))
	if err != nil {
		return err
	}
	names := slices.DeleteFunc(m.Symbol.Arguments(),
		func(n string) bool { return m.Args[n] == nil })
	if len(states) != len(names) {
		return fmt.Errorf("%d states, want %d", len(states), len(names))
	}
	for i, s := range states {
		if s.Name == "" && s.Index != i || s.Name != "" && s.Name != names[i] {
			return fmt.Errorf("state %d belongs to parameter %d %q, want %d %q", i, s.Index, s.Name,
				i, names[i])
		}
		arrays, err := s.State.Arrays()
		if err != nil {
			return fmt.Errorf("state of %s: %w", names[i], err)
		}
		for k, a := range arrays {
			if want := m.Args[names[i]].Shape(); !fits(a.Shape(), want) {
				return fmt.Errorf("state of %s: array %d has the shape %v, want %v", names[i], k,
					a.Shape(), want)
			}
		}
	}
	var b bytes.Buffer
	if err := checkpoint.WriteStates(&b, states); err != nil {
		return err
	}
	again, err := checkpoint.ReadStates(&b)
	if err != nil {
		return fmt.Errorf("states written again: %w", err)
	}
	if !reflect.DeepEqual(again, states) {
		return errors.New("states written again differ")
	}
	return nil
}

// fits reports whether a state may belong to a weight: it is one number, or has on every axis the
// weight's extent or 1.
func fits(state, weight nd.Shape) bool {
	if state.Size() == 1 {
		return true
	}
	return slices.EqualFunc(state, weight, func(s, w int) bool { return s == w || s == 1 })
}

// addLabel passes the label to a network that has an argument for it.
func (c *checkpointCase) addLabel(env Env, s *sym.Symbol, args map[string]*nd.Array) error {
	if c.Label.Key == "" {
		return nil
	}
	for _, name := range s.Arguments() {
		if args[name] != nil || !strings.HasSuffix(name, "label") {
			continue
		}
		label, err := env.Golden.Array(formatsArchive, c.Label)
		if err != nil {
			return err
		}
		args[name], err = label.upload(env.Device)
		return err
	}
	return nil
}

// forward compares the outputs of inference.
func (c *checkpointCase) forward(env Env, m *checkpoint.Model) error {
	data, err := env.Golden.Array(formatsArchive, c.Data)
	if err != nil {
		return err
	}
	cfg := sym.BindConfig{Device: env.Device, DefaultReq: op.ReqNull, Args: maps.Clone(m.Args),
		Aux: m.Aux}
	if cfg.Args["data"], err = data.upload(env.Device); err != nil {
		return err
	}
	if err := c.addLabel(env, m.Symbol, cfg.Args); err != nil {
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
		if err := c.compare(env.Golden, fmt.Sprintf("output %d", i), ex.Outputs()[i], r,
			Tolerance{1e-5, 1e-4}); err != nil {
			return err
		}
	}
	return nil
}
