package module

import (
	"errors"
	"fmt"

	dataio "gomx/io"
	"gomx/metric"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

// Forward computes the outputs for a batch, asynchronously. In training dropout drops and batch
// norm learns. A batch of another shape than the last one's is fine.
func (m *Module) Forward(b *dataio.Batch, train bool) error {
	switch {
	case !m.Bound():
		return errNotBound
	case b == nil:
		return errors.New("module: Forward: the batch is nil")
	}
	if !m.inited {
		return errors.New("module: the parameters have no values: call InitParams, or " +
			"SetParams, first")
	}
	if err := m.fits(b); err != nil {
		return err
	}
	if err := m.feed(b); err != nil {
		return err
	}
	if !train {
		m.settleAux()
	} else if len(m.replicas) > 0 {
		m.drifted = true
	}
	return m.current.forward(train, m.stream.next(train))
}

// stream is where a module is in the random stream of its networks. It is one for all executors,
// and training does not depend on how often the network has been run for inference in between: a
// run that is taken up again finds its place by the number of its steps alone.
type stream struct {
	steps uint64 // runs in training so far
	looks uint64 // runs in inference since the last one in training
}

// next counts a run and returns the number of runs that come before it in the stream.
func (s *stream) next(train bool) uint64 {
	if train {
		s.steps, s.looks = s.steps+1, 0
		return s.steps - 1
	}
	s.looks++
	return s.steps + s.looks - 1
}

// Backward computes the gradients of the last Forward in training, asynchronously. Networks that
// end in a loss need no gradients of their outputs.
func (m *Module) Backward(outGrads ...*nd.Array) error {
	if !m.Bound() {
		return errNotBound
	}
	if !m.training {
		return errors.New("module: Backward: bound for inference only")
	}
	if err := m.current.backward(outGrads); err != nil {
		return err
	}
	return m.reduce()
}

// ForwardBackward is Forward in training, then Backward.
func (m *Module) ForwardBackward(b *dataio.Batch) error {
	if err := m.Forward(b, true); err != nil {
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
	u, err := optimizer.NewUpdater(o, m.params)
	if err != nil {
		return fmt.Errorf("module: %w", err)
	}
	if err := u.SetAttrs(m.symbol.AttrDict()); err != nil {
		return fmt.Errorf("module: %w", err)
	}
	if n := m.batchSize(); n > 0 {
		u.SetRescale(1 / float64(n))
	}
	m.updater, m.loaded = u, false
	return nil
}

// chooseOptimizer is InitOptimizer for Fit: states that LoadStates has given to an optimizer of the
// same kind stay, with the counts of updates.
func (m *Module) chooseOptimizer(o optimizer.Optimizer) error {
	old, loaded := m.updater, m.loaded
	if err := m.InitOptimizer(o); err != nil || !loaded {
		return err
	}
	before := old.Optimizer().Name()
	if o.Name() != before {
		m.updater, m.loaded = old, true
		return fmt.Errorf("module: Fit: Optimize(%s) after LoadStates, which has given states "+
			"to %s: "+
			"call InitOptimizer with the optimizer of Fit before LoadStates, or leave one of "+
			"them out", o.Name(), before)
	}
	for i, name := range m.params {
		state := old.State(i)
		if state == nil {
			continue
		}
		if want := m.updater.NewState(m.args[name]); len(want) != len(state) {
			m.updater, m.loaded = old, true
			return fmt.Errorf("module: Fit: Optimize(%s) keeps %d arrays for %s, the optimizer "+
				"that LoadStates has given states to, %s, keeps %d: their parameters differ",
				o.Name(), len(want), name, before, len(state))
		}
		m.updater.SetState(i, state)
		m.updater.SetProgress(i, old.Progress(i))
	}
	m.loaded = true
	return nil
}

// batchSize returns the number of samples in the first input, 0 if it has no batch.
func (m *Module) batchSize() int {
	if len(m.fed) == 0 {
		return 0
	}
	f := m.fed[0]
	s := m.current.shape(f)
	if f.axis < 0 || f.axis >= len(s) {
		return 0
	}
	return s[f.axis]
}

// Updater returns the updater that runs the optimizer, nil before InitOptimizer.
func (m *Module) Updater() *optimizer.Updater { return m.updater }

// Update lets the optimizer change the parameters by the gradients, asynchronously: here, or in the
// store. With a loss scale that is not fixed it waits for the gradients, and changes nothing if one
// is not finite.
func (m *Module) Update() error {
	if !m.Bound() {
		return errNotBound
	}
	if m.updater == nil {
		return errors.New("module: no optimizer: call InitOptimizer first")
	}
	if skip, err := m.overflowed(); err != nil {
		return err
	} else if skip {
		return m.skipUpdate()
	}
	if m.clip != nil {
		if err := m.clip.scale(m.current.first().Grads, m.params, m.updater.Rescale()); err != nil {
			return err
		}
	}
	if m.store != nil {
		m.settleAux()
		return m.store.update(m.current.first().Grads)
	}
	for i, name := range m.params {
		g := m.current.first().Grads[name]
		if g == nil {
			continue
		}
		if err := m.updater.Update(i, m.args[name], g); err != nil {
			return fmt.Errorf("module: %w", err)
		}
		m.spread(name)
	}
	return nil
}

// Outputs returns the outputs of the last Forward. The next one overwrites them.
func (m *Module) Outputs() []*nd.Array {
	if !m.Bound() {
		return nil
	}
	return m.current.outputs()
}

// Grads returns the gradients of the last Backward by the names of the parameters, summed over the
// devices. The next one overwrites them.
func (m *Module) Grads() map[string]*nd.Array {
	grads := map[string]*nd.Array{}
	for _, name := range m.params {
		if g := m.current.first().Grads[name]; g != nil {
			grads[name] = g
		}
	}
	return grads
}

// InputGrads returns the gradients of the data, for modules bound with WithInputGrads.
func (m *Module) InputGrads() []*nd.Array {
	var grads []*nd.Array
	for _, f := range m.fed {
		if f.label {
			continue
		}
		if g := m.current.inputGrads(f); g != nil {
			grads = append(grads, g)
		}
	}
	return grads
}

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
