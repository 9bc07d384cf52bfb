package measure

import (
	"context"
	"fmt"
	"runtime"
	"slices"

	"gomx/dtype"
	"gomx/plan"
	sym "gomx/symbol"
)

// Settings of the measurements of jobs whose networks are known.
const (
	factorRounds  = 4   // jobs; the fastest counts
	factorSeconds = 1.0 // measured time of a job
	factorMost    = 2.0 // largest factor that is believed
)

// factors measures small networks in jobs, and sets the times and the factor with which the
// simulation of these jobs takes as long: first for steps of a worker alone, then for crowded
// machines.
func (m *Measurer) factors(ctx context.Context, h *plan.Host) (err error) {
	h.Crowd = 1
	if h.Beside, err = m.beside(ctx, h, "dist_sync"); err != nil {
		return err
	}
	if h.RingBeside, err = m.beside(ctx, h, plan.StoreRing); err != nil {
		return err
	}
	f, err := m.factor(ctx, h, denseNetwork, factorSpec{"dist_sync", runtime.NumCPU() + 1})
	if err != nil {
		return err
	}
	for range 3 { // the factor does not slow down every part of the job
		h.Crowd = min(max(1, h.Crowd*f.off()), factorMost)
		if f.p, err = plan.Predict(f.net, f.work, h, f.p.Job, 0); err != nil {
			return err
		}
	}
	return nil
}

// beside returns the mean time by which steps of a store with one worker take longer than predicted.
func (m *Measurer) beside(ctx context.Context, h *plan.Host, store string) (seconds float64,
	err error) {
	networks := []func() (*sym.Symbol, map[string]dtype.Shape){denseNetwork, convNetwork}
	for _, network := range networks {
		f, err := m.factor(ctx, h, network, factorSpec{store, 1})
		if err != nil {
			return 0, err
		}
		longer := min(max(1, f.off()), factorMost) - 1
		seconds += f.p.Step * longer / float64(len(networks))
	}
	return seconds, nil
}

// factorSpec chooses a job.
type factorSpec struct {
	store   string
	workers int
}

// factorJob is a job that was predicted and measured.
type factorJob struct {
	net  *plan.Network
	work *plan.Compute
	p    *plan.Prediction
	rate float64 // measured samples per second
}

// off returns the predicted throughput relative to the measured one.
func (f *factorJob) off() float64 { return f.p.Throughput / f.rate }

// factor measures a job of a network, with a server unless the store has none.
func (m *Measurer) factor(ctx context.Context, h *plan.Host,
	network func() (*sym.Symbol, map[string]dtype.Shape), spec factorSpec) (*factorJob, error) {
	s, shapes := network()
	cores := runtime.NumCPU()
	j := plan.Job{Store: spec.store, Workers: spec.workers, Servers: 1,
		Machines: plan.Machines{Count: 1, Cores: cores}}
	if j.Store == plan.StoreRing {
		j.Servers = 0
	}
	f := &factorJob{}
	var err error
	if f.net, f.work, err = m.Compute(ctx, s, shapes, j.Threads()); err != nil {
		return nil, err
	}
	if f.p, err = plan.Predict(f.net, f.work, h, j, 0); err != nil {
		return nil, err
	}
	m.report("jobs of %s with %d workers", j.Store, j.Workers)
	x := checkCase{p: f.p}
	if x.network, err = m.network(s, shapes); err != nil {
		return nil, err
	}
	for range m.times(factorRounds) {
		if err := x.measure(ctx, m, factorSeconds); err != nil {
			return nil, fmt.Errorf("%v on %d cores: %w", &j, cores, err)
		}
	}
	f.rate = slices.Max(x.rates)
	return f, nil
}

// denseNetwork is a network of dense layers whose step takes some milliseconds.
func denseNetwork() (*sym.Symbol, map[string]dtype.Shape) {
	x := sym.Var("data")
	for range 3 {
		x = sym.FullyConnected(x, sym.FullyConnectedParams{NumHidden: 512})
		x = sym.Activation(x, sym.ActivationParams{ActType: "relu"})
	}
	return plan.WithLoss(x), map[string]dtype.Shape{"data": {256, 512}}
}

// convNetwork is a network of convolutions whose step takes some milliseconds.
func convNetwork() (*sym.Symbol, map[string]dtype.Shape) {
	x := sym.Var("data")
	for _, filters := range []int{16, 32, 64} {
		x = sym.Convolution(x, sym.ConvolutionParams{Kernel: dtype.Shape{3, 3},
			Pad: dtype.Shape{1, 1}, NumFilter: filters})
		x = sym.Activation(x, sym.ActivationParams{ActType: "relu"})
		x = sym.Pooling(x, sym.PoolingParams{Kernel: dtype.Shape{2, 2},
			Stride: dtype.Shape{2, 2}, PoolType: "max"})
	}
	return plan.WithLoss(sym.Flatten(x)), map[string]dtype.Shape{"data": {32, 3, 32, 32}}
}
