package op_test

import (
	"testing"

	"gomx/op"
)

type noneParams struct {
	Axis  op.Opt[int] `op:"axis" default:"-1"`
	Other op.Opt[int] `op:"other"`
}

var noneOp = op.Declare[noneParams]("test_none")

func TestNoneDiffersFromDefault(t *testing.T) {
	tests := []struct {
		name  string
		attrs map[string]string
		set   bool
		key   string
	}{
		{"left out", nil, true, ""},
		{"None", map[string]string{"axis": "None", "other": "None"}, false, "None"},
		{"given", map[string]string{"axis": "2"}, true, "2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			parsed, err := noneOp.ParseParams(tt.attrs)
			if err != nil {
				t.Fatal(err)
			}
			again, err := noneOp.Normalize(parsed)
			if err != nil || again != parsed {
				t.Fatalf("normalizing twice: got %+v, %v, want %+v", again, err, parsed)
			}
			if p := parsed.(noneParams); p.Axis.IsSet() != tt.set || p.Other != (op.Opt[int]{}) {
				t.Errorf("got %+v, want axis set: %v", p, tt.set)
			}
			if got := noneOp.FormatParams(parsed)["axis"]; got != tt.key {
				t.Errorf("got axis=%q, want %q", got, tt.key)
			}
		})
	}
}
