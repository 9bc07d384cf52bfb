package measure

import (
	"context"
	"errors"
	"time"

	"gomx/kvstore"
	"gomx/module"
)

// trainFigures are the results of a worker of a real job.
type trainFigures struct {
	Seconds float64 `json:"seconds"`
	Samples int     `json:"samples"`
	Worker  int64   `json:"worker"` // peak memory of this worker
	Server  int64   `json:"server"` // peak memory of server 0; 0 without servers
}

// train trains in a real job.
func (p *process) train(ctx context.Context) (err error) {
	kv, err := kvstore.Open(ctx, p.Store)
	if err != nil {
		return err
	}
	step, start := 0, time.Time{}
	l := loop{network: &p.Network, store: kv}
	l.after = func(m *module.Module) error {
		if step++; step != p.Warm && step != p.Warm+p.Steps {
			return nil
		}
		if err := m.Wait(ctx); err != nil {
			return err
		}
		if step == p.Warm {
			if err := kv.Barrier(ctx); err != nil {
				return err
			}
			start = time.Now()
			return nil
		}
		f := trainFigures{Seconds: time.Since(start).Seconds(), Samples: p.Steps * l.batch}
		if f.Worker, f.Server, err = p.peaks(); err != nil {
			return err
		}
		if err := p.out.Encode(&f); err != nil {
			return err
		}
		if err := kv.Barrier(ctx); err != nil {
			return err
		}
		return errMeasured
	}
	err = l.run(ctx)
	return errors.Join(err, kv.Close())
}
