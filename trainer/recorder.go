package trainer

import (
	"context"
	"fmt"
	"time"

	"gomx/device"
	"gomx/engine"
	"gomx/kvstore"
	nd "gomx/ndarray"
	"gomx/runs"
)

// Recorder records the steps of a training loop in a run: speed, memory, learning rate and scores
// of every step, and what the options of the run ask for. A nil Recorder records nothing. It is used
// by the goroutine of the loop.
type Recorder struct {
	run     *runs.Run
	own     bool         // Close closes the run
	points  []runs.Point // speed, memory, learning rate, then scores
	last    time.Time    // end of the step before, or the beginning of the epoch
	devices []device.Device

	tracing *engine.Profile // of the present step; nil: none

	job    *kvstore.Job // nil: none
	seen   uint64       // changes of the job so far
	looked time.Time    // when they were last looked at
}

// Recording says where a loop records its steps.
type Recording struct {
	Dir     string // folder of the run; empty: none
	Options []runs.Option
	Run     *runs.Run // of the program, in place of Dir
}

// Asked reports whether anything is to be recorded.
func (r *Recording) Asked() bool { return r.Dir != "" || r.Run != nil }

// Place is the place at which a loop begins to record.
type Place struct {
	Step    int64 // steps that are complete
	Rank    int   // of the worker
	Job     *kvstore.Job
	Devices []device.Device
}

// Open begins to record; the result is nil if nothing is to be recorded.
func (r *Recording) Open(at Place) (*Recorder, error) {
	if !r.Asked() {
		return nil, nil
	}
	rec := &Recorder{run: r.Run, job: at.Job, devices: at.Devices}
	if rec.run == nil {
		opts := append([]runs.Option{runs.From(at.Step), runs.Rank(at.Rank)}, r.Options...)
		run, err := runs.Open(r.Dir, opts...)
		if err != nil {
			return nil, err
		}
		rec.run, rec.own = run, true
	}
	for _, name := range []string{"speed/samples per second", "memory/bytes",
		"optimizer/learning rate"} {
		rec.points = append(rec.points, runs.Point{Tag: rec.run.Tag(name)})
	}
	rec.watch(at.Step)
	return rec, nil
}

// Run returns the run, nil if nothing is recorded.
func (r *Recorder) Run() *runs.Run {
	if r == nil {
		return nil
	}
	return r.run
}

// Begin starts the clock of the next step.
func (r *Recorder) Begin() {
	if r != nil {
		r.last = time.Now()
	}
}

// Before is called before a step, counted from 1. It begins the trace if the step is to be traced.
func (r *Recorder) Before(ctx context.Context, step int64) error {
	if r == nil || !r.run.TraceDue(step) || engine.Profiling(engine.Default()) {
		return nil
	}
	e := engine.Default()
	_ = e.WaitAll(ctx) // an error of other arrays is found by their users
	if err := ctx.Err(); err != nil {
		return err
	}
	r.tracing = e.StartProfile()
	return nil
}

// Step is a step of a loop that has just ended.
type Step struct {
	Number  int64 // from 1
	Samples int
	Rate    float64         // learning rate
	Names   func() []string // names of the scores
}

// Step records a step. It allocates nothing, except where scores do.
func (r *Recorder) Step(s *Step, scores []float64) {
	if r == nil {
		return
	}
	now := time.Now()
	r.points[0].Value = float64(s.Samples) / now.Sub(r.last).Seconds()
	r.points[1].Value = float64(r.memory())
	r.points[2].Value = s.Rate
	for len(r.points)-3 < len(scores) {
		r.points = append(r.points, runs.Point{Tag: r.run.Tag(s.Names()[len(r.points)-3])})
	}
	points := r.points[:3+len(scores)]
	for i, v := range scores {
		points[3+i].Value = v
	}
	r.run.Add(s.Number, points...)
	if now.Sub(r.looked) > time.Second {
		r.looked = now
		r.watch(s.Number)
	}
	r.last = now
}

// memory returns the bytes in use on all devices.
func (r *Recorder) memory() int64 {
	n := int64(0)
	for _, d := range r.devices {
		u := device.Usage(d)
		n += u.Total()
	}
	return n
}

// watch records the changes of the job.
func (r *Recorder) watch(step int64) {
	if r.job == nil {
		return
	}
	for _, c := range r.job.Changes(r.seen) {
		r.seen = c.Number
		r.run.Event(step, runs.Event{Kind: c.Kind, Node: c.Node, Text: c.Text, Time: c.Time})
	}
}

// After is called after a step has been recorded. It ends a trace, which waits for the whole step.
func (r *Recorder) After(ctx context.Context, step int64) error {
	if r == nil || r.tracing == nil {
		return nil
	}
	p := r.tracing
	r.tracing = nil
	defer p.Stop()
	_ = engine.Default().WaitAll(ctx) // an error of the step is found by the loop
	if err := ctx.Err(); err != nil {
		return err
	}
	p.Stop()
	r.run.Timeline(step, timeline(p))
	r.last = time.Now()
	return nil
}

// HistogramsDue reports whether histograms of a step are to be recorded, by Array.
func (r *Recorder) HistogramsDue(step int64) bool { return r != nil && r.run.HistogramsDue(step) }

// Array records the distribution of an array's values, which it waits for. Arrays that are not
// dense are passed over.
func (r *Recorder) Array(name string, step int64, a *nd.Array) error {
	if a == nil || a.Storage() != nd.Dense {
		return nil
	}
	v, err := a.Float32s()
	if err != nil {
		return fmt.Errorf("histogram of %s: %w", name, err)
	}
	r.run.Histogram(name, step, v)
	return nil
}

// Score records a score of an epoch, also as the final one so far.
func (r *Recorder) Score(name string, step int64, value float64) {
	if r != nil {
		r.run.Scalar(name, step, value)
		r.run.Score(name, value)
	}
}

// Event records an event of the loop.
func (r *Recorder) Event(step int64, kind, text string) {
	if r != nil {
		r.run.Event(step, runs.Event{Kind: kind, Text: text})
	}
}

// Matrix records a confusion matrix, whose labels are numbers.
func (r *Recorder) Matrix(step int64, counts [][]int) {
	if r == nil || len(counts) == 0 {
		return
	}
	m := runs.Matrix{Counts: counts}
	for i := range counts {
		m.Labels = append(m.Labels, fmt.Sprint(i))
	}
	r.run.Matrix(step, m)
}

// Flush makes everything that has been recorded survive the process.
func (r *Recorder) Flush() error {
	if r == nil {
		return nil
	}
	return r.run.Flush()
}

// Close ends the recording of a loop that is complete or has failed.
func (r *Recorder) Close(failed bool) error {
	switch {
	case r == nil:
		return nil
	case !r.own:
		return r.run.Flush()
	case failed:
		return r.run.Abort()
	}
	return r.run.Close()
}
