package module

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"gomx/dtype"
	dataio "gomx/io"
	nd "gomx/ndarray"
	"gomx/op"
	sym "gomx/symbol"
	"gomx/trainer"
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
	if m.config.pipeline != nil {
		return errors.New("module: Bind of a pipelined module: call Fit, which finds the job")
	}
	assigned, err := assign(m.net.symbol, &m.config, data, label, !c.inference)
	if err != nil {
		return err
	}
	m.net.roles = assigned
	b := sym.BindConfig{Group2Ctx: m.config.groups, Seed: m.config.seed, Guard: c.guard,
		Shapes: map[string]dtype.Shape{}, Types: map[string]dtype.Type{},
		GradReq: map[string]op.Req{}}
	for _, f := range m.net.fed {
		d := data
		if f.label {
			d = label
		}
		b.Shapes[f.name] = d[f.index].Shape
		if !f.label {
			b.Types[f.name] = d[f.index].DType
		}
	}
	for _, a := range m.net.symbol.Arguments() {
		b.GradReq[a] = op.ReqNull
		if !c.inference {
			b.GradReq[a] = m.net.request(a, m.config.fixed, c.inputGrads)
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
	m.net.settleAux()
	g, err := m.replicas.bind(m.net.symbol, b, m.net.fed, func(k int, b *sym.BindConfig) {
		old := m.net.on(k)
		b.Args, b.Aux = maps.Clone(old.args), old.aux
	})
	if err != nil {
		return fmt.Errorf("module: %w", err)
	}
	m.replicas.begin(g, m.net.fed)
	m.replicas.training, m.replicas.guard = training, b.Guard
	m.net.values = nil
	for _, ex := range g.parts {
		v := values{map[string]*nd.Array{}, ex.Aux}
		for _, p := range m.net.params {
			v.args[p] = ex.Args[p]
		}
		m.net.values = append(m.net.values, v)
	}
	params := make([]trainer.Param, len(m.net.params))
	for i, p := range m.net.params {
		params[i] = trainer.Param{Name: p, Fixed: slices.Contains(m.config.fixed, p),
			Weights: m.net.copies(p)}
	}
	return prefixed(m.trainer.Track(params))
}

// tune sets precision, streams, replay and monitor in b, and makes the module's scaler if there is
// none.
func (m *Module) tune(b *sym.BindConfig) (err error) {
	b.Products = m.config.narrow()
	b.Precision, b.Streams, b.Replay = m.config.precision, m.config.streams, m.config.replay
	b.Monitor = m.replicas.monitor
	if m.trainer.Scaler == nil {
		m.trainer.Scaler, m.replicas.scales, err = newScaler(&m.config)
	}
	return err
}
