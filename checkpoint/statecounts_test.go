package checkpoint_test

import (
	"encoding/json"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"gomx/checkpoint"
)

// The file of a trainer has states and counts of updates. Package gluon compares it with MXNet.
func TestTrainerStatesRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "states")
	call := checkpoint.Call{Module: "mxnet.optimizer.optimizer", Name: "create",
		Args: []any{"sgd"}, Keywords: map[string]any{"clip_gradient": nil,
			"multi_precision": true, "lazy_update": false, "learning_rate": 0.1,
			"begin_num_update": 3, "wd": json.Number("1e-4"), "step": json.Number("12"),
			"lr_scheduler": checkpoint.Call{Module: "mxnet.lr_scheduler",
				Name: "MultiFactorScheduler", Keywords: map[string]any{"step": []any{2, 5}}}}}
	states := someStates()[:3]
	states[0].Count, states[2].Count = 4, 1<<31-1
	if err := checkpoint.SaveTrainerStates(path, states, call); err != nil {
		t.Fatal(err)
	}
	got, err := checkpoint.LoadStates(path)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, states) {
		t.Errorf("got %+v, want %+v", got, states)
	}
	for want, value := range map[string]any{"uint8 in a call": uint8(1), "one of 32 bits": 1 << 40,
		"x": json.Number("x"), "struct {} in a call": []any{struct{}{}}} {
		call.Keywords["wd"] = value
		if err := checkpoint.SaveTrainerStates(path, states, call); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("a value %v: %v, want %q", value, err, want)
		}
	}
}

// Counts that a pickle claims must be counts of parameters.
func TestStrangeCounts(t *testing.T) {
	for name, optimizer := range map[string]string{
		"no object":  "K\x05",
		"no state":   "cm\nO\n)R",
		"no counts":  "cm\nO\n)R}X\x02\x00\x00\x00lrK\x01sb",
		"other type": "cm\nO\n)R}X\x13\x00\x00\x00_index_update_countK\x01sb",
		"bad counts": "cm\nO\n)R}X\x13\x00\x00\x00_index_update_count}(K\x00J\xff\xff\xff\xffX" +
			"\x01\x00\x00\x00aK\x02K\x01Nusb",
	} {
		got, err := checkpoint.ReadStates(strings.NewReader("\x80\x03}K\x00Ns" + optimizer +
			"\x86."))
		if err != nil || len(got) != 1 || got[0].Count != 0 {
			t.Errorf("%s: %+v, %v, want one state without a count", name, got, err)
		}
	}
}
