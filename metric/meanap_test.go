package metric_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"gomx/metric"
	nd "gomx/ndarray"
)

// boxes makes an array of shape (1, rows, columns).
func boxes(columns int, rows ...float32) *nd.Array {
	return nd.FromSlice(rows, 1, len(rows)/columns, columns)
}

// measureOne updates a metric with one batch and returns its last value.
func measureOne(t *testing.T, m metric.Metric, labels, preds *nd.Array) float64 {
	t.Helper()
	if err := m.Update([]*nd.Array{labels}, []*nd.Array{preds}); err != nil {
		t.Fatal(err)
	}
	_, values := m.Value()
	return values[len(values)-1]
}

func TestMeanAP(t *testing.T) {
	one := boxes(5, 0, 0, 0, 0.5, 0.5)
	two := boxes(5, 0, 0, 0, 0.5, 0.5, 0, 0.5, 0.5, 1, 1, -1, 0, 0, 0, 0)
	hit := []float32{0, 0.9, 0, 0, 0.5, 0.5}
	miss := []float32{0, 0.95, 0.6, 0, 0.9, 0.3}
	other := []float32{1, 0.8, 0, 0, 0.5, 0.5}
	none := []float32{-1, 0.99, 0, 0, 0.5, 0.5}
	join := func(list ...[]float32) *nd.Array {
		var all []float32
		for _, r := range list {
			all = append(all, r...)
		}
		return boxes(6, all...)
	}
	hard := boxes(6, 0, 0, 0, 0.5, 0.5, 1, 0, 0.5, 0.5, 1, 1, 0)
	for name, c := range map[string]struct {
		labels, preds *nd.Array
		voc, area     float64
	}{
		"found":                   {one, join(hit, none), 1, 1},
		"found twice":             {one, join(hit, hit), 1, 1},
		"nothing found":           {one, join(none), 0, 0},
		"half of two":             {two, join(hit), 6.0 / 11, 0.5},
		"a better score is wrong": {one, join(hit, miss), 0.5, 0.5},
		"another class":           {one, join(hit, other), 0.5, 0.5},
		"a difficult object":      {hard, join(hit, miss), 0, 0},
		"the easy object":         {hard, join(hit, []float32{0, 0.5, 0.5, 0.5, 1, 1}), 1, 1},
	} {
		if v := measureOne(t, metric.VOC07(metric.BoxConfig{}), c.labels,
			c.preds); math.Abs(v-c.voc) > 1e-12 {
			t.Errorf("%s: VOC07 is %v, want %v", name, v, c.voc)
		}
		if v := measureOne(t, metric.AreaAP(metric.BoxConfig{}), c.labels,
			c.preds); math.Abs(v-c.area) > 1e-12 {
			t.Errorf("%s: AreaAP is %v, want %v", name, v, c.area)
		}
	}
	m := metric.VOC07(metric.BoxConfig{Classes: []string{"a", "b", "c"}, Overlap: 0.1,
		Difficult: true})
	measureOne(t, m, hard, join(hit, other))
	names, values := m.Value()
	if len(names) != 4 || names[3] != "mAP" || math.Abs(values[0]-6.0/11) > 1e-12 ||
		values[1] != 0 ||
		!math.IsNaN(values[2]) {
		t.Errorf("named classes: %v %v", names, values)
	}
}

// TestMeanAPByThresholds compares random detections with precisions and recalls counted anew for
// every threshold, and a metric that is continued from its state.
func TestMeanAPByThresholds(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 1))
	for range 50 {
		m, again := metric.VOC07(metric.BoxConfig{}), metric.VOC07(metric.BoxConfig{})
		type detection struct {
			score float32
			right bool
		}
		var all []detection
		objects := 0
		for picture := range 4 {
			var labels, preds []float32
			for i := range 4 { // each object in its own quarter
				x, y := float32(i%2)/2, float32(i/2)/2
				if rng.IntN(4) > 0 {
					labels = append(labels, 0, x, y, x+0.4, y+0.4)
					objects++
					score := rng.Float32()
					all = append(all, detection{score, true})
					preds = append(preds, 0, score, x, y, x+0.38, y+0.4)
				} else {
					score := rng.Float32()
					all = append(all, detection{score, false})
					preds = append(preds, 0, score, x, y, x+0.4, y+0.4)
				}
			}
			if labels == nil {
				labels = []float32{-1, 0, 0, 0, 0}
			}
			l, p := boxes(5, labels...), boxes(6, preds...)
			measureOne(t, m, l, p)
			if picture == 2 {
				state, err := m.State()
				if err != nil {
					t.Fatal(err)
				}
				if err := again.SetState(state); err != nil {
					t.Fatal(err)
				}
			} else if picture == 3 {
				measureOne(t, again, l, p)
			}
		}
		want := 0.0
		for k := range 11 {
			best := 0.0
			for _, at := range all {
				right, found := 0.0, 0.0
				for _, d := range all {
					if d.score >= at.score {
						found++
						if d.right {
							right++
						}
					}
				}
				if objects > 0 && right/float64(objects) >= float64(k)/10 {
					best = max(best, right/found)
				}
			}
			want += best / 11
		}
		if objects == 0 {
			want = 0
		}
		for _, m := range []*metric.MeanAP{m, again} {
			if _, v := m.Value(); math.Abs(v[0]-want) > 1e-9 {
				t.Fatalf("seed %d: mean average precision %v, want %v", seed, v[0], want)
			}
		}
	}
}

func TestMeanAPRefuses(t *testing.T) {
	m := metric.VOC07(metric.BoxConfig{})
	for name, c := range map[string][2]*nd.Array{
		"short label":      {nd.Zeros(nd.Shape{1, 2, 4}), nd.Zeros(nd.Shape{1, 2, 6})},
		"flat prediction":  {nd.Zeros(nd.Shape{1, 2, 5}), nd.Zeros(nd.Shape{2, 6})},
		"other batch size": {nd.Zeros(nd.Shape{2, 2, 5}), nd.Zeros(nd.Shape{1, 2, 6})},
	} {
		if m.Update([]*nd.Array{c[0]}, []*nd.Array{c[1]}) == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if m.Update(nil, nil) == nil {
		t.Error("no arrays: no error")
	}
	for _, state := range []string{"", "[]", `[{"0":null},{}]`, `[{"0":{"Scores":[1]}},{}]`} {
		if m.SetState([]byte(state)) == nil {
			t.Errorf("state %q: no error", state)
		}
	}
}
