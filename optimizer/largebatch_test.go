package optimizer_test

import (
	"math"
	"testing"

	"gomx/dtype"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

// mxnetRun is what MXNet 1.9.1 makes of two weights: values and states after the last step.
type mxnetRun struct {
	name   string
	opt    optimizer.Optimizer
	half   bool
	steps  int
	values [2][]float64
	states [2][][]float64
}

// largeBatch is LBSGD with batches of two updates and a warm-up of six.
func largeBatch(strategy string, momentum float64, c optimizer.Common) optimizer.LBSGD {
	return optimizer.LBSGD{LR: 0.1, Momentum: momentum, WarmupStrategy: strategy,
		WarmupEpochs: nd.Some(2), BatchScale: 2, UpdatesPerEpoch: 3, Common: c}
}

func mxnetRuns() []mxnetRun {
	mixed := optimizer.Common{MultiPrecision: true}
	halving := func(step int, base float64) optimizer.Common {
		return optimizer.Common{Schedule: optimizer.FactorScheduler{Step: step, Factor: 0.5,
			BaseLR: base}}
	}
	begun := largeBatch("sqrt", 0, optimizer.Common{BeginUpdate: 5})
	begun.BeginEpoch = 1
	return []mxnetRun{
		{"lbsgd linear", largeBatch("", 0.5, optimizer.Common{}), false, 5,
			[2][]float64{{0.27916664, -0.80833328, -0.13333344}, {2.2208333, -0.74166673,
				0.98333341}},
			[2][][]float64{{{-0.17083335, 0.3416667, -0.6833334}},
				{{0.17083335, -0.3416667, 0.6833334}}}},
		{"lbsgd power2", largeBatch("power2", 0.5, optimizer.Common{}), false, 5,
			[2][]float64{{0.31111112, -0.87222219, -0.00555557}, {2.188889, -0.67777777,
				0.85555553}},
			[2][][]float64{{{-0.14722222, 0.29444444, -0.58888888}},
				{{0.14722222, -0.29444444, 0.58888888}}}},
		{"lbsgd sqrt", largeBatch("sqrt", 0.5, optimizer.Common{}), false, 5,
			[2][]float64{{0.2523306, -0.7546612, -0.24067760}, {2.2476695, -0.79533881, 1.0906776}},
			[2][][]float64{{{-0.18851876, 0.37703752, -0.75407505}},
				{{0.18851876, -0.37703752, 0.75407505}}}},
		{"lbsgd lars", largeBatch("lars", 0.5, optimizer.Common{}), false, 5,
			[2][]float64{{0.41873199, -1.0874639, 0.42492795}, {2.1120842, -0.52416837,
				0.54833674}},
			[2][][]float64{{{-0.04763839, 0.09527677, -0.19055355}},
				{{0.06789844, -0.13579687, 0.27159375}}}},
		{"lbsgd begun", begun, false, 5,
			[2][]float64{{0.12729378, -0.50458753, -0.74082488}, {2.3727062, -1.0454124,
				1.5908248}}, [2][][]float64{}},
		{"lbsgd schedule", largeBatch("linear", 0.5, halving(1, 0)), false, 5,
			[2][]float64{{0.38854164, -1.0270833, 0.30416662}, {2.0557292, -0.41145837,
				0.32291669}},
			[2][][]float64{{{-0.06145834, 0.12291668, -0.24583335}},
				{{0.03072917, -0.06145834, 0.12291668}}}},
		{"lbsgd mixed", largeBatch("linear", 0.5, mixed), true, 5,
			[2][]float64{{0.279052734375, -0.80810546875, -0.13330078125},
				{2.220703125, -0.74169921875, 0.9833984375}},
			[2][][]float64{{{0.27916664, -0.80833328, -0.13333344}, {-0.17083335, 0.3416667,
				-0.6833334}},
				{{2.2208333, -0.74171555, 0.98330903}, {0.17083335, -0.3416667, 0.6833334}}}},
		{"lbsgd mixed without momentum", largeBatch("linear", 0, mixed), true, 5,
			[2][]float64{{0.30419921875, -0.8583984375, -0.0333251953125},
				{2.1953125, -0.69189453125, 0.88330078125}},
			[2][][]float64{{{0.30416664, -0.85833329, -0.03333342}},
				{{2.1958332, -0.69171554, 0.88330901}}}},
		{"lars schedule", optimizer.LARS{LR: 0.4, Momentum: 0.5, Eta: nd.Some(0.1),
			Common: halving(1, 0)}, false, 4,
			[2][]float64{{0.46808496, -1.1861699, 0.62233979}, {2.0579336, -0.41586757,
				0.33173513}},
			[2][][]float64{{{-0.00296857, 0.00593715, -0.0118743}},
				{{0.00902157, -0.01804313, 0.03608627}}}},
		{"lars mixed", optimizer.LARS{LR: 0.4, Momentum: 0.5, Eta: nd.Some(0.1), Common: mixed},
			true, 6,
			[2][]float64{{0.378173828125, -1.0068359375, 0.2626953125}, {2.1875, -0.67333984375,
				0.8466796875}},
			[2][][]float64{{{-0.02140082, 0.04280164, -0.08560328}, {0.37819782, -1.0063955,
				0.2627911}},
				{{0.03884402, -0.07768804, 0.15537608}, {2.1866441, -0.67333657, 0.84655106}}}},
		{"ftrl schedule", optimizer.Ftrl{LR: 0.4, Lamda1: nd.Some(0.1), Common: halving(2, 0.2)},
			false, 4,
			[2][]float64{{-0.07873692, -0.04713452, -0.02879164}, {0.37249607, -0.26210991,
				0.29867798}},
			[2][][]float64{{{1.9655191, 1.8621771, 1.9648995}, {1.875, 7.5, 30}},
				{{-8.9255743, 9.8992748, -19.446047}, {1.875, 7.5, 30}}}},
		{"lamb mixed", optimizer.LAMB{LR: 0.3, Common: mixed}, true, 6,
			[2][]float64{{-0.415283203125, -0.334716796875, -0.1651611328125},
				{6.01953125, -4.3203125, 4.1171875}},
			[2][][]float64{{{-0.41518074, -0.33481815, -0.16518241}, {0.44574234, -0.89148468,
				1.7829694}, {0.00568087, 0.02272348, 0.09089391}},
				{{6.0183625, -4.3184147, 4.1183429}, {-0.44574234, 0.89148468, -1.7829694},
					{0.00568087, 0.02272348, 0.09089391}}}},
	}
}

// TestLikeMXNet runs optimizers whose parameters know of each other, that collect gradients, or
// that look at norms, beside MXNet's.
func TestLikeMXNet(t *testing.T) {
	for _, c := range mxnetRuns() {
		t.Run(c.name, func(t *testing.T) {
			u, err := optimizer.NewUpdater(c.opt, []string{"a_weight", "b_weight"})
			if err != nil {
				t.Fatal(err)
			}
			weights := [2]*nd.Array{vector(c.half, 0.5, -1.25, 0.75), vector(c.half, 2, -0.3, 0.1)}
			for n := range c.steps {
				for i, sign := range []float32{1, -1} {
					k := sign * float32(n+1)
					if err := u.Update(i, weights[i], vector(c.half, 0.25*k, -0.5*k,
						k)); err != nil {
						t.Fatal(err)
					}
				}
			}
			for i, w := range weights {
				same(t, "weight", w, c.values[i])
				state := u.State(i)
				if len(state) != len(c.states[i]) {
					t.Fatalf("%d states, want %d", len(state), len(c.states[i]))
				}
				for k, want := range c.states[i] {
					same(t, "state", state[k], want)
				}
			}
		})
	}
}

// vector makes a weight or a gradient, of float16 if half.
func vector(half bool, v ...float32) *nd.Array {
	a := nd.FromSlice(v)
	if half {
		return a.AsType(dtype.Float16)
	}
	return a
}

func same(t *testing.T, what string, got *nd.Array, want []float64) {
	t.Helper()
	values, err := got.Float64s()
	if err != nil {
		t.Fatal(err)
	}
	tol := 1e-5
	if got.DType() == dtype.Float16 {
		tol = 1e-3 // an element may round the other way
	}
	for i, w := range want {
		if d := math.Abs(values[i] - w); !(d <= tol*(1+math.Abs(w))) {
			t.Errorf("%s is %v, want %v", what, values, want)
			return
		}
	}
}

// TestBatchRecovers checks that a gradient beyond the numbers spoils its own batch alone.
func TestBatchRecovers(t *testing.T) {
	u, err := optimizer.NewUpdater(largeBatch("", 0, optimizer.Common{Clip: 1}), nil)
	if err != nil {
		t.Fatal(err)
	}
	w := nd.FromSlice([]float32{1})
	for _, g := range []float32{float32(math.Inf(1)), 1, 1, 1} {
		if err := u.Update(0, w, nd.FromSlice([]float32{g})); err != nil {
			t.Fatal(err)
		}
	}
	// The clipped mean is 1 twice, at rates of 0.1 times 8/6 and 10/6.
	same(t, "weight", w, []float64{0.7})
}

// TestFtrlWithoutRate checks that a schedule that ends at zero gives what MXNet gives, not zeros
// that look like weights.
func TestFtrlWithoutRate(t *testing.T) {
	o := optimizer.Ftrl{Common: optimizer.Common{Schedule: optimizer.PolyScheduler{MaxUpdate: 1,
		BaseLR: 0.3}}}
	u, err := optimizer.NewUpdater(o, nil)
	if err != nil {
		t.Fatal(err)
	}
	w := nd.FromSlice([]float32{0})
	if err := u.Update(0, w, nd.FromSlice([]float32{1})); err != nil {
		t.Fatal(err)
	}
	if v, err := w.Item(); err != nil || !math.IsNaN(v) {
		t.Errorf("weight %v, %v, want not a number", v, err)
	}
}
