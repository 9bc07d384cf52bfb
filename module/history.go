package module

import "gomx/training"

// The results of Fit and Score, and the arguments of callbacks.
type (
	// Score is one measurement.
	Score = training.Score
	// Scores are the measurements of a metric.
	Scores = training.Scores
	// History holds the scores that Fit has measured, for curves.
	History = training.History
	// BatchScore are the scores of a stretch of batches.
	BatchScore = training.BatchScore
	// BatchEnd is the argument of the callbacks that run after a batch.
	BatchEnd = training.BatchEnd
	// EpochEnd is the argument of the callbacks that run after an epoch.
	EpochEnd = training.EpochEnd
	// Curve is one quantity as it was measured over the epochs.
	Curve = training.Curve
)

// History returns the scores that the calls of Fit have measured so far.
func (m *Module) History() *History { return &m.history }
