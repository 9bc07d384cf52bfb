package measure

import (
	"context"
	"fmt"
	"runtime"

	"gomx/dtype"
	"gomx/plan"
	sym "gomx/symbol"
)

// Settings of the measurement of a crowded machine.
const (
	crowdRounds  = 3   // jobs; the median counts
	crowdSeconds = 1.5 // measured time of a job
	crowdMost    = 2.0 // largest factor that is believed
)

// crowd measures a job with one worker more than there are cores, and sets the factor with which the
// simulation of that job takes as long.
func (m *Measurer) crowd(ctx context.Context, h *plan.Host) error {
	s, shapes := denseNetwork()
	cores := runtime.NumCPU()
	j := plan.Job{Store: "dist_sync", Workers: cores + 1, Servers: 1,
		Machines: plan.Machines{Count: 1, Cores: cores}}
	n, c, err := m.Compute(ctx, s, shapes, j.Threads())
	if err != nil {
		return err
	}
	text, err := s.JSON()
	if err != nil {
		return err
	}
	file, err := m.symbolFile(text)
	if err != nil {
		return err
	}
	h.Crowd = 1
	p, err := plan.Predict(n, c, h, j, 0)
	if err != nil {
		return err
	}
	x := checkCase{network: network{file, shapes}, p: p}
	for range crowdRounds {
		if err := x.measure(ctx, m, crowdSeconds); err != nil {
			return fmt.Errorf("a job with %d workers on %d cores: %w", j.Workers, cores, err)
		}
	}
	for range 3 { // the factor does not slow down every part of the job
		h.Crowd = min(max(1, h.Crowd*p.Throughput/median(x.rates)), crowdMost)
		if p, err = plan.Predict(n, c, h, j, 0); err != nil {
			return err
		}
	}
	return nil
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
