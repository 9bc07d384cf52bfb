package module_test

import (
	"path/filepath"
	"strings"
	"testing"

	"gomx/device"
	"gomx/dtype"
	dataio "gomx/io"
	"gomx/module"
	"gomx/optimizer"
)

// TestResumeKeepsProducts does not continue a run under another choice of products in bfloat16.
func TestResumeKeepsProducts(t *testing.T) {
	prefix := filepath.Join(t.TempDir(), "run")
	run := func(epochs int, p device.Products) error {
		data, err := dots(60, dataio.Discard)
		if err != nil {
			t.Fatal(err)
		}
		m := module.New(dropping(false), module.Seed(5), module.MixedPrecision(dtype.BFloat16),
			module.NarrowProducts(p))
		return m.Fit(t.Context(), data, module.Epochs(epochs), module.Resume(prefix),
			module.Optimize(optimizer.SGD{LR: 0.1}))
	}
	dense := device.ProductsOf(device.DenseProducts)
	if err := run(1, dense); err != nil {
		t.Fatal(err)
	}
	err := run(2, device.AllProducts)
	if err == nil || !strings.Contains(err.Error(), "products in bfloat16 dense, this one has all") {
		t.Errorf("%v, want an error that names both choices", err)
	}
	if err := run(2, dense); err != nil {
		t.Errorf("the same choice: %v", err)
	}
}
