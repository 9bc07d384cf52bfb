package module

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"unsafe"

	"gomx/checkpoint"
	"gomx/dtype"
	"gomx/initializer"
	nd "gomx/ndarray"
	"gomx/op"
	sym "gomx/symbol"
)

// givenParams are values for parameters, by name.
type givenParams struct {
	args, aux    map[string]*nd.Array
	allowMissing bool
	allowExtra   bool
}

// ParamOption lets SetParams accept missing or extra values.
type ParamOption func(*givenParams)

// AllowMissing leaves parameters without values as they are, or to the initializer.
func AllowMissing() ParamOption { return func(g *givenParams) { g.allowMissing = true } }

// AllowExtra passes over values that belong to no parameter.
func AllowExtra() ParamOption { return func(g *givenParams) { g.allowExtra = true } }

// SetParams copies values into the parameters and auxiliary states. Before Bind it keeps them
// until there is memory for them.
func (m *Module) SetParams(args, aux map[string]*nd.Array, opts ...ParamOption) error {
	if err := m.usable("SetParams"); err != nil {
		return err
	}
	g := &givenParams{args: args, aux: aux}
	for _, o := range opts {
		o(g)
	}
	if m.net.tables.own {
		if g.allowMissing {
			return fmt.Errorf("module: SetParams: AllowMissing, but Fit keeps rows of %s: want "+
				"all values", quoted(m.trainer.Store().RowKeys()))
		}
		if err := (pulls{m}).leaveOwnStore(); err != nil {
			return err
		}
		m.net.tables.made, m.net.tables.first = nil, nil
	}
	return m.net.set(g)
}

// set gives values to the parameters and auxiliary states, or keeps them until there are arrays.
func (n *network) set(g *givenParams) error {
	if len(n.values) == 0 {
		n.given = g
		return nil
	}
	n.settleAux() // of those that keep their values
	if err := n.copyGiven(g); err != nil {
		return err
	}
	if !g.allowMissing {
		n.tables.partial = nil
	}
	n.spreadAll()
	n.inited = n.inited || !g.allowMissing
	return nil
}

// copyGiven copies given values and checks that nothing is missing or left over.
func (n *network) copyGiven(g *givenParams) (err error) {
	defer op.Recover(&err)
	for _, part := range []struct {
		what        string
		have, given map[string]*nd.Array
	}{{"parameter", n.first().args, g.args}, {"auxiliary state", n.first().aux, g.aux}} {
		for _, name := range slices.Sorted(maps.Keys(part.have)) {
			src, dst := part.given[name], part.have[name]
			if src == nil {
				if !g.allowMissing {
					return fmt.Errorf("module: no value for %s %q", part.what, name)
				}
				continue
			}
			if !src.Shape().Equal(dst.Shape()) {
				return fmt.Errorf("module: value for %s %q has shape %v, want %v", part.what, name,
					src.Shape(), dst.Shape())
			}
			if src.DType() != dst.DType() {
				src = src.AsType(dst.DType())
			}
			src.CopyInto(dst)
		}
		for _, name := range slices.Sorted(maps.Keys(part.given)) {
			if part.have[name] == nil && !g.allowExtra && !n.isInput(name) {
				return fmt.Errorf("module: value given for %q, which is no %s of the symbol", name,
					part.what)
			}
		}
	}
	return nil
}

// InitParams gives values to parameters and auxiliary states: the values kept by SetParams, and the
// initializer's values for parameters without one. A nil initializer is Uniform{Scale: 0.01}.
// Parameters that have values already are left alone.
func (m *Module) InitParams(init initializer.Initializer) error {
	if !m.Bound() {
		return errNotBound
	}
	return m.net.init(init, &m.config, false)
}

// init gives values to the parameters and auxiliary states that have none. With elsewhere the
// servers of a store make the rows of row_sparse parameters.
func (n *network) init(init initializer.Initializer, c *config, elsewhere bool) error {
	if n.inited {
		return n.makeRows(elsewhere)
	}
	if init == nil {
		init = initializer.Uniform{Scale: 0.01}
	}
	given := n.given
	if given == nil {
		given = &givenParams{allowMissing: true}
	}
	attrs, first := initAttrs(n.symbol), n.first()
	for _, part := range []struct{ have, given map[string]*nd.Array }{{first.args, given.args},
		{first.aux, given.aux}} {
		for _, name := range slices.Sorted(maps.Keys(part.have)) {
			if part.given[name] != nil || !given.allowMissing {
				continue
			}
			d := initializer.Desc{Name: name, Init: attrs[name], Seed: c.seed}
			if n.beginsByRows(name, d, init, c.fixed) {
				continue
			}
			if err := initialize(part.have[name], d, init); err != nil {
				return fmt.Errorf("module: %w", err)
			}
		}
	}
	if n.given != nil {
		if err := n.copyGiven(n.given); err != nil {
			return err
		}
	}
	if err := n.makeRows(elsewhere); err != nil {
		return err
	}
	n.spreadAll()
	n.given, n.inited = nil, true
	return nil
}

// initAttrs returns the text forms of initializers that variables ask for by their attribute
// __init__, or else operators for their inputs: files need not carry the attribute.
func initAttrs(s *sym.Symbol) map[string]string {
	attrs := map[string]string{}
	for _, n := range s.Nodes() {
		if n.IsVar() {
			if text := n.Attrs["__init__"]; text != "" {
				attrs[n.Name] = text
			}
			continue
		}
		for i, in := range n.Op.Inputs(n.Params) {
			if v := n.In[i].Node; v.IsVar() && in.Init != "" && attrs[v.Name] == "" {
				attrs[v.Name] = in.Init
			}
		}
	}
	return attrs
}

// initialize fills one array, which d describes but for its shape.
func initialize(a *nd.Array, d initializer.Desc, init initializer.Initializer) (err error) {
	defer op.Recover(&err)
	d.Shape = a.Shape()
	if a.DType() == dtype.Float32 {
		return nd.Build(a, func(b []byte) error {
			return initializer.Fill(init, d, floats(b))
		})
	}
	values := make([]float32, a.Size())
	if err := initializer.Fill(init, d, values); err != nil {
		return err
	}
	nd.FromSlice(values, a.Shape()...).AsType(a.DType()).To(a.Device()).CopyInto(a)
	return nil
}

// floats returns the memory of an array as numbers, all of them 0.
func floats(b []byte) []float32 {
	clear(b)
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}

// Params returns the parameters and auxiliary states by name. The arrays are the module's own: they
// change as training goes on. With several devices they are the first device's arrays;
// use SetParams to change values, because it changes them on all devices. While a store keeps rows
// of parameters, all rows are pulled, unless those of a parameter have more than a gigabyte and begin
// with other values than zeros: Rows and HeldRows return rows of it.
func (m *Module) Params() (args, aux map[string]*nd.Array) {
	m.net.settleAux()
	if left := (pulls{m}).large(); len(left) > 0 {
		op.Notice("module: Params has rows of %s for the last batch only, all are larger than %d "+
			"bytes: Rows and HeldRows return rows", quoted(left), savedTable)
	} else if _, err := (pulls{m}).whole(math.MaxInt); err != nil {
		op.Notice("the parameters have old values in some rows: %v", err)
	}
	return maps.Clone(m.net.first().args), maps.Clone(m.net.first().aux)
}

// Model returns symbol and parameters, as checkpoints hold them. The arrays are the module's own.
func (m *Module) Model() *checkpoint.Model {
	args, aux := m.Params()
	return &checkpoint.Model{Symbol: m.net.symbol, Args: args, Aux: aux}
}

// Save writes a checkpoint of the symbol and the parameters: prefix-symbol.json and, for epoch 3,
// prefix-0003.params. The parameters come last: when they are there, all the rest is. It waits for
// the values.
func (m *Module) Save(prefix string, epoch int) error {
	if err := m.usable("Save"); err != nil {
		return err
	}
	if !m.net.inited {
		return fmt.Errorf("module: saving %s: the parameters have no values yet", prefix)
	}
	if err := m.net.whole("Save"); err != nil {
		return err
	}
	if left := (pulls{m}).large(); len(left) > 0 {
		return fmt.Errorf("module: Save: all rows of %s have more than %d bytes, and they begin "+
			"with other values than zeros: HeldRows returns the rows that gradients have touched, "+
			"Rows any rows", quoted(left), savedTable)
	}
	if m.pipe != nil {
		return m.pipe.save(context.Background(), m, prefix, epoch)
	}
	if m.buckets != nil {
		if err := m.buckets.save(prefix); err != nil {
			return err
		}
	}
	return m.Model().Save(prefix, epoch)
}

// Load returns a module for a checkpoint, with its parameters.
func Load(prefix string, epoch int, opts ...Option) (*Module, error) {
	model, err := checkpoint.Load(prefix, epoch)
	if err != nil {
		return nil, err
	}
	m := New(model.Symbol, opts...)
	return m, m.SetParams(model.Args, model.Aux)
}

// Wait waits for all pending computations on the parameters and returns the first error on the way
// to them.
func (m *Module) Wait(ctx context.Context) error {
	if err := m.usable("Wait"); err != nil {
		return err
	}
	return m.net.wait(ctx)
}
