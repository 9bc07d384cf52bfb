package op_test

import (
	"math"
	"strings"
	"testing"

	"gomx/device"
	"gomx/dtype"
	"gomx/op"
)

type swishParams struct {
	Beta    op.Opt[float64] `op:"beta" default:"1" doc:"slope"`
	Axis    op.Opt[int]     `op:"axis" doc:"axis"`
	Mom     op.Opt[float64] `op:"momentum" default:"0.9" doc:"momentum"`
	NoFlat  bool            `op:"flatten,not" doc:"flatten"`
	Kernel  []int           `op:"kernel" doc:"kernel"`
	Mode    string          `op:"mode" default:"a" enum:"a|b" doc:"mode"`
	Filters int             `op:"num_filter,required" min:"1" doc:"filters"`
}

var swish = op.Declare[swishParams]("test_swish")

func init() {
	swish.Define(op.Spec[swishParams]{
		Traits: op.Traits{Doc: "Swish for tests.", NoGrad: "test"},
		Infer:  op.SameShape[swishParams],
		Ref: func(p swishParams, c *op.Call) error {
			x, y := op.Slice[float32](c.In[0]), op.Slice[float32](c.Out[0])
			for i, v := range x {
				y[i] = v / (1 + float32(math.Exp(-p.Beta.Value()*float64(v))))
			}
			return nil
		},
	})
}

func TestParseParams(t *testing.T) {
	tests := []struct {
		name  string
		attrs map[string]string
		check func(p swishParams) bool
		err   string
	}{
		{"defaults", map[string]string{"num_filter": "3"}, func(p swishParams) bool {
			return p.Beta.Value() == 1 && !p.Axis.IsSet() && p.Mom.Value() == 0.9 && !p.NoFlat &&
				p.Mode == "a"
		}, ""},
		{"given", map[string]string{"num_filter": "3L", "axis": "-1", "flatten": "False",
			"kernel": "(3L, 4)", "momentum": "0", "__lr_mult__": "2"},
			func(p swishParams) bool {
				return p.Axis.Value() == -1 && p.NoFlat && p.Kernel[1] == 4 && p.Mom.Value() == 0 &&
					p.Mom.IsSet()
			}, ""},
		{"missing", nil, nil, "num_filter: missing"},
		{"bound", map[string]string{"num_filter": "0"}, nil, "num_filter: 0, want at least 1"},
		{"enum", map[string]string{"num_filter": "1", "mode": "c"}, nil,
			`mode: "c", want one of a, b`},
		{"unknown", map[string]string{"num_filter": "1", "bias": "c"}, nil,
			"bias: unknown attribute"},
		{"number", map[string]string{"num_filter": "x"}, nil, "not an integer"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := swish.ParseParams(tt.attrs)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("got error %v, want one with %q", err, tt.err)
				}
				return
			}
			if err != nil || !tt.check(p.(swishParams)) {
				t.Fatalf("got %+v, %v", p, err)
			}
		})
	}
}

func TestFormatParams(t *testing.T) {
	p, err := swish.ParseParams(map[string]string{"num_filter": "3", "axis": "1", "flatten": "0",
		"momentum": "0.9"})
	if err != nil {
		t.Fatal(err)
	}
	got := swish.FormatParams(p)
	want := map[string]string{"num_filter": "3", "axis": "1", "flatten": "False"}
	for k, v := range want {
		if got[k] != v {
			t.Errorf("got %s=%q, want %q", k, got[k], v)
		}
	}
	if len(got) != len(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestKeyTellsParamsApart(t *testing.T) {
	keys := map[string]bool{}
	for _, a := range []string{"1", "2", "None"} {
		p, err := swish.ParseParams(map[string]string{"num_filter": "3", "axis": a})
		if err != nil {
			t.Fatal(err)
		}
		keys[string(swish.AppendKey(nil, p))] = true
	}
	if len(keys) != 3 {
		t.Errorf("got %d keys, want 3", len(keys))
	}
}

func TestPrepareRunsReference(t *testing.T) {
	p, _ := swish.Normalize(swishParams{Filters: 1})
	d := op.Plain(dtype.Float32, dtype.Shape{2})
	k, err := swish.Prepare(device.CPU(), device.TierC, p, &op.Args{In: []op.Desc{d},
		Out: []op.Desc{d}})
	if err != nil {
		t.Fatal(err)
	}
	x, y := []float32{0, 2}, make([]float32, 2)
	tensor := func(s []float32) op.Tensor { return op.TensorOf(s, 2) }
	if err := k.Run(&op.Call{In: []op.Tensor{tensor(x)}, Out: []op.Tensor{tensor(y)}}); err != nil {
		t.Fatal(err)
	}
	if got, want := float64(y[1]), 2/(1+math.Exp(-2)); math.Abs(got-want) > 1e-6 {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestDeclareRejectsAmbiguousDefault(t *testing.T) {
	type bad struct {
		Momentum float64 `op:"momentum" default:"0.9"`
	}
	defer func() {
		if r := recover(); r == nil || !strings.Contains(r.(string), "use op.Opt") {
			t.Errorf("got %v, want a panic that asks for op.Opt", r)
		}
	}()
	op.Declare[bad]("test_bad")
}

type runParams struct {
	LR float64 `op:"lr,required,run" doc:"rate"`
	WD float64 `op:"wd" doc:"decay"`
}

var runOp = op.Declare[runParams]("test_run")

func init() {
	runOp.Define(op.Spec[runParams]{
		Traits: op.Traits{Doc: "Scales.", NoGrad: "test"},
		Infer:  op.SameShape[runParams],
		Ref: func(p runParams, c *op.Call) error {
			op.Slice[float32](c.Out[0])[0] = float32(p.LR)
			return nil
		},
	})
}

func TestRunParametersAreReadFromTheCall(t *testing.T) {
	a, b := runParams{LR: 1, WD: 3}, runParams{LR: 2, WD: 3}
	if string(runOp.AppendKey(nil, a)) != string(runOp.AppendKey(nil, b)) {
		t.Error("parameters that differ in one read at run time have different keys")
	}
	d := op.Plain(dtype.Float32, dtype.Shape{1})
	k, err := runOp.Prepare(device.CPU(), device.TierRef, a, &op.Args{In: []op.Desc{d},
		Out: []op.Desc{d}})
	if err != nil {
		t.Fatal(err)
	}
	y := make([]float32, 1)
	c := op.Call{In: []op.Tensor{op.TensorOf(y)}, Out: []op.Tensor{op.TensorOf(y)}}
	for _, tt := range []struct {
		values []float64
		want   float32
	}{{nil, 1}, {runOp.AppendRun(nil, b), 2}, {runOp.AppendRun(nil, nil), 0}} {
		c.Values = tt.values
		if err := k.Run(&c); err != nil || y[0] != tt.want {
			t.Errorf("values %v: got %v, %v, want %v", tt.values, y[0], err, tt.want)
		}
	}
}
