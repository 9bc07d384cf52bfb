package optimizer_test

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	nd "gomx/ndarray"
	"gomx/optimizer"
)

// TestTravel encodes and decodes every optimizer, with parameters set.
func TestTravel(t *testing.T) {
	common := optimizer.Common{Rescale: 0.5, Clip: 2, MultiPrecision: true, BeginUpdate: 7,
		Schedule: optimizer.MultiFactorScheduler{Step: []int{3, 9}, Factor: 0.1,
			Warmup: optimizer.Warmup{Steps: 2, Mode: "constant"}},
		LRMult: map[string]float64{"a": 2}, WDMult: map[string]float64{"b": 0}}
	for _, o := range []optimizer.Optimizer{
		optimizer.SGD{}, optimizer.SGD{LR: 0.1, Momentum: 0.9, WD: 1e-4, Common: common},
		optimizer.Signum{Momentum: nd.Some(0.0), WDLH: 0.1},
		optimizer.Adam{LR: 0.1, Beta1: nd.Some(0.5), Epsilon: nd.Some(1e-3),
			Common: optimizer.Common{Schedule: optimizer.CosineScheduler{MaxUpdate: 9}}},
		optimizer.LARS{NoMomentumCorrection: true}, optimizer.LAMB{NoBiasCorrection: true,
			UpperBound: 3},
		optimizer.RMSProp{Centered: true, Gamma2: nd.Some(0.1)}, optimizer.SGLD{Seed: 4},
		optimizer.LBSGD{WarmupStrategy: "lars"},
	} {
		data, err := optimizer.Encode(o)
		if err != nil {
			t.Fatal(err)
		}
		back, err := optimizer.Decode(data)
		if err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		if !reflect.DeepEqual(o, back) {
			t.Errorf("%s came back as %+v, want %+v", data, back, o)
		}
	}
}

func TestNewErrors(t *testing.T) {
	for _, c := range []struct {
		name   string
		kwargs map[string]any
		want   string
	}{
		{"nothing", nil, "unknown name"},
		{"sgd", map[string]any{"momentun": 1}, `unknown parameter "momentun"`},
		{"sgd", map[string]any{"momentum": "x"}, "want a number"},
		{"sgd", map[string]any{"learning_rate": 0}, "want a positive number"},
		{"sgd", map[string]any{"begin_num_update": 0.5}, "want an integer"},
		{"sgd", map[string]any{"multi_precision": 1}, "want true or false"},
		{"sgd", map[string]any{"lr_scheduler": "factor"}, "want a schedule"},
		{"lbsgd", map[string]any{"warmup_strategy": 1}, "want a string"},
	} {
		if _, err := optimizer.New(c.name, c.kwargs); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %v: %v, want %q", c.name, c.kwargs, err, c.want)
		}
	}
	for _, s := range []optimizer.Schedule{
		optimizer.FactorScheduler{}, optimizer.FactorScheduler{Step: 1, Factor: 2},
		optimizer.MultiFactorScheduler{Step: []int{3, 3}},
		optimizer.PolyScheduler{}, optimizer.CosineScheduler{MaxUpdate: 9,
			Warmup: optimizer.Warmup{Mode: "x"}},
	} {
		o := optimizer.SGD{Common: optimizer.Common{Schedule: s}}
		if _, err := optimizer.NewUpdater(o, nil); err == nil {
			t.Errorf("%+v: no error", s)
		}
	}
}

// step runs one update of a weight of ones by a gradient of ones and returns the new weight.
func step(t *testing.T, u *optimizer.Updater, index int) float64 {
	t.Helper()
	w := nd.FromSlice([]float32{1})
	if err := u.Update(index, w, nd.FromSlice([]float32{1})); err != nil {
		t.Fatal(err)
	}
	v, err := w.Item()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestMultipliers checks which parameters decay, and where multipliers come from.
func TestMultipliers(t *testing.T) {
	names := []string{"a_weight", "a_bias", "bn_gamma", "b_weight", "c_weight"}
	o := optimizer.SGD{LR: 0.5, WD: 0.1,
		Common: optimizer.Common{LRMult: map[string]float64{"b_weight": 0}}}
	u, err := optimizer.NewUpdater(o, names)
	if err != nil {
		t.Fatal(err)
	}
	err = u.SetAttrs(map[string]map[string]string{"c_weight": {"__lr_mult__": "2",
		"__wd_mult__": "0"}, "b_weight": {"__lr_mult__": "7"}})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{0.45, 0.5, 0.45, 1, 0} {
		if got := step(t, u, i); math.Abs(got-want) > 1e-6 {
			t.Errorf("%s: %v, want %v", names[i], got, want)
		}
	}
	if err := u.SetAttrs(map[string]map[string]string{"x": {"__lr_mult__": "?"}}); err == nil {
		t.Error("multiplier that is no number: no error")
	}
}

// TestUpdateErrors checks that misuse is an error that names optimizer and parameter.
func TestUpdateErrors(t *testing.T) {
	for _, o := range []optimizer.Optimizer{optimizer.SGD{}, optimizer.Adam{}, optimizer.AdaGrad{},
		optimizer.RMSProp{}} {
		u, err := optimizer.NewUpdater(o, []string{"w_weight"})
		if err != nil {
			t.Fatal(err)
		}
		err = u.Update(0, nd.FromSlice([]float32{1, 2}), nd.FromSlice([]float32{1}))
		if err == nil || !strings.Contains(err.Error(),
			"optimizer "+o.Name()+": parameter 0 w_weight") {
			t.Errorf("%s: %v", o.Name(), err)
		}
	}
}

// TestScales checks rescaling, clipping and the count of updates.
func TestScales(t *testing.T) {
	u, err := optimizer.NewUpdater(optimizer.SGD{LR: 1, Common: optimizer.Common{Clip: 0.25}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	u.SetRescale(0.5)
	if got := step(t, u, 0); got != 0.75 {
		t.Errorf("clipped: %v, want 0.75", got)
	}
	if u.Updates() != 1 {
		t.Errorf("%d updates, want 1", u.Updates())
	}
	u, err = optimizer.NewUpdater(optimizer.SGD{LR: 1, Common: optimizer.Common{Rescale: 0.1}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	u.SetRescale(0.5)
	if got := step(t, u, 0); math.Abs(got-0.9) > 1e-6 {
		t.Errorf("with a scale of its own: %v, want 0.9", got)
	}
}

// TestSGLD checks that the noise repeats, and that its size follows the learning rate.
func TestSGLD(t *testing.T) {
	run := func() []float32 {
		u, err := optimizer.NewUpdater(optimizer.SGLD{LR: 0.04}, []string{"w_weight"})
		if err != nil {
			t.Fatal(err)
		}
		w := nd.Zeros(nd.Shape{1000})
		if err := u.Update(0, w, nd.Zeros(nd.Shape{1000})); err != nil {
			t.Fatal(err)
		}
		v, err := w.Float32s()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	a := run()
	if !reflect.DeepEqual(a, run()) {
		t.Error("two runs differ")
	}
	sum := 0.0
	for _, x := range a {
		sum += float64(x * x)
	}
	if sd := math.Sqrt(sum / 1000); math.Abs(sd-0.2) > 0.02 {
		t.Errorf("standard deviation %v, want 0.2", sd)
	}
}

// BenchmarkUpdate measures the start of an update.
func BenchmarkUpdate(b *testing.B) {
	for _, o := range []optimizer.Optimizer{optimizer.SGD{LR: 0.1, Momentum: 0.9}, optimizer.Adam{},
		optimizer.AdaGrad{}} {
		b.Run(o.Name(), func(b *testing.B) {
			u, err := optimizer.NewUpdater(o, []string{"w_weight"})
			if err != nil {
				b.Fatal(err)
			}
			w, g := nd.FromSlice(make([]float32, 5000)), nd.FromSlice(make([]float32, 5000))
			b.ReportAllocs()
			for b.Loop() {
				if err := u.Update(0, w, g); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// What MXNet's keyword arguments may set to zero is zero; where zero cannot be had, it is refused.
func TestZeroParameters(t *testing.T) {
	o, err := optimizer.New("adam", map[string]any{"epsilon": 0, "beta1": 0.0})
	if err != nil {
		t.Fatal(err)
	}
	want := optimizer.Adam{Epsilon: nd.Some(0.0), Beta1: nd.Some(0.0)}
	if !reflect.DeepEqual(o, optimizer.Optimizer(want)) {
		t.Errorf("got %+v, want %+v", o, want)
	}
	text, err := optimizer.Encode(o)
	if err != nil {
		t.Fatal(err)
	}
	if back, err := optimizer.Decode(text); err != nil || !reflect.DeepEqual(back, o) {
		t.Errorf("got %+v, %v from %s, want %+v", back, err, text, o)
	}
	for _, key := range []string{"learning_rate", "rescale_grad"} {
		if _, err := optimizer.New("sgd", map[string]any{key: 0}); err == nil ||
			!strings.Contains(err.Error(), key+": 0, want a positive number") {
			t.Errorf("%s: got %v, want an error that asks for a positive number", key, err)
		}
	}
	if _, err := optimizer.NewSchedule("factor", map[string]any{"step": 2,
		"factor": 0}); err == nil {
		t.Error("a schedule with factor 0 is accepted")
	}
}

func TestUpdaterText(t *testing.T) {
	u, err := optimizer.NewUpdater(optimizer.Adam{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := u.Update(0, nd.Ones(nd.Shape{2}), nd.Ones(nd.Shape{2})); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(u), "<Updater adam: 1 updates>"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
