package predict

import (
	"context"
	"errors"
	"fmt"
	"maps"
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
// The arrays of the model are not copied. A program must not write into them while predictions go
// on; SetParams replaces their values safely.
type Predictor struct {
	inputs []string
	limit  int
	free   chan *lease
	done   chan struct{} // closed by Close

	// held for writing while parameters change, for reading while a run is pushed
	params sync.RWMutex

	mu     sync.Mutex               // guards the fields below
	bases  map[string]*sym.Executor // by the shapes of the inputs; never run, only replicated
	first  *sym.Executor            // for the shapes given to New
	leases []*lease
	closed bool
}

// New compiles a model for inference with the given inputs. Labels that only losses read
// need not be given.
func New(model *checkpoint.Model, opts ...Option) (p *Predictor, err error) {
	defer op.Recover(&err)
	c := config{shapes: map[string]dtype.Shape{}, limit: device.Cores()}
	for _, o := range opts {
		o(&c)
	}
	switch {
	case model == nil:
		return nil, errors.New("predict: the model is nil")
	case model.Symbol == nil:
		return nil, errors.New("predict: the model has no symbol")
	case len(c.names) == 0:
		return nil, errors.New("predict: no Input given")
	}
	if err := c.check(model); err != nil {
		return nil, fmt.Errorf("predict: %w", err)
	}
	ex, err := model.Symbol.SimpleBind(sym.BindConfig{Device: c.device, DefaultReq: op.ReqNull,
		Shapes: c.shapes, Precision: c.precision, Products: c.products,
		Args: placed(model.Args, c.device), Aux: placed(model.Aux, c.device)})
	if err != nil {
		return nil, fmt.Errorf("predict: %w", err)
	}
	p = &Predictor{inputs: c.names, limit: c.limit, free: make(chan *lease, c.limit),
		done:  make(chan struct{}),
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
		return nil, errors.New("predict: Predict of a predictor that is nil")
	case ctx == nil:
		return nil, errors.New("predict: Predict: the context is nil, want context.Background() " +
			"or another")
	case len(in) != len(p.inputs):
		return nil, fmt.Errorf("predict: Predict with %d arrays, want %d: %s", len(in),
			len(p.inputs), quoted(p.inputs))
	}
	if err := checkArrays(p.inputs, in); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("predict: %w", err)
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
		return nil, fmt.Errorf("predict: %w", err)
	}
	for _, o := range outs {
		if err := o.Wait(ctx); err != nil {
			closeAll(outs)
			return nil, fmt.Errorf("predict: %w", err)
		}
	}
	return outs, nil
}

// checkArrays reports arrays for the inputs of a predictor that are nil.
func checkArrays(names []string, in []*nd.Array) error {
	for i, a := range in {
		if a == nil {
			return fmt.Errorf("predict: Predict: array %d, for %q, is nil", i, names[i])
		}
	}
	return nil
}

// closeAll closes arrays.
func closeAll(list []*nd.Array) {
	for _, a := range list {
		a.Close()
	}
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

// String describes the predictor by its inputs.
func (p *Predictor) String() string {
	if p == nil {
		return "<Predictor: nil>"
	}
	p.mu.Lock()
	closed := p.closed
	p.mu.Unlock()
	if closed {
		return "<Predictor: closed>"
	}
	return fmt.Sprintf("<Predictor of %s: at most %d runs at once>", strings.Join(p.inputs, ", "),
		p.limit)
}
