package module

import (
	"context"
	"errors"

	dataio "gomx/io"
	"gomx/metric"
	nd "gomx/ndarray"
	"gomx/optimizer"
	sym "gomx/symbol"
	"gomx/trainer"
)

// Forward computes the outputs for a batch, asynchronously. In training dropout drops and batch
// norm learns. A batch of another shape than the last one's is fine.
func (m *Module) Forward(b *dataio.Batch, train bool) error {
	return m.forward(context.Background(), b, train)
}

// forward is Forward with a context that ends waits for other processes.
func (m *Module) forward(ctx context.Context, b *dataio.Batch, train bool) error {
	switch {
	case !m.Bound():
		return errNotBound
	case b == nil:
		return errors.New("module: Forward: the batch is nil")
	}
	if !m.net.inited {
		return errors.New("module: the parameters have no values: call InitParams, or " +
			"SetParams, first")
	}
	if err := m.net.whole("Forward"); err != nil {
		return err
	}
	if m.pipe != nil {
		if train {
			return errors.New("module: Forward in training in a pipeline: call ForwardBackward")
		}
		return m.pipe.step(ctx, m.net.fed, b, false, m.replicas.stream.next(false))
	}
	if m.buckets != nil {
		if err := m.buckets.choose(m, b); err != nil {
			return err
		}
	} else if err := m.replicas.fits(&m.net, b); err != nil {
		return err
	}
	if err := (pulls{m}).pull(b); err != nil {
		return err
	}
	if err := m.replicas.feed(m.net.fed, b); err != nil {
		return err
	}
	if !train {
		m.net.settleAux()
	} else if len(m.net.values) > 1 {
		m.net.drifted = true
	}
	return m.replicas.current.forward(train, m.replicas.stream.next(train))
}

// Backward computes the gradients of the last Forward in training, asynchronously. Networks that
// end in a loss need no gradients of their outputs.
func (m *Module) Backward(outGrads ...*nd.Array) error {
	if !m.Bound() {
		return errNotBound
	}
	if !m.replicas.training {
		return errors.New("module: Backward: bound for inference only")
	}
	if err := m.replicas.current.backward(outGrads); err != nil {
		return err
	}
	return prefixed(m.trainer.Reduce(m.replicas.current))
}

// ForwardBackward is Forward in training, then Backward.
func (m *Module) ForwardBackward(b *dataio.Batch) error {
	return forwardBackward(context.Background(), m, b)
}

// forwardBackward is ForwardBackward with a context that ends waits for other processes.
func forwardBackward(ctx context.Context, m *Module, b *dataio.Batch) error {
	if m.pipe != nil {
		if err := m.pipe.step(ctx, m.net.fed, b, true, m.replicas.stream.next(true)); err != nil {
			return err
		}
		return prefixed(m.trainer.Reduce(m.pipe))
	}
	if err := m.forward(ctx, b, true); err != nil {
		return err
	}
	return m.Backward()
}

// InitOptimizer chooses the optimizer. Unless it says otherwise, gradients are divided by the
// batch size. The multipliers in the symbol's attributes are heeded.
func (m *Module) InitOptimizer(o optimizer.Optimizer) error {
	switch {
	case !m.Bound():
		return errNotBound
	case isNil(o):
		return errors.New("module: InitOptimizer: the optimizer is nil")
	}
	u, err := optimizer.NewUpdater(o, m.net.params)
	if err == nil {
		err = u.SetAttrs(m.net.symbol.AttrDict())
	}
	if err != nil {
		return prefixed(err)
	}
	if batch := batchSizeOf(m); batch > 0 {
		u.SetRescale(1 / float64(batch))
	}
	m.trainer.SetUpdater(u)
	return nil
}

// batchSizeOf returns the number of samples of a batch, 0 if the inputs have no batch.
func batchSizeOf(m *Module) int {
	if m.pipe != nil {
		return m.pipe.batch
	}
	return m.replicas.batchSize(m.net.fed)
}

// Updater returns the updater that runs the optimizer, nil before InitOptimizer.
func (m *Module) Updater() *optimizer.Updater { return m.trainer.Updater() }

// Update lets the optimizer change the parameters by the gradients, asynchronously: here, or in the
// store. With a loss scale that is not fixed it waits for the gradients, and changes nothing if one
// is not finite.
func (m *Module) Update() error {
	if !m.Bound() {
		return errNotBound
	}
	if m.trainer.Updater() == nil {
		return errors.New("module: no optimizer: call InitOptimizer first")
	}
	return prefixed(m.trainer.Step(gradientsOf(m), m.replicas.stream.steps))
}

// LossScale returns the factor by which gradients are scaled in the next batch, 1 without scaling.
func (m *Module) LossScale() float64 {
	if m.trainer.Scaler == nil {
		return 1
	}
	return m.trainer.Scaler.Value()
}

// Skipped returns how many batches have changed no parameter because a gradient was not finite.
func (m *Module) Skipped() int {
	if m.trainer.Scaler == nil {
		return 0
	}
	return m.trainer.Scaler.Skipped()
}

// gradientsOf returns the gradients of the last backward pass.
func gradientsOf(m *Module) trainer.Gradients {
	if m.pipe != nil {
		return m.pipe
	}
	return m.replicas.current
}

// Outputs returns the outputs of the last Forward. The next one overwrites them.
func (m *Module) Outputs() []*nd.Array {
	if !m.Bound() {
		return nil
	}
	if m.pipe != nil {
		return m.pipe.outputs()
	}
	return m.replicas.current.outputs()
}

// Grads returns the gradients of the last Backward by the names of the parameters, summed over the
// devices. The next one overwrites them.
func (m *Module) Grads() map[string]*nd.Array {
	grads := map[string]*nd.Array{}
	firsts := gradientsOf(m).Firsts()
	for _, name := range m.net.params {
		if g := firsts[name]; g != nil {
			grads[name] = g
		}
	}
	return grads
}

// InputGrads returns the gradients of the data, for modules bound with WithInputGrads.
func (m *Module) InputGrads() []*nd.Array {
	var grads []*nd.Array
	for _, f := range m.net.fed {
		if f.label {
			continue
		}
		if g := m.replicas.current.inputGrads(f); g != nil {
			grads = append(grads, g)
		}
	}
	return grads
}

// Monitor makes a monitor look at the values inside the network in runs that follow; nil ends that.
// With several devices it sees the values of each, in no particular order.
func (m *Module) Monitor(mon *sym.Monitor) { m.replicas.watch(mon) }

// UpdateMetric measures the outputs of the last Forward against the labels of its batch. It waits
// for the outputs, not for the gradients.
func (m *Module) UpdateMetric(mt metric.Metric, labels []*nd.Array) error {
	switch {
	case !m.Bound():
		return errNotBound
	case isNil(mt):
		return errors.New("module: UpdateMetric: the metric is nil")
	}
	return mt.Update(labels, m.Outputs())
}
