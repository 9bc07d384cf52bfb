package measure

import (
	"context"
	"errors"
	"os"
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
		if err := p.peaks(&f); err != nil {
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

// peaks reads the memory of this worker and of server 0.
func (p *process) peaks(f *trainFigures) (err error) {
	if f.Worker, err = peakMemory(os.Getpid()); err != nil {
		return err
	}
	pid, err := readPID(p.Dir, "server 0")
	if os.IsNotExist(err) {
		return nil
	}
	if err == nil {
		f.Server, err = peakMemory(pid)
	}
	return err
}
