package training_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"gomx/training"
)

// JSON keeps numbers that it has no text for.
func TestHistoryInJSON(t *testing.T) {
	h := training.History{Batches: []training.BatchScore{{Epoch: 1, Batch: 2,
		Scores: training.Scores{{Name: "accuracy", Value: math.NaN()}}}},
		Epochs: []training.EpochEnd{{Epoch: 1, Train: training.Scores{
			{Name: "loss", Value: math.Inf(1)}, {Name: "x", Value: 0.1}}, Samples: 3}}}
	text, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	var again training.History
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	if !math.IsNaN(again.Batches[0].Scores[0].Value) || again.Epochs[0].Validation != nil ||
		again.Epochs[0].Train.String() != "loss=+Inf x=0.100000" {
		t.Errorf("got %+v", again)
	}
	if !strings.Contains(string(text), `{"Name":"x","Value":"0.1"}`) {
		t.Errorf("got %s, files of runs have another form", text)
	}
}
