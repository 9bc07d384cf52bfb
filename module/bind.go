package module

import (
	"fmt"
	"slices"

	"gomx/dtype"
	dataio "gomx/io"
	nd "gomx/ndarray"
	"gomx/op"
	sym "gomx/symbol"
)

// BindOption changes how a module is bound.
type BindOption func(*bindConfig)

type bindConfig struct {
	inference  bool
	inputGrads bool
	guard      bool
	force      bool
}

// ForInference binds without gradients. Labels need not be provided.
func ForInference() BindOption { return func(c *bindConfig) { c.inference = true } }

// WithInputGrads makes Backward also compute the gradients of the data.
func WithInputGrads() BindOption { return func(c *bindConfig) { c.inputGrads = true } }

// Guarded makes every operator check its results for NaN and infinity, which costs a pass over
// them.
func Guarded() BindOption { return func(c *bindConfig) { c.guard = true } }

// Rebind binds again where the module is bound already. Parameters are kept.
func Rebind() BindOption { return func(c *bindConfig) { c.force = true } }

// Bind makes memory for the module, given what an iterator provides, and compiles the symbol. A
// bound module is left as it is, unless Rebind is asked for.
func (m *Module) Bind(data, label []dataio.Desc, opts ...BindOption) (err error) {
	defer op.Recover(&err)
	var c bindConfig
	for _, o := range opts {
		o(&c)
	}
	if m.Bound() && !c.force {
		return nil
	}
	if err := m.assign(data, label, !c.inference); err != nil {
		return err
	}
	b := sym.BindConfig{Device: m.config.device, Group2Ctx: m.config.groups, Seed: m.config.seed, Guard: c.guard,
		Shapes: map[string]dtype.Shape{}, Types: map[string]dtype.Type{}, GradReq: map[string]op.Req{},
		Args: map[string]*nd.Array{}, Aux: m.aux}
	for _, f := range m.fed {
		d := data
		if f.label {
			d = label
		}
		b.Shapes[f.name] = d[f.index].Shape
		if !f.label {
			b.Types[f.name] = d[f.index].DType
		}
	}
	for _, a := range m.symbol.Arguments() {
		b.GradReq[a] = op.ReqNull
		if !c.inference {
			b.GradReq[a] = m.request(a, c.inputGrads)
		}
	}
	for name, a := range m.args {
		b.Args[name] = a
	}
	if err := m.tune(&b); err != nil {
		return err
	}
	if err := m.bind(b, !c.inference); err != nil {
		return err
	}
	if m.buckets != nil {
		m.buckets.begin(m, b, data, label)
	}
	return nil
}

// bind replaces the executors by one for b.
func (m *Module) bind(b sym.BindConfig, training bool) error {
	ex, err := m.symbol.SimpleBind(b)
	if err != nil {
		return fmt.Errorf("module: %w", err)
	}
	m.current, m.training, m.guard = ex, training, b.Guard
	m.execs = map[string]*sym.Executor{m.key(ex): ex}
	m.args, m.aux = map[string]*nd.Array{}, ex.Aux
	for _, p := range m.params {
		m.args[p] = ex.Args[p]
	}
	return nil
}

// key identifies an executor by the shapes of what it is fed.
func (m *Module) key(ex *sym.Executor) string {
	s := ""
	for _, f := range m.fed {
		s += f.name + ex.Args[f.name].Shape().String()
	}
	return s
}

// fits makes current an executor for the shapes of a batch.
func (m *Module) fits(b *dataio.Batch) error {
	if m.buckets != nil {
		return m.buckets.choose(m, b)
	}
	same := true
	for _, f := range m.fed {
		a := f.of(b)
		same = same && (a == nil || a.Shape().Equal(m.current.Args[f.name].Shape()))
	}
	if same {
		return nil
	}
	shapes, key := map[string]dtype.Shape{}, ""
	for _, f := range m.fed {
		a := f.of(b)
		if a == nil {
			continue // the label's shape follows from the data's
		}
		shapes[f.name] = a.Shape()
		key += f.name + a.Shape().String()
	}
	if ex := m.execs[key]; ex != nil {
		m.current = ex
		return nil
	}
	ex, err := m.current.Reshape(shapes)
	if err != nil {
		return fmt.Errorf("module: batch of another shape: %w", err)
	}
	for _, p := range m.params {
		if ex.Args[p] != m.args[p] {
			return fmt.Errorf("module: batch of another shape: parameter %q would change from shape %v to %v", p, m.args[p].Shape(), ex.Args[p].Shape())
		}
	}
	m.execs[key], m.current = ex, ex
	return nil
}

// of returns the array of a batch that f is about, nil if there is none.
func (f feed) of(b *dataio.Batch) *nd.Array {
	list := b.Data
	if f.label {
		list = b.Label
	}
	if f.index >= len(list) {
		return nil
	}
	return list[f.index]
}

// feed gives the arrays of a batch to the current executor.
func (m *Module) feed(b *dataio.Batch) error {
	for _, f := range m.fed {
		a := f.of(b)
		if a == nil {
			if f.label {
				continue
			}
			return fmt.Errorf("module: the batch has %d data arrays, none for %q", len(b.Data), f.name)
		}
		bound := m.current.Args[f.name]
		if a.Device() != bound.Device() || a.DType() != bound.DType() {
			a = a.To(bound.Device()).AsType(bound.DType())
		}
		if err := m.current.Feed(f.name, a); err != nil {
			return fmt.Errorf("module: %w", err)
		}
	}
	return nil
}

// fixed reports whether a parameter is not trained.
func (m *Module) fixed(name string) bool { return slices.Contains(m.config.fixed, name) }
