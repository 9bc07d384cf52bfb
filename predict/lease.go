package predict

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gomx/dtype"
	nd "gomx/ndarray"
	sym "gomx/symbol"
)

// lease is the right to use one piece of planned memory, with the executors that use it.
type lease struct {
	execs map[string]*sym.Executor
	last  *sym.Executor
}

// key identifies the shapes of the inputs.
func (p *Predictor) key(args map[string]*nd.Array) string {
	var b strings.Builder
	for _, name := range p.inputs {
		b.WriteString(args[name].Shape().String())
	}
	return b.String()
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
var errPredictorClosed = errors.New("predict: Predict on a closed predictor")

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
func (p *Predictor) replicate(l *lease, key string, shapes map[string]dtype.Shape) (*sym.Executor,
	error) {
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
				return nil, fmt.Errorf("predict: inputs of another shape: %w", err)
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
		return nil, fmt.Errorf("predict: %w", err)
	}
	l.execs[key], l.last = ex, ex
	return ex, nil
}

// sameParams looks whether other shapes of inputs leave the parameters as they are.
func (p *Predictor) sameParams(ex *sym.Executor) error {
	for name, a := range p.first.Args {
		if !slices.Contains(p.inputs, name) && !strings.HasSuffix(name, "label") &&
			ex.Args[name] != a {
			return fmt.Errorf("predict: inputs of another shape: parameter %q would change from "+
				"shape %v to %v", name, a.Shape(), ex.Args[name].Shape())
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
