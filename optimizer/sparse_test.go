package optimizer_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"gomx/dtype"
	nd "gomx/ndarray"
	"gomx/op"
	"gomx/optimizer"
)

// sparseRules are optimizers with steps by rows. lazy tells whether a step with a row_sparse
// gradient leaves the other rows alone, where the weight is dense and where it is row_sparse.
var sparseRules = []struct {
	o           optimizer.Optimizer
	dense, rows bool
}{
	{optimizer.SGD{LR: 0.1, WD: 0.02}, true, true},
	{optimizer.SGD{LR: 0.1, WD: 0.02, NoLazyUpdate: true}, false, false},
	{optimizer.SGD{LR: 0.1, Momentum: 0.9, WD: 0.02}, true, true},
	{optimizer.SGD{LR: 0.1, Momentum: 0.9, WD: 0.02, NoLazyUpdate: true}, false, false},
	{optimizer.Adam{LR: 0.1, WD: 0.02}, true, true},
	{optimizer.Adam{LR: 0.1, WD: 0.02, NoLazyUpdate: true}, false, false},
	{optimizer.AdamW{LR: 0.1, WD: 0.02, LazyUpdate: true}, true, true},
	{optimizer.AdamW{LR: 0.1, WD: 0.02}, false, false},
	{optimizer.AdaGrad{LR: 0.1}, true, true},
	{optimizer.GroupAdaGrad{LR: 0.1}, true, true},
	{optimizer.Ftrl{LR: 0.1}, false, true},
	{optimizer.NAG{LR: 0.1, Momentum: 0.9}, false, false}, // has no steps by rows
}

// randomRows returns a row_sparse array that stores about a share of its rows.
func randomRows(r *rand.Rand, t dtype.Type, shape nd.Shape, share float64) *nd.Array {
	var values []float64
	var rows []int64
	for i := range shape[0] {
		if r.Float64() >= share {
			continue
		}
		rows = append(rows, int64(i))
		for range shape[1:].Size() {
			values = append(values, r.NormFloat64())
		}
	}
	return nd.RowSparseFromSlices(values, rows, shape).AsType(t)
}

// TestStepsByRows compares updates by row_sparse gradients with dense updates of which, where steps
// are lazy, the rows of the gradient count alone.
func TestStepsByRows(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	for _, rule := range sparseRules {
		for _, stored := range []nd.Storage{nd.Dense, nd.RowSparse} {
			for _, typ := range []dtype.Type{dtype.Float32, dtype.Float64} {
				name := fmt.Sprintf("%s %+v %v %v, seed %d", rule.o.Name(), rule.o, stored, typ, seed)
				lazy := rule.dense
				if stored == nd.RowSparse {
					lazy = rule.rows
				}
				checkSteps(t, r, name, rule.o, stored, typ, lazy)
			}
		}
	}
}

func checkSteps(t *testing.T, r *rand.Rand, name string, o optimizer.Optimizer, stored nd.Storage,
	typ dtype.Type, lazy bool) {
	t.Helper()
	shape := nd.Shape{1 + r.IntN(30), 1 + r.IntN(40)}
	w := randomRows(r, typ, shape, 0.6).ToStorage(stored)
	u, plain := newUpdater(t, o), newUpdater(t, o)
	want := w.ToStorage(nd.Dense).Copy()
	for step := range 5 {
		g := randomRows(r, typ, shape, []float64{0.3, 1, 0}[step%3])
		if err := u.Update(0, w, g); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		before := snapshot(t, plain, want)
		if err := plain.Update(0, want, g.ToStorage(nd.Dense)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if rows, err := g.Indices(); err != nil {
			t.Fatal(err)
		} else if lazy {
			restore(t, plain, want, before, rows)
		}
		if w.Storage() != stored {
			t.Fatalf("%s: the weight is %v", name, w.Storage())
		}
		near(t, name, w, want)
		for i, s := range u.State(0) {
			near(t, fmt.Sprint(name, ": state ", i), s, plain.State(0)[i])
		}
	}
}

func newUpdater(t *testing.T, o optimizer.Optimizer) *optimizer.Updater {
	t.Helper()
	u, err := optimizer.NewUpdater(o, nil)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// snapshot returns the values of a weight and of its states, which are zeros before the first
// update.
func snapshot(t *testing.T, u *optimizer.Updater, w *nd.Array) (list [][]float64) {
	t.Helper()
	state := u.State(0)
	if state == nil {
		state = u.NewState(w)
	}
	for _, a := range append([]*nd.Array{w}, state...) {
		list = append(list, values(t, a))
	}
	return list
}

// restore gives the rows that are not listed the values that they had.
func restore(t *testing.T, u *optimizer.Updater, w *nd.Array, before [][]float64, rows []int64) {
	t.Helper()
	for i, a := range append([]*nd.Array{w}, u.State(0)...) {
		v := values(t, a)
		row := a.Shape()[1:].Size()
		for k := range v {
			if !slices.Contains(rows, int64(k/row)) {
				v[k] = before[i][k]
			}
		}
		nd.FromSlice(v, a.Shape()...).AsType(a.DType()).CopyInto(a)
	}
}

func values(t *testing.T, a *nd.Array) []float64 {
	t.Helper()
	v, err := a.Float64s()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func near(t *testing.T, what string, got, want *nd.Array) {
	t.Helper()
	x, y := values(t, got), values(t, want)
	for i := range x {
		if !(math.Abs(x[i]-y[i]) <= 1e-5+1e-5*math.Abs(y[i])) {
			t.Fatalf("%s: element %d is %v, want %v", what, i, x[i], y[i])
		}
	}
}

// TestStatesGrowWithTheWeight: a state of a row_sparse weight stores the rows of the weight alone.
func TestStatesGrowWithTheWeight(t *testing.T) {
	w := nd.RowSparseFromSlices([]float32{1, 2}, []int{1, 4}, nd.Shape{6, 1})
	u := newUpdater(t, optimizer.Adam{LR: 0.1})
	for _, step := range []struct{ rows, want []int64 }{{[]int64{4}, []int64{1, 4}},
		{[]int64{}, []int64{1, 4}}, {[]int64{0, 4}, []int64{0, 1, 4}}} {
		g := nd.RowSparseFromSlices(make([]float32, len(step.rows)), step.rows, nd.Shape{6, 1})
		if err := u.Update(0, w, g); err != nil {
			t.Fatal(err)
		}
		for _, a := range append([]*nd.Array{w}, u.State(0)...) {
			if got, err := a.Indices(); err != nil || !slices.Equal(got, step.want) {
				t.Errorf("after rows %v: %v, %v, want %v", step.rows, got, err, step.want)
			}
		}
	}
}

// TestLazyStepsCostByRows: many lazy steps of a large table take less time than one that goes over
// all of it.
func TestLazyStepsCostByRows(t *testing.T) {
	shape := nd.Shape{1 << 21, 8}
	g := nd.RowSparseFromSlices(make([]float32, 8*16), []int64{3, 90, 700, 9000, 80000, 100000,
		200000, 300000, 400000, 500000, 600000, 700000, 800000, 900000, 1000000, 2000000}, shape)
	for _, o := range [][2]optimizer.Optimizer{
		{optimizer.SGD{LR: 0.1, Momentum: 0.9}, optimizer.SGD{LR: 0.1, Momentum: 0.9,
			NoLazyUpdate: true}},
		{optimizer.Adam{LR: 0.1}, optimizer.Adam{LR: 0.1, NoLazyUpdate: true}},
	} {
		w := nd.Zeros(shape)
		least := func(o optimizer.Optimizer, n int) time.Duration {
			u, best := newUpdater(t, o), time.Duration(math.MaxInt64)
			for range n {
				start := time.Now()
				if err := u.Update(0, w, g); err != nil {
					t.Fatal(err)
				}
				if err := w.Wait(t.Context()); err != nil {
					t.Fatal(err)
				}
				best = min(best, time.Since(start))
			}
			return best
		}
		lazy, whole := least(o[0], 20), least(o[1], 2)
		if lazy*8 > whole {
			t.Errorf("%s: a lazy step takes %v, a step of all rows %v", o[0].Name(), lazy, whole)
		}
		w.Close()
	}
}

// TestLazyIsTheDefault reads MXNet's parameter lazy_update.
func TestLazyIsTheDefault(t *testing.T) {
	for _, tt := range []struct {
		kwargs map[string]any
		want   bool
	}{{nil, false}, {map[string]any{"lazy_update": true}, false},
		{map[string]any{"lazy_update": false}, true}} {
		o, err := optimizer.New("adam", tt.kwargs)
		if err != nil {
			t.Fatal(err)
		}
		if got := o.(optimizer.Adam).NoLazyUpdate; got != tt.want {
			t.Errorf("%v: NoLazyUpdate is %v", tt.kwargs, got)
		}
	}
}

// TestOtherOptimizersNameDenseGradients gives row_sparse gradients to optimizers without steps by
// rows: they step as with dense gradients, and a notice names the operator.
func TestOtherOptimizersNameDenseGradients(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	for _, o := range []optimizer.Optimizer{optimizer.NAG{LR: 0.1, Momentum: 0.9},
		optimizer.Signum{LR: 0.1}, optimizer.RMSProp{LR: 0.1}, optimizer.Adamax{LR: 0.1},
		optimizer.Nadam{LR: 0.1}, optimizer.LAMB{LR: 0.1}, optimizer.LARS{LR: 0.1, Momentum: 0.9}} {
		var notices []string
		old := op.NoticesTo(func(text string) { notices = append(notices, text) })
		shape := nd.Shape{9, 4}
		g := randomRows(r, dtype.Float32, shape, 0.5)
		w := nd.Normal(0, 1, shape)
		dense, u, plain := w.Copy(), newUpdater(t, o), newUpdater(t, o)
		if err := u.Update(0, w, g); err != nil {
			t.Fatal(err)
		}
		if len(notices) == 0 || !strings.Contains(notices[0], "operator") &&
			!strings.Contains(notices[0], "optimizer "+o.Name()) {
			t.Errorf("%s: notices %q, want one that names the operator or the optimizer",
				o.Name(), notices)
		}
		op.NoticesTo(old)
		if err := plain.Update(0, dense, g.ToStorage(nd.Dense)); err != nil {
			t.Fatal(err)
		}
		got, err := w.Float64s()
		if err != nil {
			t.Fatal(err)
		}
		want, err := dense.Float64s()
		if err != nil {
			t.Fatal(err)
		}
		for i := range got {
			if math.Abs(got[i]-want[i]) > 1e-5*(1+math.Abs(want[i])) {
				t.Errorf("%s, seed %d: %v, want %v", o.Name(), seed, got, want)
				break
			}
		}
	}
}
