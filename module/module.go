package module

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gomx/device"
	"gomx/dtype"
	dataio "gomx/io"
	nd "gomx/ndarray"
	"gomx/op"
	"gomx/optimizer"
	sym "gomx/symbol"
)

// Module is a symbol together with its parameters, the executors that compute it and the optimizer
// that trains it. It is used by one goroutine at a time.
//
// Invariants: args and aux, and the args and aux of replicas, are the arrays of all executors in
// execs; current is one of them, and is nil until Bind. The parameters have equal values on all
// devices whenever a run begins.
type Module struct {
	symbol *sym.Symbol
	config config

	dataNames  []string
	labelNames []string // labels that are arguments of the symbol
	fed        []feed   // where the arrays of a batch go, data first
	params     []string // the other arguments, in order

	buckets  *buckets          // of a BucketingModule; nil: one network for all batches
	execs    map[string]*group // by the shapes of their inputs
	current  *group
	training bool
	guard    bool
	monitor  *sym.Monitor

	args, aux map[string]*nd.Array // on the first device
	replicas  []replica            // on the other devices
	drifted   bool                 // the devices' auxiliary states differ
	sums      *sums                // adds up the devices' gradients, made at the first use
	given     *givenParams         // set before there is memory for them
	inited    bool
	stream    stream

	updater *optimizer.Updater
	loaded  bool     // LoadStates has given states to the updater
	scaler  *scaler  // nil: gradients are not scaled
	clip    *clipper // of a Fit; nil: gradients are not clipped
	store   *storage // nil: the module updates its parameters itself
	history History
}

// feed says which argument an array of a batch becomes.
type feed struct {
	name  string
	label bool
	index int // in Batch.Data or Batch.Label
	axis  int // of the batch, -1 if there is none
}

// Option configures a module.
type Option func(*config)

type config struct {
	devices []device.Device
	data    []string
	labels  []string
	fixed   []string
	seed    uint64
	groups  map[string]device.Device

	precision dtype.Type // float32: as composed
	scaling   *Scaling
	streams   int
	replay    bool
}

// On places the module on a device, or on several that share the work; the default is device.CPU().
//
// Each of several devices has a copy of the parameters and computes an equal part of every batch,
// the first device the first part. Gradients are added up on the first device, in the order of the
// devices; the parameters are updated there and copied to the others. Outputs belong to the whole
// batch and lie on the processor. Auxiliary states, such as the moving averages of batch norm, are
// the means of the states that the devices computed from their parts.
func On(devices ...device.Device) Option { return func(c *config) { c.devices = devices } }

// Data names the arguments that batches feed, for symbols whose iterator names them otherwise: the
// iterator's arrays are taken in order.
func Data(names ...string) Option { return func(c *config) { c.data = names } }

// Labels names the arguments that labels feed. Without it they are the ones that the iterator
// provides, and arguments whose name ends in label are never parameters.
func Labels(names ...string) Option { return func(c *config) { c.labels = names } }

// Fixed names parameters that are not trained.
func Fixed(names ...string) Option { return func(c *config) { c.fixed = names } }

// Seed starts the random numbers of initializers and of operators such as dropout.
func Seed(seed uint64) Option { return func(c *config) { c.seed = seed } }

// Group2Ctx places the groups that the attribute __ctx_group__ makes of the symbol's nodes on
// devices of their own, with their parameters.
func Group2Ctx(devices map[string]device.Device) Option {
	return func(c *config) { c.groups = devices }
}

// Streams lets branches of the network run side by side on as many queues of a GPU, at most 4.
// Results are the same.
func Streams(n int) Option { return func(c *config) { c.streams = n } }

// Replay lets a GPU record the kernels of a part of the network and launch them all at once from
// then on, which takes less of the processor. Results are the same.
func Replay() Option { return func(c *config) { c.replay = true } }

// New returns a module for a symbol. Mistakes in the symbol are reported by Bind.
func New(s *sym.Symbol, opts ...Option) *Module {
	m := &Module{symbol: s, execs: map[string]*group{}}
	for _, o := range opts {
		o(&m.config)
	}
	return m
}

// Symbol returns the symbol.
func (m *Module) Symbol() *sym.Symbol { return m.symbol }

// Bound reports whether there is memory for the module.
func (m *Module) Bound() bool { return m != nil && m.current != nil }

// DataNames returns the arguments that batches feed, once bound.
func (m *Module) DataNames() []string { return m.dataNames }

// LabelNames returns the arguments that labels feed, once bound.
func (m *Module) LabelNames() []string { return m.labelNames }

// ParamNames returns the arguments that are parameters, in the order by which the optimizer numbers
// them, once bound.
func (m *Module) ParamNames() []string { return m.params }

// errNotBound is the mistake of using a module before Bind.
var errNotBound = errors.New("module: not bound: call Bind, or Fit, first")

// assign decides which arguments are data, labels and parameters.
func (m *Module) assign(data, label []dataio.Desc, training bool) error {
	args := m.symbol.Arguments()
	if err := m.symbol.Err(); err != nil {
		return err
	}
	if err := m.config.checkPlaces(); err != nil {
		return err
	}
	m.fed, m.dataNames, m.labelNames, m.params = nil, nil, nil, nil
	names, err := rename(m.config.data, data, "data")
	if err != nil {
		return err
	}
	for i, name := range names {
		if !slices.Contains(args, name) {
			return fmt.Errorf("module: data %q is not an argument of the symbol, whose "+
				"arguments are %s", name, quoted(args))
		}
		m.fed = append(m.fed, feed{name, false, i, batchAxis(m.symbol, name)})
	}
	m.dataNames = names
	if names, err = rename(m.config.labels, label, "label"); err != nil {
		return err
	}
	for i, name := range names {
		if slices.Contains(args, name) {
			m.fed = append(m.fed, feed{name, true, i, batchAxis(m.symbol, name)})
			m.labelNames = append(m.labelNames, name)
		}
	}
	if err := m.missingLabels(args, names, training); err != nil {
		return err
	}
	for _, a := range args {
		if !slices.Contains(m.dataNames, a) && !slices.Contains(m.labelNames, a) {
			m.params = append(m.params, a)
		}
	}
	for _, f := range m.config.fixed {
		if !slices.Contains(m.params, f) {
			return fmt.Errorf("module: fixed parameter %q is not a parameter of the symbol, "+
				"whose parameters are %s", f, quoted(m.params))
		}
	}
	return nil
}

// rename returns the argument names for the arrays that an iterator provides.
func rename(configured []string, descs []dataio.Desc, what string) ([]string, error) {
	if configured != nil && len(descs) > 0 && len(configured) != len(descs) {
		return nil, fmt.Errorf("module: %d %s names (%s), the iterator provides %d arrays",
			len(configured), what, quoted(configured), len(descs))
	}
	if configured != nil {
		return configured, nil
	}
	names := make([]string, len(descs))
	for i, d := range descs {
		names[i] = d.Name
	}
	return names, nil
}

// missingLabels finds arguments that are labels but that nothing feeds: a mistake in training; in
// inference they keep their zeros.
func (m *Module) missingLabels(args, provided []string, training bool) error {
	for _, a := range args {
		if !strings.HasSuffix(a, "label") || slices.Contains(m.labelNames, a) ||
			slices.Contains(m.dataNames, a) {
			continue
		}
		if m.config.labels != nil && !slices.Contains(m.config.labels, a) {
			continue // the user says which arguments are labels
		}
		if training {
			got := "no label"
			if len(provided) > 0 {
				got = "label " + quoted(provided)
			}
			return fmt.Errorf("module: the symbol wants label %q, the iterator provides %s: "+
				"name the iterator's label so, or say module.Labels", a, got)
		}
		m.labelNames = append(m.labelNames, a)
	}
	return nil
}

func quoted(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	list := make([]string, len(names))
	for i, n := range names {
		list[i] = fmt.Sprintf("%q", n)
	}
	return strings.Join(list, ", ")
}

// request returns whether the gradient of an argument is computed.
func (m *Module) request(name string, inputGrads bool) op.Req {
	switch {
	case slices.Contains(m.config.fixed, name), slices.Contains(m.labelNames, name):
		return op.ReqNull
	case slices.Contains(m.dataNames, name) && !inputGrads:
		return op.ReqNull
	}
	return op.ReqWrite
}

// String describes the module by its symbol, its devices and the use that it is bound for.
func (m *Module) String() string { return m.text("Module") }

// String describes the module by the symbol of its default bucket and the number of its buckets.
func (m *BucketingModule) String() string {
	if m == nil {
		return "<BucketingModule: nil>"
	}
	return m.text("BucketingModule")
}

func (m *Module) text(kind string) string {
	switch {
	case m == nil:
		return "<" + kind + ": nil>"
	case m.symbol == nil:
		return "<" + kind + ": the symbol is nil>"
	case m.symbol.Err() != nil:
		return fmt.Sprintf("<%s: %v>", kind, m.symbol.Err())
	}
	about := []string{"not bound"}
	if m.Bound() {
		use := "inference"
		if m.training {
			use = "training"
		}
		about = []string{fmt.Sprintf("%d parameters", len(m.params)), "bound for " + use}
	}
	if m.buckets != nil {
		about = append(about, fmt.Sprintf("%d buckets", len(m.buckets.known)))
	}
	var places []string
	for _, d := range m.config.places() {
		places = append(places, d.String())
	}
	return fmt.Sprintf("<%s %s: %s, on %s>", kind, m.symbol.Name(), strings.Join(about, ", "),
		strings.Join(places, ", "))
}
