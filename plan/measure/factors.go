package measure

import (
	"context"
	"fmt"
	"math"
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

// factors measures two small networks in jobs, and sets the factors with which the simulation of
// these jobs takes as long: first for kernels beside messages, then for crowded machines.
func (m *Measurer) factors(ctx context.Context, h *plan.Host) error {
	h.Beside, h.Crowd = 1, 1
	product := 1.0
	for _, network := range []func() (*sym.Symbol, map[string]dtype.Shape){denseNetwork,
		convNetwork} {
		f, err := m.factor(ctx, h, network, 1)
		if err != nil {
			return err
		}
		product *= f.off()
	}
	h.Beside = min(max(1, math.Sqrt(product)), factorMost)
	f, err := m.factor(ctx, h, denseNetwork, runtime.NumCPU()+1)
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

// factorJob is a job that was predicted and measured.
type factorJob struct {
	net  *plan.Network
	work *plan.Compute
	p    *plan.Prediction
	rate float64 // measured samples per second
}

// off returns the predicted throughput relative to the measured one.
func (f *factorJob) off() float64 { return f.p.Throughput / f.rate }

// factor measures a job of a network with a server.
func (m *Measurer) factor(ctx context.Context, h *plan.Host,
	network func() (*sym.Symbol, map[string]dtype.Shape), workers int) (*factorJob, error) {
	s, shapes := network()
	cores := runtime.NumCPU()
	j := plan.Job{Store: "dist_sync", Workers: workers, Servers: 1,
		Machines: plan.Machines{Count: 1, Cores: cores}}
	f := &factorJob{}
	var err error
	if f.net, f.work, err = m.Compute(ctx, s, shapes, j.Threads()); err != nil {
		return nil, err
	}
	if f.p, err = plan.Predict(f.net, f.work, h, j, 0); err != nil {
		return nil, err
	}
	m.report("jobs with %d workers", workers)
	x := checkCase{p: f.p}
	if x.network, err = m.network(s, shapes); err != nil {
		return nil, err
	}
	for range m.times(factorRounds) {
		if err := x.measure(ctx, m, factorSeconds); err != nil {
			return nil, fmt.Errorf("a job with %d workers on %d cores: %w", workers, cores, err)
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
