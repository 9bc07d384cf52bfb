package measure

import (
	"context"
	"os"
	"time"

	"gomx/engine"
	"gomx/module"
)

// computeFigures are the results of a network alone.
type computeFigures struct {
	Steps   int                  `json:"steps"`
	Wall    float64              `json:"wall"` // seconds of a step
	CPU     float64              `json:"cpu"`  // processor seconds of a step
	Memory  int64                `json:"memory"`
	Each    []float64            `json:"each"`     // seconds of steps that were timed one by one
	Segment map[string][]float64 `json:"segments"` // seconds of every run of a segment, by its name
}

// computeRun measures a network alone: steps to warm up, then a wait until the parent says so, then
// steps that follow each other without waiting, then steps whose segments are timed.
type computeRun struct {
	*process
	engine  *engine.Engine
	step    int
	start   time.Time
	cpu     float64
	profile *engine.Profile
	figures computeFigures
}

func (r *computeRun) run(ctx context.Context) error {
	l := loop{network: &r.Network, store: newNullStore(), after: func(m *module.Module) error {
		return r.after(ctx, m)
	}}
	if err := l.run(ctx); err != nil {
		return err
	}
	return r.out.Encode(&r.figures)
}

// after follows the start of a batch.
func (r *computeRun) after(ctx context.Context, m *module.Module) error {
	r.step++
	measured := r.step - r.Warm
	switch {
	case r.step == 1:
		if err := m.Wait(ctx); err != nil {
			return err
		}
		r.start = time.Now()
		return nil
	case measured < 0:
		return nil
	case measured == 0:
		return r.begin(ctx, m)
	case measured < r.Steps:
		return nil
	case measured == r.Steps:
		if err := r.end(ctx, m); err != nil {
			return err
		}
	default:
		if err := m.Wait(ctx); err != nil {
			return err
		}
		r.figures.Each = append(r.figures.Each, time.Since(r.start).Seconds())
	}
	if measured == r.Steps+r.Profile {
		if r.profile != nil {
			r.profile.Stop()
			r.spans()
		}
		return errMeasured
	}
	r.start = time.Now()
	return nil
}

// begin ends the warm-up. It chooses the number of steps if the task has none.
func (r *computeRun) begin(ctx context.Context, m *module.Module) (err error) {
	if err := m.Wait(ctx); err != nil {
		return err
	}
	if each := time.Since(r.start).Seconds() / float64(max(1, r.Warm-1)); r.Steps == 0 {
		r.Steps = min(max(computeLeast, int(r.Seconds/each)), 1000)
	}
	r.figures.Steps = r.Steps
	if err := r.out.Encode("ready"); err != nil {
		return err
	}
	if _, err := r.in.ReadString('\n'); err != nil {
		return err
	}
	r.cpu, err = processorTime(os.Getpid())
	r.start = time.Now()
	return err
}

// end ends the measurement without a profile.
func (r *computeRun) end(ctx context.Context, m *module.Module) error {
	if err := m.Wait(ctx); err != nil {
		return err
	}
	f := &r.figures
	f.Wall = time.Since(r.start).Seconds() / float64(r.Steps)
	cpu, err := processorTime(os.Getpid())
	if err != nil {
		return err
	}
	f.CPU = (cpu - r.cpu) / float64(r.Steps)
	if f.Memory, err = peakMemory(os.Getpid()); err != nil {
		return err
	}
	if r.Profile > 0 {
		r.profile = r.engine.StartProfile()
	}
	return nil
}

// spans collects the times of the segments.
func (r *computeRun) spans() {
	r.figures.Segment = map[string][]float64{}
	for _, s := range r.profile.Spans() {
		r.figures.Segment[s.Name] = append(r.figures.Segment[s.Name], (s.End - s.Start).Seconds())
	}
}
