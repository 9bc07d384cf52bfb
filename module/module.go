package module

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"gomx/device"
	"gomx/dtype"
	dataio "gomx/io"
	nd "gomx/ndarray"
	"gomx/op"
	sym "gomx/symbol"
	"gomx/trainer"
)

// Module is a symbol together with its parameters, the executors that compute it and the optimizer
// that trains it. It is used by one goroutine at a time.
//
// Invariant: the values in net are the arrays of the executors in replicas.
type Module struct {
	config   config
	net      network         // the symbol and its values on every device
	replicas replicas        // the executors on the devices
	buckets  *buckets        // of a BucketingModule; nil: one network for all batches
	trainer  trainer.Trainer // the optimizer, the store and the gradients' way to them
	history  History         // of all calls of Fit
	pipe     *pipe           // its place in a pipeline; nil: it runs the whole network
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

	precision dtype.Type              // float32: as composed
	products  op.Opt[device.Products] // in bfloat16 on processors
	scaling   *Scaling
	streams   int
	replay    bool
	pipeline  *Pipeline // nil: one process runs the whole network
	rowIDs    func(b *dataio.Batch) (map[string]*nd.Array, error)
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

// Replay lets a GPU record the kernels of the forward part and of the backward part and launch each
// part at once from then on, which takes less of the processor. Results are the same. A store of
// several processes gets the gradients when the whole backward part is done.
func Replay() Option { return func(c *config) { c.replay = true } }

// New returns a module for a symbol. Mistakes in the symbol are reported by Bind.
func New(s *sym.Symbol, opts ...Option) *Module {
	m := &Module{net: network{symbol: s}}
	for _, o := range opts {
		o(&m.config)
	}
	m.replicas.devices = m.config.places()
	return m
}

// Symbol returns the symbol.
func (m *Module) Symbol() *sym.Symbol { return m.net.symbol }

// Bound reports whether there is memory for the module.
func (m *Module) Bound() bool { return m != nil && m.replicas.current != nil }

// DataNames returns the arguments that batches feed, once bound.
func (m *Module) DataNames() []string { return m.net.dataNames }

// LabelNames returns the arguments that labels feed, once bound.
func (m *Module) LabelNames() []string { return m.net.labelNames }

// ParamNames returns the arguments that are parameters, in the order by which the optimizer numbers
// them, once bound.
func (m *Module) ParamNames() []string { return m.net.params }

// errNotBound is the mistake of using a module before Bind.
var errNotBound = errors.New("module: not bound: call Bind, or Fit, first")

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
	case m.net.symbol == nil:
		return "<" + kind + ": the symbol is nil>"
	case m.net.symbol.Err() != nil:
		return fmt.Sprintf("<%s: %v>", kind, m.net.symbol.Err())
	}
	about := []string{"not bound"}
	if m.Bound() {
		use := "inference"
		if m.replicas.training {
			use = "training"
		}
		about = []string{fmt.Sprintf("%d parameters", len(m.net.params)), "bound for " + use}
	}
	if m.buckets != nil {
		about = append(about, fmt.Sprintf("%d buckets", len(m.buckets.known)))
	}
	var places []string
	for _, d := range m.config.places() {
		places = append(places, d.String())
	}
	return fmt.Sprintf("<%s %s: %s, on %s>", kind, m.net.symbol.Name(), strings.Join(about, ", "),
		strings.Join(places, ", "))
}

// usable reports a module that nothing can be done with. Call is the method that somebody has
// called.
func (m *Module) usable(call string) error {
	switch {
	case m == nil:
		return fmt.Errorf("module: %s of a module that is nil", call)
	case m.net.symbol == nil:
		return fmt.Errorf("module: %s: New was given a symbol that is nil", call)
	}
	return nil
}

// checkCall reports a module, a context or an iterator that is nil. The last argument describes the
// iterator in the error.
func (m *Module) checkCall(ctx context.Context, call string, it dataio.Iter, what string) error {
	if err := m.usable(call); err != nil {
		return err
	}
	switch {
	case ctx == nil:
		return fmt.Errorf("module: %s: the context is nil, want context.Background() or another",
			call)
	case isNil(it):
		return fmt.Errorf("module: %s: the iterator of the %s is nil", call, what)
	}
	return nil
}

// prefixed names the package in an error of the trainer.
func prefixed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("module: %w", err)
}

// isNil reports an interface that holds nothing, or a pointer that is nil.
func isNil(v any) bool {
	if v == nil {
		return true
	}
	r := reflect.ValueOf(v)
	return r.Kind() == reflect.Pointer && r.IsNil()
}
