package metric_test

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"gomx/metric"
	nd "gomx/ndarray"
)

// stateful are metrics of every kind, by name. Each call makes a new one.
var stateful = map[string]func() metric.Metric{
	"accuracy":   func() metric.Metric { return metric.Accuracy() },
	"perplexity": func() metric.Metric { return metric.Perplexity() },
	"rmse":       func() metric.Metric { return metric.RMSE() },
	"f1":         func() metric.Metric { return metric.F1() },
	"f1 micro":   func() metric.Metric { return metric.F1(metric.Micro()) },
	"pcc":        func() metric.Metric { return metric.PCC() },
	"pearson":    func() metric.Metric { return metric.PearsonCorrelation(metric.Micro()) },
	"composite": func() metric.Metric {
		return metric.Composite(metric.Accuracy(), metric.MCC(), metric.PCC())
	},
}

// feedMetric gives a metric batch number i.
func feedMetric(t *testing.T, name string, m metric.Metric, i int) {
	t.Helper()
	label := nd.FromSlice([]float32{float32(i % 2), 1, 0})
	pred := nd.FromSlice([]float32{0.3, 0.7, 0.1 * float32(i%9), 0.9, 0.6, 0.4}, 3, 2)
	if name == "rmse" || name == "pearson" {
		pred = nd.FromSlice([]float32{0.3 * float32(i), 0.7, 0.1})
	}
	if err := m.Update([]*nd.Array{label}, []*nd.Array{pred}); err != nil {
		t.Fatal(err)
	}
}

// measured is all that a metric says.
func measured(m metric.Metric) string {
	names, values := m.Value()
	wn, wv := metric.Window(m)
	text := fmt.Sprint(names, wn)
	for _, v := range append(values, wv...) {
		text += fmt.Sprintf(" %#x", math.Float64bits(v))
	}
	return text
}

// TestState lets a metric go on in another one, with a window of its own.
func TestState(t *testing.T) {
	for name, open := range stateful {
		t.Run(name, func(t *testing.T) {
			first, second := open(), open()
			for i := range 5 {
				feedMetric(t, name, first, i)
				if w, ok := first.(metric.Windowed); ok && i == 2 {
					w.ResetWindow()
				}
			}
			feedMetric(t, name, second, 7)
			state, err := first.(metric.Stateful).State()
			if err != nil {
				t.Fatal(err)
			}
			if err := second.(metric.Stateful).SetState(state); err != nil {
				t.Fatal(err)
			}
			for i := 5; i < 8; i++ {
				feedMetric(t, name, first, i)
				feedMetric(t, name, second, i)
			}
			if got, want := measured(second), measured(first); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			if err := second.(metric.Stateful).SetState(state[:len(state)-1]); err == nil {
				t.Error("a state that lacks a byte is taken")
			}
		})
	}
}

// FuzzState looks for states that a metric does not survive.
func FuzzState(f *testing.F) {
	for _, open := range stateful {
		state, err := open().(metric.Stateful).State()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(state)
	}
	f.Add([]byte{255, 255, 255, 255, 255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, state []byte) {
		for name, open := range stateful {
			m := open()
			if err := m.(metric.Stateful).SetState(state); err != nil {
				continue
			}
			again, err := m.(metric.Stateful).State()
			if err != nil || !bytes.Equal(again, state) {
				t.Fatalf("%s: state %x comes back as %x, %v", name, state, again, err)
			}
			m.Value()
		}
	})
}
