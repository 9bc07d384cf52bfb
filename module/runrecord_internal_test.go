package module

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"
	"time"

	"gomx/trainer"
)

// someRun is a record with numbers that JSON does not have.
func someRun() *runRecord {
	h := History{Batches: []BatchScore{{Epoch: 1, Batch: 2, Scores: Scores{{Name: "accuracy", Value: math.NaN()}}}},
		Epochs: []EpochEnd{{Epoch: 1, Train: Scores{{Name: "loss", Value: math.Inf(1)},
			{Name: "x", Value: 0.1}}, Samples: 3,
			Batches: 4, Time: time.Second}}}
	run := trainer.Run{Identity: []trainer.Identity{{Name: "seed", Value: "1"}}, Steps: 1 << 63,
		Params: []trainer.ParamRecord{{Count: 1, Updates: 2,
			Own:    trainer.Pair{trainer.Exact(math.Copysign(0, -1)), 1e-300},
			Shared: trainer.Pair{trainer.Exact(math.NaN())}, States: 3, Collected: true}},
		Scale: &trainer.ScaleRecord{Value: 0.1, Good: 2, Skipped: 3}}
	return &runRecord{Run: run, Train: json.RawMessage(`{"a":1}`), Epoch: 1, Batch: 2, Metric: []byte{1, 2},
		Checkpoints: []int{1, 2}, History: h}
}

// TestRunRecord writes a record and reads it back, bit for bit.
func TestRunRecord(t *testing.T) {
	text, err := json.Marshal(someRun())
	if err != nil {
		t.Fatal(err)
	}
	rec, err := parseRun(text)
	if err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(rec)
	if err != nil || string(again) != string(text) {
		t.Errorf("got %s, %v, want %s", again, err, text)
	}
	if m := rec.Params[0].Own; !math.Signbit(float64(m[0])) || m[1] != 1e-300 {
		t.Errorf("got %v, want -0 and 1e-300", m)
	}
	h := rec.History
	if v := h.Epochs[0].Train[0].Value; !math.IsInf(v, 1) ||
		!math.IsNaN(h.Batches[0].Scores[0].Value) || h.Epochs[0].Validation != nil {
		t.Errorf("got %v", h)
	}
}

// FuzzRunRecord looks for descriptions of a run that cannot be written as they were read.
func FuzzRunRecord(f *testing.F) {
	text, err := json.Marshal(someRun())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"params":[{"own":["1"]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		rec, err := parseRun(text)
		if err != nil {
			return
		}
		b, err := json.Marshal(rec)
		if err != nil {
			t.Fatal(err)
		}
		again, err := parseRun(b)
		if err != nil {
			t.Fatal(err)
		}
		c, err := json.Marshal(again)
		if err != nil || string(c) != string(b) ||
			!reflect.DeepEqual(rec.Identity, again.Identity) {
			t.Fatalf("%s becomes %s, %v", b, c, err)
		}
	})
}
