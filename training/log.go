package training

import "gomx/metric"

// Log keeps the history of a loop, and tells reporters and the program about batches and epochs. It
// is used by the goroutine of the loop.
type Log struct {
	Metric  metric.Metric // of the batches
	History *History
	Every   int // batches between two points of the history; 0 or less: there are none

	OnBatch []func(*BatchEnd) error
	OnEpoch []func(*EpochEnd) error

	reporters []Reporter
	end       BatchEnd
	window    Scores // of the batch that has just ended, if taken
	taken     bool   // the window of the metric begins anew after this batch
}

// Report adds a reporter.
func (l *Log) Report(r Reporter) { l.reporters = append(l.reporters, r) }

// Begin tells the reporters that an epoch begins.
func (l *Log) Begin(epoch int) {
	for _, r := range l.reporters {
		r.Begin(epoch)
	}
}

// Batch is called after batch n of an epoch, counted from 0, which had some samples. The metric has
// been updated. It returns the first error of OnBatch.
func (l *Log) Batch(epoch, n, samples int) error {
	l.taken = false
	if l.end.Window == nil {
		l.end.Window, l.end.Scores = l.takeWindow, l.scores
	}
	l.end.Epoch, l.end.Batch, l.end.Samples = epoch, n, samples
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
	for _, call := range l.OnEpoch {
		if err := call(end); err != nil {
			return err
		}
	}
	return nil
}
