package quantize_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"gomx/dtype"
	"gomx/quantize"
	sym "gomx/symbol"
)

// TestLayersAreOneOperator looks at the passes: every layer, with its sums and rectifiers, is one
// operator, and only arrays at the borders are quantized and dequantized by operators of their own.
func TestLayersAreOneOperator(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 8))
	shape := dtype.Shape{2, 3, 12, 12}
	m := model(t, network(), rng, shape)
	r, err := quantize.Calibrate(context.Background(), m, iterator(t, samples(rng, shape), 2),
		quantize.Config{Mode: quantize.Naive})
	if err != nil {
		t.Fatal(err)
	}
	x, err := sym.Explain(r.Model.Symbol, sym.BindConfig{Shapes: map[string]dtype.Shape{
		"data": shape}}, false)
	if err != nil {
		t.Fatal(err)
	}
	changes := 0
	for _, p := range x.Passes {
		if p.Pass == "fuse-quantized" {
			changes = len(p.Changes)
		}
	}
	// Each of the 13 layers begins one operator; rectifiers, sums and quantizations join it.
	if changes < 31 {
		t.Errorf("%d changes, want at least 31", changes)
	}
	// Beside the layers: quantization with padding and shift of the data of two layers, a pooling, a
	// join, the operators between them and the loss; and changes of layout, which the library
	// decides about.
	if n := x.Operators - x.Reorders; n > 13+2+6 {
		t.Errorf("%d operators run, want at most %d:\n%s", n, 13+2+6, x)
	}
}
