package module

import (
	"fmt"
	"maps"
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

// Bind allocates memory for the arrays that an iterator describes as its data and labels, and
// compiles the symbol. It leaves a bound module as it is, unless Rebind is given.
func (m *Module) Bind(data, label []dataio.Desc, opts ...BindOption) (err error) {
	defer op.Recover(&err)
	if err := m.usable("Bind"); err != nil {
		return err
	}
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
	b := sym.BindConfig{Group2Ctx: m.config.groups, Seed: m.config.seed, Guard: c.guard,
		Shapes: map[string]dtype.Shape{}, Types: map[string]dtype.Type{},
		GradReq: map[string]op.Req{}}
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

// bind replaces the executors by those for b.
func (m *Module) bind(b sym.BindConfig, training bool) error {
	m.settleAux()
	g, err := m.bindGroup(m.symbol, b, m.fed, func(k int, b *sym.BindConfig) {
		old := m.device(k)
		b.Args, b.Aux = maps.Clone(old.args), old.aux
	})
	if err != nil {
		return fmt.Errorf("module: %w", err)
	}
	m.current, m.training, m.guard = g, training, b.Guard
	m.execs = map[string]*group{m.key(g): g}
	var all []replica
	for _, ex := range g.parts {
		r := replica{map[string]*nd.Array{}, ex.Aux}
		for _, p := range m.params {
			r.args[p] = ex.Args[p]
		}
		all = append(all, r)
	}
	m.args, m.aux, m.replicas = all[0].args, all[0].aux, all[1:]
	if m.sums == nil {
		return nil
	}
	err, m.sums = m.sums.kv.Close(), nil
	return err
}

// bindGroup makes the executors of a network, one per device. The shapes in c are the shapes of
// whole batches; on adds to a copy of c the arrays and the other settings of device k.
func (m *Module) bindGroup(s *sym.Symbol, c sym.BindConfig, fed []feed,
	on func(k int, c *sym.BindConfig)) (*group, error) {
	places := m.config.places()
	shapes, err := partShapes(c.Shapes, fed, len(places))
	if err != nil {
		return nil, err
	}
	var parts []*sym.Executor
	for k, d := range places {
		part := c
		part.Device, part.Shapes = d, shapes
		part.Seed += uint64(k) * deviceSeeds // dropout masks differ between the devices
		if m.scaler != nil {
			part.LossScale = m.scaler.scales[k]
		}
		on(k, &part)
		ex, err := s.SimpleBind(part)
		if err != nil {
			return nil, err
		}
		parts = append(parts, ex)
	}
	return newGroup(parts, fed), nil
}

// deviceSeeds is how far the random streams of devices are apart: an odd number without a pattern
// in its bits.
const deviceSeeds = 0x9e3779b97f4a7c15

// device returns the arrays on device k: none before there are any.
func (m *Module) device(k int) replica {
	switch {
	case k == 0:
		return replica{m.args, m.aux}
	case k <= len(m.replicas):
		return m.replicas[k-1]
	}
	return replica{}
}

// key identifies executors by the names and shapes of their inputs for data and labels.
func (m *Module) key(g *group) string {
	s := ""
	for _, f := range m.fed {
		s += f.name + g.shape(f).String()
	}
	return s
}

// fits makes current executors for the shapes of a batch.
func (m *Module) fits(b *dataio.Batch) error {
	if m.buckets != nil {
		return m.buckets.choose(m, b)
	}
	same := true
	for _, f := range m.fed {
		a := f.of(b)
		same = same && (a == nil || a.Shape().Equal(m.current.shape(f)))
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
	if g := m.execs[key]; g != nil {
		m.current = g
		return nil
	}
	g, err := m.current.reshape(shapes, m.fed)
	if err != nil {
		return err
	}
	for _, p := range m.params {
		if a := g.first().Args[p]; a != m.args[p] {
			return fmt.Errorf("module: batch of another shape: parameter %q would change from "+
				"shape %v to %v", p, m.args[p].Shape(), a.Shape())
		}
	}
	m.execs[key], m.current = g, g
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

// feed gives the arrays of a batch to the current executors.
func (m *Module) feed(b *dataio.Batch) error {
	for _, f := range m.fed {
		a := f.of(b)
		if a == nil {
			if f.label {
				continue
			}
			return fmt.Errorf("module: the batch has %d data arrays, none for %q", len(b.Data),
				f.name)
		}
		if err := m.current.feed(f, a); err != nil {
			return err
		}
	}
	return nil
}

// fixed reports whether a parameter is not trained.
func (m *Module) fixed(name string) bool { return slices.Contains(m.config.fixed, name) }
