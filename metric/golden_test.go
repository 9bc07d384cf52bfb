package metric_test

import (
	"math"
	"testing"

	"gomx/internal/conformance"
	"gomx/metric"
	nd "gomx/ndarray"
)

// TestGolden compares the value after each batch with MXNet's.
func TestGolden(t *testing.T) {
	g, err := conformance.Open("../../shared/golden/optim")
	if err != nil {
		t.Skip("no golden data")
	}
	defer g.Close()
	var index struct {
		Cases []struct {
			ID, Class, Name, File string
			Kwargs                map[string]any
			Batches               []struct {
				Label, Pred conformance.Ref
				Value       float64 `json:"value_after"`
			}
		}
	}
	if err := g.Part("metrics.json", &index); err != nil {
		t.Fatal(err)
	}
	for _, c := range index.Cases {
		t.Run(c.ID, func(t *testing.T) {
			m, err := metric.New(c.Class, c.Kwargs)
			if err != nil {
				t.Fatal(err)
			}
			for i, b := range c.Batches {
				arrays, err := g.Arrays(c.File, []conformance.Ref{b.Label, b.Pred})
				if err != nil {
					t.Fatal(err)
				}
				label, pred := arrays[0], arrays[1]
				err = m.Update(
					[]*nd.Array{nd.FromSlice(conformance.Elements[float32](label), label.Shape...)},
					[]*nd.Array{nd.FromSlice(conformance.Elements[float32](pred), pred.Shape...)})
				if err != nil {
					t.Fatal(err)
				}
				names, values := m.Value()
				if names[0] != c.Name {
					t.Errorf("name %q, want %q", names[0], c.Name)
				}
				if d := math.Abs(values[0] - b.Value); d > 2e-7*math.Max(1, math.Abs(b.Value)) ||
					math.IsNaN(d) {
					t.Errorf("batch %d: value %v, want %v", i, values[0], b.Value)
				}
			}
		})
	}
}
