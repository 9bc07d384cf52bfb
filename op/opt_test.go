package op_test

import (
	"math"
	"strings"
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

// Zero is a value like others where a file gives it, and it is not negative.
func TestZeroIsKept(t *testing.T) {
	type params struct {
		Slope op.Opt[float64] `op:"slope" default:"1"`
	}
	h := op.Declare[params]("test_zero")
	parsed, err := h.ParseParams(map[string]string{"slope": "0"})
	if err != nil {
		t.Fatal(err)
	}
	again, err := h.Normalize(parsed)
	if err != nil || again != parsed {
		t.Fatalf("normalizing twice: got %+v, %v, want %+v", again, err, parsed)
	}
	if v, set := parsed.(params).Slope.Get(); v != 0 || math.Signbit(v) || !set {
		t.Errorf("got %v, set %v, want a positive zero", v, set)
	}
	if got := h.FormatParams(parsed)["slope"]; got != "0" {
		t.Errorf("got slope=%q in a file, want 0", got)
	}
}

func TestDeclareRejectsUnknownOption(t *testing.T) {
	type bad struct {
		Beta float64 `op:"beta,zero"`
	}
	defer func() {
		if r := recover(); r == nil || !strings.Contains(r.(string), `unknown option "zero"`) {
			t.Errorf("got %v, want a panic that names the option", r)
		}
	}()
	op.Declare[bad]("test_option")
}
