package metric_test

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gomx/metric"
	nd "gomx/ndarray"
)

func list(a ...*nd.Array) []*nd.Array { return a }

// value updates m once and returns its first value.
func value(t *testing.T, m metric.Metric, label, pred *nd.Array) float64 {
	t.Helper()
	if err := m.Update(list(label), list(pred)); err != nil {
		t.Fatal(err)
	}
	_, v := m.Value()
	return v[0]
}

func TestValues(t *testing.T) {
	pred := nd.FromSlice([]float32{.1, .9, .8, .2, .3, .7}, 3, 2)
	label := nd.FromSlice([]float32{1, 1, 1})
	ints := nd.FromSlice([]int32{1, 1, 1})
	for _, c := range []struct {
		name        string
		m           metric.Metric
		label, pred *nd.Array
		want        float64
	}{
		{"accuracy", metric.Accuracy(), label, pred, 2. / 3},
		{"accuracy of int labels", metric.Accuracy(), ints, pred, 2. / 3},
		{"accuracy of classes", metric.Accuracy(), label, nd.FromSlice([]float32{1, 0, 0}), 1. / 3},
		{"accuracy on the last axis", metric.Accuracy(metric.Axis(-1)), label, pred, 2. / 3},
		{"top 2", metric.TopKAccuracy(2), label, pred, 1},
		{"top 1 on ties", metric.TopKAccuracy(1), nd.FromSlice([]float32{0, 1}),
			nd.FromSlice([]float32{.5, .5, .5, .5}, 2, 2), .5},
		{"cross entropy", metric.CrossEntropy(), label, pred, -(math.Log(.9) + math.Log(.2) +
			math.Log(.7)) / 3},
		{"perplexity", metric.Perplexity(), label, pred,
			math.Exp(-(math.Log(.9) + math.Log(.2) + math.Log(.7)) / 3)},
		{"mae broadcast", metric.MAE(), nd.FromSlice([]float32{1, 2}),
			nd.FromSlice([]float32{0, 1, 2, 4}, 2, 2), 0.75},
		{"rmse", metric.RMSE(), nd.FromSlice([]float32{3, 0}), nd.FromSlice([]float32{0, 4}),
			math.Sqrt(12.5)},
		{"custom", metric.Custom("sum", func(l, p []float32) (float64, int) {
			return float64(l[0] + p[0]), 1
		}),
			nd.FromSlice([]float32{1}), nd.FromSlice([]float32{2}), 3},
	} {
		if got := value(t, c.m, c.label, c.pred); math.Abs(got-c.want) > 1e-6 {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestWindow checks that the window can be reset on its own.
func TestWindow(t *testing.T) {
	right, wrong := nd.FromSlice([]float32{0, 1}, 1, 2), nd.FromSlice([]float32{1, 0}, 1, 2)
	label := nd.FromSlice([]float32{1})
	for _, m := range []metric.Metric{metric.Accuracy(), metric.F1(), metric.F1(metric.Micro()),
		metric.Composite(metric.Accuracy())} {
		value(t, m, label, right)
		m.(metric.Windowed).ResetWindow()
		if got := value(t, m, label, wrong); got == 0 || got == 1 {
			t.Errorf("%T: value %v, want one in between", m, got)
		}
		if _, v := metric.Window(m); v[0] != 0 {
			t.Errorf("%T: window %v, want 0", m, v[0])
		}
		m.Reset()
		if names, v := m.Value(); len(names) != 1 || !math.IsNaN(v[0]) {
			t.Errorf("%T: after Reset %v, want NaN", m, v[0])
		}
	}
}

func TestConfusionMatrix(t *testing.T) {
	m := metric.ConfusionMatrix()
	pred := nd.FromSlice([]float32{0, 2, 2, 1})
	value(t, m, nd.FromSlice([]float32{0, 1, 2, 1}), pred)
	want := [][]int{{1, 0, 0}, {0, 1, 1}, {0, 0, 1}}
	if got := m.Matrix(); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestErrors(t *testing.T) {
	one, two := nd.FromSlice([]float32{1}), nd.FromSlice([]float32{1, 2})
	matrix := nd.FromSlice([]float32{1, 2, 3, 4}, 2, 2)
	for _, c := range []struct {
		name string
		m    metric.Metric
		l, p []*nd.Array
		want string
	}{
		{"count", metric.Accuracy(), list(one), nil, "1 labels and 0 predictions"},
		{"samples", metric.Accuracy(), list(one), list(matrix), "want 2 labels"},
		{"axis", metric.Accuracy(metric.Axis(3)), list(one), list(matrix), "no axis 3"},
		{"class", metric.CrossEntropy(), list(two), list(matrix), "want a class from 0 to 1"},
		{"two classes", metric.F1(), list(nd.FromSlice([]float32{0, 1, 2})),
			list(nd.FromSlice(make([]float32, 6), 3, 2)), "want two classes"},
		{"shapes", metric.PearsonCorrelation(), list(one), list(two), "want equal shapes"},
		{"regression", metric.MSE(), list(one), list(two), "want equal shapes"},
		{"class number", metric.ConfusionMatrix(), list(nd.FromSlice([]float32{1e9})), list(one),
			"want 0 to"},
	} {
		if err := c.m.Update(c.l, c.p); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func TestNew(t *testing.T) {
	for _, name := range metric.Names() {
		kwargs := map[string]any{"name": "x"}
		if strings.HasPrefix(name, "top") {
			kwargs["top_k"] = 3
		}
		m, err := metric.New(name, kwargs)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if names, _ := m.Value(); names[0] != "x" && names[0] != "x_3" {
			t.Errorf("%s: name %q, want x", name, names[0])
		}
	}
	for _, c := range []struct {
		name   string
		kwargs map[string]any
		want   string
	}{
		{"nothing", nil, "unknown name"},
		{"acc", map[string]any{"axs": 1}, `unknown argument "axs"`},
		{"acc", map[string]any{"axis": "x"}, "want a number"},
		{"f1", map[string]any{"average": "x"}, "want macro or micro"},
		{"top_k_acc", nil, "at least 2"},
	} {
		if _, err := metric.New(c.name, c.kwargs); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %v: %v, want %q", c.name, c.kwargs, err, c.want)
		}
	}
	if !slices.IsSorted(metric.Names()) {
		t.Error("names are not sorted")
	}
}

// BenchmarkAccuracy measures a batch of 64 samples of 10 classes.
func BenchmarkAccuracy(b *testing.B) {
	labels := list(nd.FromSlice(make([]float32, 64)))
	preds := list(nd.FromSlice(make([]float32, 640), 64, 10))
	m := metric.Accuracy()
	b.ReportAllocs()
	for b.Loop() {
		if err := m.Update(labels, preds); err != nil {
			b.Fatal(err)
		}
	}
}
