package training

import (
	"fmt"

	"gomx/metric"
	"gomx/trainer"
)

// Log keeps the history of a loop, and tells reporters and the program about batches and epochs. It
// is used by the goroutine of the loop.
type Log struct {
	Metric  metric.Metric // of the batches
	History *History
	Every   int // batches between two points of the history; 0 or less: there are none

	OnBatch []func(*BatchEnd) error
	OnEpoch []func(*EpochEnd) error

	Record *trainer.Recorder // nil: nothing is recorded
	Step   trainer.Step      // of Record: the loop sets Number and Rate before each call of Batch

	reporters []Reporter
	end       BatchEnd
	window    Scores    // of the batch that has just ended, if taken
	taken     bool      // the window of the metric begins anew after this batch
	last      []float64 // scores of the last batch
}

// Report adds a reporter.
func (l *Log) Report(r Reporter) { l.reporters = append(l.reporters, r) }

// Begin tells the reporters that an epoch begins.
func (l *Log) Begin(epoch int) {
	for _, r := range l.reporters {
		r.Begin(epoch)
	}
	l.Record.Begin()
}

// Batch is called after batch n of an epoch, counted from 0, which had some samples. The metric has
// been updated. It returns the first error of OnBatch.
func (l *Log) Batch(epoch, n, samples int) error {
	l.taken = false
	if l.end.Window == nil {
		l.end.Window, l.end.Scores = l.takeWindow, l.scores
	}
	l.end.Epoch, l.end.Batch, l.end.Samples = epoch, n, samples
	if l.Record != nil {
		l.record(samples)
	}
	for _, r := range l.reporters {
		r.Batch(&l.end)
	}
	for _, call := range l.OnBatch {
		if err := call(&l.end); err != nil {
			return err
		}
	}
	if l.Every > 0 && n > 0 && n%l.Every == 0 {
		l.History.Batches = append(l.History.Batches, BatchScore{epoch, n, l.takeWindow()})
	}
	if l.taken {
		if w, ok := l.Metric.(metric.Windowed); ok {
			w.ResetWindow()
		}
	}
	return nil
}

// takeWindow returns the scores since the last batch at which they were taken.
func (l *Log) takeWindow() Scores {
	if !l.taken {
		l.window, l.taken = ScoresOf(metric.Window(l.Metric)), true
	}
	return l.window
}

// scores returns the scores since the epoch began.
func (l *Log) scores() Scores { return ScoresOf(l.Metric.Value()) }

// Add adds an epoch to the history.
func (l *Log) Add(end *EpochEnd) { l.History.Epochs = append(l.History.Epochs, *end) }

// Epoch tells the reporters and the program that an epoch has ended. It returns the first error of
// OnEpoch.
func (l *Log) Epoch(end *EpochEnd) error {
	for _, r := range l.reporters {
		r.Epoch(end)
	}
	if l.Record != nil {
		l.recordEpoch(end)
	}
	for _, call := range l.OnEpoch {
		if err := call(end); err != nil {
			return err
		}
	}
	return nil
}

// record records a batch in the run.
func (l *Log) record(samples int) {
	if l.Step.Names == nil {
		l.Step.Names = l.names
	}
	l.last = metric.AppendLast(l.last[:0], l.Metric)
	l.Step.Samples = samples
	l.Record.Step(&l.Step, l.last)
}

// names returns the names of the curves of the metric's scores.
func (l *Log) names() []string {
	names, _ := l.Metric.Value()
	for i := range names {
		names[i] = "train/" + names[i]
	}
	return names
}

// recordEpoch records the scores of an epoch.
func (l *Log) recordEpoch(end *EpochEnd) {
	for prefix, scores := range map[string]Scores{"epoch/": end.Train,
		"validation/": end.Validation} {
		for _, s := range scores {
			l.Record.Score(prefix+s.Name, l.Step.Number, s.Value)
		}
	}
	text := fmt.Sprintf("epoch %d ends after %d batches in %.1f s: %s", end.Epoch+1, end.Batches,
		end.Time.Seconds(), end.Train)
	if end.Validation != nil {
		text += ", validation " + end.Validation.String()
	}
	l.Record.Event(l.Step.Number, "epoch", text)
}
