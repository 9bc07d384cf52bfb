package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"gomx/kvstore"
	"gomx/launch"
)

// stalenessPlan is one job of the suite staleness. In every clock each worker reads its rows,
// changes them by its next Batch samples, and sleeps until the clock has lasted Step.
type stalenessPlan struct {
	Model     string        `json:"model"` // matrix or logistic
	Rows      int           `json:"rows"`  // of a square matrix
	Columns   int           `json:"columns"`
	Samples   int           `json:"samples"` // of a worker
	Workers   int           `json:"workers"`
	Staleness int           `json:"staleness"`
	Batch     int           `json:"batch"` // samples of a worker per clock
	Mini      int           `json:"mini"`  // samples per gradient of the regression; 0: Batch
	Clocks    int           `json:"clocks"`
	Step      time.Duration `json:"step"` // 0: a clock lasts as long as its computations
	Slow      int           `json:"slow"` // extra steps that worker c mod Workers sleeps in clock c
	Rate      float64       `json:"rate"`
	Points    int           `json:"points"` // number of losses, at least 2
}

// StalenessCommand is the hidden command of gomx that runs RunStaleness.
const StalenessCommand = "bench-staleness"

// stalenessReport begins the line of a worker that has its report.
const stalenessReport = "report "

// stalenessRun is the report of a worker.
type stalenessRun struct {
	Seconds float64          `json:"seconds"` // of all clocks
	Points  []stalenessPoint `json:"points"`
}

// stalenessPoint is the mean loss of the samples of a worker, with the parameters that it had read.
type stalenessPoint struct {
	At   float64 `json:"at"` // seconds since the first clock
	Loss float64 `json:"loss"`
}

// RunStaleness runs a process of a job of the suite staleness, in the role that its environment
// gives. Workers write their reports to out.
func RunStaleness(ctx context.Context, plan string, out io.Writer) error {
	var p stalenessPlan
	if err := json.Unmarshal([]byte(plan), &p); err != nil {
		return fmt.Errorf("bench: plan %q: %w", plan, err)
	}
	return launch.Run(ctx, func(ctx context.Context) error {
		if kvstore.JobOf(ctx) == nil {
			return errors.New("bench: found no job in the environment, want a process started by " +
				"gomx bench staleness")
		}
		r, err := p.work(ctx)
		if err != nil {
			return err
		}
		text, err := json.Marshal(r)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(out, "%s%s\n", stalenessReport, text)
		return err
	})
}

// work is a worker.
func (p *stalenessPlan) work(ctx context.Context) (*stalenessRun, error) {
	kv, err := kvstore.Open(ctx, "dist_ssp", kvstore.Staleness(p.Staleness))
	if err != nil {
		return nil, err
	}
	defer kv.Close()
	m, err := p.model(kv.Rank())
	if err != nil {
		return nil, err
	}
	if err := m.open(ctx, kv); err != nil {
		return nil, err
	}
	if err := kv.Clock(ctx); err != nil {
		return nil, err
	}
	if err := kv.Barrier(ctx); err != nil {
		return nil, err
	}
	w := &stalenessWorker{plan: p, kv: kv, model: m, start: time.Now()}
	for clock := range p.Clocks {
		if err := w.clock(ctx, clock); err != nil {
			return nil, err
		}
	}
	r := &stalenessRun{Seconds: time.Since(w.start).Seconds()}
	if err := kv.Barrier(ctx); err != nil { // the losses take no time of other workers
		return nil, err
	}
	for i, params := range w.seen {
		r.Points = append(r.Points, stalenessPoint{w.at[i], m.loss(params)})
	}
	return r, nil
}

// stalenessWorker is a worker in its clocks.
type stalenessWorker struct {
	plan  *stalenessPlan
	kv    *kvstore.KV
	model stalenessModel
	start time.Time
	at    []float64 // seconds of the points
	seen  [][][]float32
}

// clock trains on one batch.
func (w *stalenessWorker) clock(ctx context.Context, clock int) error {
	p := w.plan
	for _, t := range w.model.tables() {
		if err := t.fetch(ctx); err != nil {
			return err
		}
	}
	begun := time.Now()
	if clock*p.Points/p.Clocks != (clock-1)*p.Points/p.Clocks || clock == 0 || clock == p.Clocks-1 {
		var params [][]float32
		for _, t := range w.model.tables() {
			params = append(params, t.read)
		}
		w.at, w.seen = append(w.at, begun.Sub(w.start).Seconds()), append(w.seen, params)
	}
	w.model.learn(clock*p.Batch, p.Batch)
	for _, t := range w.model.tables() {
		if err := t.commit(); err != nil {
			return err
		}
	}
	time.Sleep(p.lasts(w.kv.Rank(), clock) - time.Since(begun))
	return w.kv.Clock(ctx)
}

// lasts returns the time of a clock of a worker.
func (p *stalenessPlan) lasts(rank, clock int) time.Duration {
	if clock%p.Workers == rank {
		return time.Duration(1+p.Slow) * p.Step
	}
	return p.Step
}
