package training

import (
	"slices"
	"time"
)

// History holds the scores that a loop has measured, for curves. JSON keeps it as it is, NaN and
// the infinities too.
type History struct {
	Batches []BatchScore `json:"batches"`
	Epochs  []EpochEnd   `json:"epochs"`
}

// Forget takes everything from a batch of an epoch on out of the history, for a loop that goes back
// there.
func (h *History) Forget(epoch, batch int) {
	h.Epochs = slices.DeleteFunc(h.Epochs, func(e EpochEnd) bool { return e.Epoch >= epoch })
	h.Batches = slices.DeleteFunc(h.Batches, func(b BatchScore) bool {
		return b.Epoch > epoch || b.Epoch == epoch && b.Batch >= batch
	})
}

// BatchScore are the scores of a stretch of batches.
type BatchScore struct {
	Epoch  int
	Batch  int // the last batch of the stretch, counted from 0
	Scores Scores
}

// BatchEnd is the argument of the callbacks that run after a batch.
type BatchEnd struct {
	Epoch   int
	Batch   int // counted from 0
	Samples int // in the batch
	// Window returns the scores since they were last taken: about the last stretch of batches.
	// It is computed when called.
	Window func() Scores
	// Scores returns the scores since the epoch began. It is computed when called, and leaves
	// Window as it is.
	Scores func() Scores
}

// EpochEnd is the argument of the callbacks that run after an epoch.
type EpochEnd struct {
	Epoch      int
	Train      Scores
	Validation Scores // nil without validation data
	Samples    int    // that were trained on
	Batches    int
	Time       time.Duration
}

// Curve is one quantity as it was measured over the epochs.
type Curve struct {
	Name     string // training or validation
	Quantity string // the name of the score, such as accuracy
	X, Y     []float64
}

// Curves returns the history as curves: training by stretches of batches, validation by epochs.
func (h *History) Curves() []Curve {
	var list []Curve
	add := func(name, quantity string, x, y float64) {
		for i := range list {
			if list[i].Name == name && list[i].Quantity == quantity {
				list[i].X, list[i].Y = append(list[i].X, x), append(list[i].Y, y)
				return
			}
		}
		list = append(list, Curve{name, quantity, []float64{x}, []float64{y}})
	}
	perEpoch := 0
	for _, e := range h.Epochs {
		perEpoch = max(perEpoch, e.Batches)
	}
	for _, b := range h.Batches {
		for _, s := range b.Scores {
			add("training", s.Name, float64(b.Epoch)+float64(b.Batch+1)/float64(max(perEpoch, 1)),
				s.Value)
		}
	}
	for _, e := range h.Epochs {
		if len(h.Batches) == 0 {
			for _, s := range e.Train {
				add("training", s.Name, float64(e.Epoch+1), s.Value)
			}
		}
		for _, s := range e.Validation {
			add("validation", s.Name, float64(e.Epoch+1), s.Value)
		}
	}
	return list
}
