package training_test

import (
	"math"
	"testing"

	"gomx/training"
)

func TestEarlyStop(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		stop   training.EarlyStop
		values []float64
		want   int // epochs
	}{
		{training.EarlyStop{}, []float64{1, 2, 3}, 3},
		{training.EarlyStop{}, []float64{1, 1, 3}, 2},
		{training.EarlyStop{Epochs: 2}, []float64{1, 1, 3, 2, 3, 9}, 5},
		{training.EarlyStop{Smaller: true}, []float64{3, 2, 1, 2}, 4},
		{training.EarlyStop{MinDelta: 0.5}, []float64{1, 1.4, 5}, 2},
		{training.EarlyStop{Epochs: 2}, []float64{nan, nan, 1}, 2},
	} {
		c.stop.Score = "x"
		h, n := training.History{}, 0
		for _, v := range c.values {
			h.Epochs = append(h.Epochs, training.EpochEnd{Train: training.Scores{{Name: "x",
				Value: v}}})
			n++
			if stop, err := c.stop.Reached(&h); err != nil || stop {
				break
			}
		}
		if n != c.want {
			t.Errorf("%+v with %v: stopped after %d epochs, want %d", c.stop, c.values, n, c.want)
		}
	}
	h := training.History{Epochs: []training.EpochEnd{{Train: training.Scores{{Name: "y"}}}}}
	if _, err := (&training.EarlyStop{Score: "x"}).Reached(&h); err == nil {
		t.Error("no error for a score that does not exist")
	}
}
