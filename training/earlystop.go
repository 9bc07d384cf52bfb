package training

import (
	"fmt"
	"math"
)

// EarlyStop ends a run whose scores do not get better any more. It looks at the scores of the
// validation data, or at those of training if there are no others.
//
// MXNet: gluon.contrib.estimator.EarlyStoppingHandler.
type EarlyStop struct {
	Score    string  // name of the score, such as accuracy or loss
	Smaller  bool    // smaller values are better
	MinDelta float64 // a value is better if it differs from the best one by more than this
	Epochs   int     // epochs without a better value after which the run ends; 0 is 1
}

// Reached reports whether the run of a history ends.
func (e *EarlyStop) Reached(h *History) (bool, error) {
	best, worse := math.Inf(-1), 0
	for _, end := range h.Epochs {
		scores := end.Validation
		if scores == nil {
			scores = end.Train
		}
		v, ok := scores.Get(e.Score)
		if !ok {
			return false, fmt.Errorf("early stopping by %q, there are the scores %v", e.Score,
				scores)
		}
		if e.Smaller {
			v = -v
		}
		if v-e.MinDelta > best {
			best, worse = v, 0
		} else {
			worse++
		}
	}
	return worse >= max(1, e.Epochs), nil
}
