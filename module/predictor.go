package module

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"gomx/checkpoint"
	"gomx/device"
	"gomx/dtype"
	nd "gomx/ndarray"
	"gomx/op"
	sym "gomx/symbol"
)

// Predictor computes the outputs of a trained model for any number of goroutines at once. All of
// them use one compiled graph and one copy of the parameters; every run has planned memory of its
// own, of which there is as much as runs go on at the same time.
//
// The arrays of the model are not copied: writing into them while predictions go on is up to those
// who do. SetParams does it safely.
type Predictor struct {
	inputs []string
	limit  int
	free   chan *lease
	done   chan struct{} // closed by Close

	params sync.RWMutex // held for writing while parameters change, for reading while a run is pushed

	mu     sync.Mutex               // guards what follows
	bases  map[string]*sym.Executor // by the shapes of the inputs; never run, only replicated
	first  *sym.Executor            // for the shapes given to NewPredictor
	leases []*lease
	closed bool
}

// lease is the right to use one piece of planned memory, with the executors that use it.
type lease struct {
	execs map[string]*sym.Executor
	last  *sym.Executor
}

// PredictOption configures a Predictor.
type PredictOption func(*predictConfig)

type predictConfig struct {
	device device.Device
	names  []string
	shapes map[string]dtype.Shape
	limit  int

	precision dtype.Type
}

// Input names an argument that Predict is given and says its shape. Arrays are given to Predict in
// the order of the Inputs. Other extents than these, as of smaller batches, may be given too; they
// cost a compilation once.
func Input(name string, dims ...int) PredictOption {
	return func(c *predictConfig) { c.names, c.shapes[name] = append(c.names, name), dims }
}

// InFlight bounds the number of runs that go on at the same time, and with it the planned memory:
// further calls wait. The default is the number of cores.
func InFlight(n int) PredictOption { return func(c *predictConfig) { c.limit = max(n, 1) } }

// PredictOn places the predictor on a device; the default is device.CPU().
func PredictOn(d device.Device) PredictOption { return func(c *predictConfig) { c.device = d } }

// PredictPrecision makes layers that are mostly products compute in float16 or bfloat16, as MixedPrecision does in training. The parameters are
// converted once; inputs and outputs keep their types.
func PredictPrecision(t dtype.Type) PredictOption { return func(c *predictConfig) { c.precision = t } }

// NewPredictor compiles a model for inference with the given inputs. Labels that only losses read
// need not be given.
func NewPredictor(model *checkpoint.Model, opts ...PredictOption) (p *Predictor, err error) {
	defer op.Recover(&err)
	c := predictConfig{shapes: map[string]dtype.Shape{}, limit: device.Cores()}
	for _, o := range opts {
		o(&c)
	}
	switch {
	case model == nil:
		return nil, errors.New("module: NewPredictor: the model is nil")
	case model.Symbol == nil:
		return nil, errors.New("module: NewPredictor: the model has no symbol")
	case len(c.names) == 0:
		return nil, errors.New("module: NewPredictor: no Input given")
	}
	if err := c.check(model); err != nil {
		return nil, fmt.Errorf("module: %w", err)
	}
	ex, err := model.Symbol.SimpleBind(sym.BindConfig{Device: c.device, DefaultReq: op.ReqNull, Shapes: c.shapes, Precision: c.precision,
		Args: placed(model.Args, c.device), Aux: placed(model.Aux, c.device)})
	if err != nil {
		return nil, fmt.Errorf("module: %w", err)
	}
	p = &Predictor{inputs: c.names, limit: c.limit, free: make(chan *lease, c.limit), done: make(chan struct{}),
		bases: map[string]*sym.Executor{}, first: ex}
	l := &lease{execs: map[string]*sym.Executor{}}
	if _, err := p.replicate(l, p.key(ex.Args), nil); err != nil {
		ex.Close()
		return nil, err
	}
	p.leases = append(p.leases, l)
	p.free <- l
	return p, nil
}

// check looks whether inputs and parameters are what the symbol wants.
func (c *predictConfig) check(model *checkpoint.Model) error {
	args := model.Symbol.Arguments()
	if err := model.Symbol.Err(); err != nil {
		return err
	}
	for _, name := range c.names {
		if !slices.Contains(args, name) {
			return fmt.Errorf("input %q is not an argument of the symbol, whose arguments are %s", name, quoted(args))
		}
	}
	var missing []string
	for _, name := range args {
		if model.Args[name] == nil && c.shapes[name] == nil && !strings.HasSuffix(name, "label") {
			missing = append(missing, name)
		}
	}
	for _, name := range model.Symbol.AuxStates() {
		if model.Aux[name] == nil {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("the model has no values for %s: they are neither parameters nor named by Input", quoted(missing))
	}
	return nil
}

// placed returns the arrays on a device.
func placed(arrays map[string]*nd.Array, d device.Device) map[string]*nd.Array {
	m := maps.Clone(arrays)
	for name, a := range m {
		if a.Device() != d {
			m[name] = a.To(d)
		}
	}
	return m
}

// key identifies the shapes of the inputs.
func (p *Predictor) key(args map[string]*nd.Array) string {
	var b strings.Builder
	for _, name := range p.inputs {
		b.WriteString(args[name].Shape().String())
	}
	return b.String()
}

// Predict returns the first output for inputs in the order of the Input options. The result
// belongs to the caller. Predict waits for it; when ctx ends first it returns at once, and the
// computation goes on unseen.
func (p *Predictor) Predict(ctx context.Context, in ...*nd.Array) (*nd.Array, error) {
	outs, err := p.PredictAll(ctx, in...)
	if err != nil {
		return nil, err
	}
	for _, o := range outs[1:] {
		o.Close()
	}
	return outs[0], nil
}

// PredictAll is Predict for symbols of several outputs.
func (p *Predictor) PredictAll(ctx context.Context, in ...*nd.Array) (outs []*nd.Array, err error) {
	defer op.Recover(&err)
	switch {
	case p == nil:
		return nil, errors.New("module: Predict of a predictor that is nil")
	case ctx == nil:
		return nil, errors.New("module: Predict: the context is nil, want context.Background() or another")
	case len(in) != len(p.inputs):
		return nil, fmt.Errorf("module: Predict with %d arrays, want %d: %s", len(in), len(p.inputs), quoted(p.inputs))
	}
	if err := checkArrays("Predict", p.inputs, in); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("module: predict: %w", err)
	}
	l, err := p.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { p.free <- l }()
	ex, err := p.executor(l, in)
	if err != nil {
		return nil, err
	}
	if outs, err = p.push(ex, in); err != nil {
		return nil, fmt.Errorf("module: predict: %w", err)
	}
	for _, o := range outs {
		if err := o.Wait(ctx); err != nil {
			closeAll(outs)
			return nil, fmt.Errorf("module: predict: %w", err)
		}
	}
	return outs, nil
}

// acquire waits for memory to run in.
func (p *Predictor) acquire(ctx context.Context) (*lease, error) {
	select {
	case l := <-p.free:
		return l, nil
	default:
	}
	p.mu.Lock()
	switch {
	case p.closed:
		p.mu.Unlock()
		return nil, errPredictorClosed
	case len(p.leases) < p.limit:
		l := &lease{execs: map[string]*sym.Executor{}}
		p.leases = append(p.leases, l)
		p.mu.Unlock()
		return l, nil
	}
	p.mu.Unlock()
	select {
	case l := <-p.free:
		return l, nil
	case <-p.done:
		return nil, errPredictorClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// errPredictorClosed is the mistake of using a predictor after Close.
var errPredictorClosed = errors.New("module: Predict on a closed predictor")

// executor returns the executor of a lease for the shapes of the inputs.
func (p *Predictor) executor(l *lease, in []*nd.Array) (*sym.Executor, error) {
	key, shapes := "", map[string]dtype.Shape{}
	if l.last != nil && p.fits(l.last, in) {
		return l.last, nil
	}
	for i, name := range p.inputs {
		key += in[i].Shape().String()
		shapes[name] = in[i].Shape()
	}
	if ex := l.execs[key]; ex != nil {
		l.last = ex
		return ex, nil
	}
	return p.replicate(l, key, shapes)
}

func (p *Predictor) fits(ex *sym.Executor, in []*nd.Array) bool {
	for i, name := range p.inputs {
		if !ex.Args[name].Shape().Equal(in[i].Shape()) {
			return false
		}
	}
	return true
}

// replicate makes an executor for a lease, and compiles the graph if nobody has done that for these
// shapes.
func (p *Predictor) replicate(l *lease, key string, shapes map[string]dtype.Shape) (*sym.Executor, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errPredictorClosed
	}
	base := p.bases[key]
	if base == nil {
		base = p.first
		if shapes != nil {
			var err error
			if base, err = p.first.Reshape(shapes); err != nil {
				return nil, fmt.Errorf("module: predict: inputs of another shape: %w", err)
			}
			if err := p.sameParams(base); err != nil {
				base.Close()
				return nil, err
			}
		}
		p.bases[key] = base
	}
	ex, err := base.Replicate(l.last, p.inputs...)
	if err != nil {
		return nil, fmt.Errorf("module: %w", err)
	}
	l.execs[key], l.last = ex, ex
	return ex, nil
}

// sameParams looks whether other shapes of inputs leave the parameters as they are.
func (p *Predictor) sameParams(ex *sym.Executor) error {
	for name, a := range p.first.Args {
		if !slices.Contains(p.inputs, name) && !strings.HasSuffix(name, "label") && ex.Args[name] != a {
			return fmt.Errorf("module: predict: inputs of another shape: parameter %q would change from shape %v to %v", name, a.Shape(), ex.Args[name].Shape())
		}
	}
	return nil
}

// push starts the computation for inputs and returns the arrays that its outputs go to.
func (p *Predictor) push(ex *sym.Executor, in []*nd.Array) ([]*nd.Array, error) {
	p.params.RLock()
	defer p.params.RUnlock()
	for i, name := range p.inputs {
		a, bound := in[i], ex.Args[name]
		if a.Device() != bound.Device() {
			a = a.To(bound.Device())
		}
		if a.DType() != bound.DType() {
			a = a.AsType(bound.DType())
		}
		if err := ex.Feed(name, a); err != nil {
			return nil, err
		}
	}
	bound := ex.Outputs()
	outs := make([]*nd.Array, len(bound))
	for i, o := range bound {
		outs[i] = nd.Empty(o.Shape(), nd.On(o.Device()), nd.As(o.DType()))
		if err := ex.Redirect(i, outs[i]); err != nil {
			return nil, err
		}
	}
	return outs, ex.Forward(false)
}

// SetParams copies values into parameters and auxiliary states. Runs that have begun use the old
// values, later ones the new.
func (p *Predictor) SetParams(args, aux map[string]*nd.Array) (err error) {
	defer op.Recover(&err)
	if p == nil {
		return errors.New("module: SetParams of a predictor that is nil")
	}
	p.params.Lock()
	defer p.params.Unlock()
	for _, part := range []struct {
		what        string
		have, given map[string]*nd.Array
	}{{"parameter", p.first.Args, args}, {"auxiliary state", p.first.Aux, aux}} {
		for _, name := range slices.Sorted(maps.Keys(part.given)) {
			src, dst := part.given[name], part.have[name]
			if dst == nil || slices.Contains(p.inputs, name) {
				return fmt.Errorf("module: value given for %q, which is no %s of the model", name, part.what)
			}
			if src == nil {
				return fmt.Errorf("module: value for %s %q is nil", part.what, name)
			}
			if !src.Shape().Equal(dst.Shape()) {
				return fmt.Errorf("module: value for %s %q has shape %v, want %v", part.what, name, src.Shape(), dst.Shape())
			}
			if src.DType() != dst.DType() {
				src = src.AsType(dst.DType())
			}
			src.CopyInto(dst)
		}
	}
	return nil
}

// Close waits for the calls of Predict that go on and gives the planned memory back. The model's
// arrays stay. Predict fails from now on.
func (p *Predictor) Close() {
	if p == nil {
		return
	}
	p.mu.Lock()
	closed := p.closed
	p.closed = true
	p.mu.Unlock()
	if closed {
		return
	}
	close(p.done)
	for range p.leases {
		for _, ex := range (<-p.free).execs {
			ex.Close()
		}
	}
	for _, ex := range p.bases {
		ex.Close()
	}
}
