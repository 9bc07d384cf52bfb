package oracle

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"gomx/dtype"
	"gomx/op/loop"
)

// Difference says how two answers differ.
type Difference struct {
	Kind string // "" for none, or one of the constants below
	Text string
}

// The kinds of differences.
const (
	Values  = "values"  // both compute, and not the same
	Refused = "refused" // MXNet computes, this framework refuses
	Taken   = "taken"   // this framework computes, MXNet refuses
)

// Compare compares the answer of this framework with MXNet's. Answers of a crash agree with all.
func (c *Call) Compare(got, want Answer) Difference {
	switch {
	case want.Crash != "" || got.Error != "" && want.Error != "":
		return Difference{}
	case got.Error != "":
		return Difference{Refused, got.Error}
	case want.Error != "":
		return Difference{Taken, want.Error}
	}
	if c.Op.Random {
		return c.compareList("output", blank(got.Outputs), blank(want.Outputs))
	}
	if d := c.compareList("output", got.Outputs, want.Outputs); d.Kind != "" {
		return d
	}
	if d := c.compareList("input", got.After, want.After); d.Kind != "" {
		return d
	}
	if d := c.compareMap("gradient of", got.Grads, want.Grads); d.Kind != "" {
		return d
	}
	return c.compareMap("state", got.AuxAfter, want.AuxAfter)
}

// blank keeps types and shapes, for operators whose values are random.
func blank(list []Operand) []Operand {
	out := make([]Operand, len(list))
	for i, x := range list {
		out[i] = newOperand(x.DType, x.Shape)
	}
	return out
}

func (c *Call) compareList(what string, got, want []Operand) Difference {
	if len(got) != len(want) {
		return Difference{Values, fmt.Sprintf("got %d of %s, want %d", len(got), what, len(want))}
	}
	for i := range want {
		if text := c.compareOne(got[i], want[i]); text != "" {
			return Difference{Values, fmt.Sprintf("%s %d: %s", what, i, text)}
		}
	}
	return Difference{}
}

func (c *Call) compareMap(what string, got, want map[string]Operand) Difference {
	for _, name := range slices.Sorted(maps.Keys(want)) {
		g, ok := got[name]
		if !ok {
			return Difference{Values, fmt.Sprintf("%s %s: none, want one", what, name)}
		}
		if text := c.compareOne(g, want[name]); text != "" {
			return Difference{Values, fmt.Sprintf("%s %s: %s", what, name, text)}
		}
	}
	return Difference{}
}

// compareOne compares within the rounding of the narrowest type of the call, relative to the
// largest element of the array: sums are taken in another order.
func (c *Call) compareOne(got, want Operand) string {
	if got.DType != want.DType || !got.Shape.Equal(want.Shape) {
		return fmt.Sprintf("got %v %v, want %v %v", got.DType, got.Shape, want.DType, want.Shape)
	}
	if got.Storage != want.Storage {
		return fmt.Sprintf("got %v, want %v", got.Storage, want.Storage)
	}
	if !slices.Equal(got.Indices, want.Indices) || !slices.Equal(got.Starts, want.Starts) {
		return fmt.Sprintf("got values stored at %v %v, want at %v %v", got.Indices, got.Starts,
			want.Indices, want.Starts)
	}
	g, w := loop.Floats(got.tensor()), loop.Floats(want.tensor())
	if len(g) == 0 {
		return ""
	}
	rel := 0.0
	if isFloat(want.DType) {
		rel = map[dtype.Type]float64{dtype.Float64: 1e-7, dtype.Float32: 2e-4,
			dtype.Float16: 2e-2}[want.DType]
		for _, x := range slices.Concat(c.In, c.Out, c.Heads) {
			switch x.DType {
			case dtype.Float16:
				rel = 2e-2
			case dtype.Float32:
				rel = max(rel, 2e-4)
			}
		}
	}
	largest := 0.0
	for _, v := range w {
		if a := math.Abs(v); !math.IsInf(a, 0) && a > largest {
			largest = a
		}
	}
	for i := range w {
		if !near(g[i], w[i], rel, largest) {
			return fmt.Sprintf("element %d: got %v, want %v (all: got %.5v, want %.5v)", i, g[i],
				w[i], g[:min(len(g), 8)], w[:min(len(w), 8)])
		}
	}
	return ""
}

func near(g, w, rel, largest float64) bool {
	if math.IsNaN(w) || math.IsInf(w, 0) || math.IsNaN(g) {
		return math.IsNaN(g) && math.IsNaN(w) || g == w
	}
	return math.Abs(g-w) <= rel*(math.Abs(w)+0.05*min(largest, 1e6)+1e-2)
}
