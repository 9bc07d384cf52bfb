package narrow

import (
	"os"
	"strings"
	"testing"

	"gomx/device"
)

// TestChoose goes through the sources of a choice.
func TestChoose(t *testing.T) {
	probes := 0
	const amx = "Unknown CPU (family 1, model 2), amx"
	unknown := host{amx, "amx", func() map[device.Product]float64 {
		probes++
		return map[device.Product]float64{device.DenseProducts: 3, device.Depthwise: 0.9,
			device.Convolutions: 1.01}
	}}
	zen4 := host{"AMD EPYC 9R14 (family 25, model 17), avx512_bf16", "avx512_bf16", unknown.probe}
	dense := device.ProductsOf(device.DenseProducts)
	folder := t.TempDir() + "/of/gomx"
	for _, c := range []struct {
		name, source, folder string
		host                 host
		want                 device.Products
		probes               int
	}{
		{"no instructions", "no instructions", folder,
			host{model: "AMD EPYC (family 25, model 17)"}, 0, 0},
		{"model in the table", "table", folder, zen4, device.ProductsOf(device.Convolutions,
			device.Depthwise, device.DenseProducts, device.BatchProducts), 0},
		{"unknown model without a folder", "probe", "", unknown, dense, 1},
		{"unknown model", "probe", folder, unknown, dense, 1},
		{"model in the file", "file ", folder, unknown, dense, 0},
		{"another model", "probe", folder,
			host{"Other (family 1, model 2), amx", "amx", unknown.probe}, dense, 1},
		{"first model, still in the file", "file ", folder, unknown, dense, 0},
		{"folder that cannot be made", "could not be kept", "/dev/null/gomx", unknown, dense, 1},
	} {
		before := probes
		got := choose(c.host, c.folder)
		if got.Products != c.want || !strings.Contains(got.Source, c.source) ||
			probes-before != c.probes || got.Processor != c.host.model {
			t.Errorf("%s: %v with %d probes, want %v from %s with %d", c.name, got, probes-before,
				c.want, c.source, c.probes)
		}
	}
	if err := os.WriteFile(fileIn(folder), []byte(`[{"processor":"x","speed":{"dense":-1}}]`),
		0o600); err != nil {
		t.Fatal(err)
	}
	if got := choose(unknown, folder); got.Source != "probe" {
		t.Errorf("a file with a mistake: %v, want a new measurement", got)
	}
	if got := choose(unknown, folder); !strings.HasPrefix(got.Source, "file ") {
		t.Errorf("a file that replaces one with a mistake: %v", got)
	}
}

// TestUse sets the choice of the process.
func TestUse(t *testing.T) {
	before := Chosen()
	defer func() { Use(before.Products, before.Source) }()
	Use(device.ProductsOf(device.Convolutions), "test")
	if got := Chosen(); got.Products != device.ProductsOf(device.Convolutions) ||
		!strings.Contains(got.String(), "convolution (test, ") {
		t.Errorf("got %v", got)
	}
	if instructions() == "" && before.Products != 0 {
		t.Errorf("%v without instructions", before)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`[{"processor":"x","speed":{"dense":2}}]`))
	f.Add([]byte(`[{"speed":{"all":2}}]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := parse(text)
		if err != nil {
			return
		}
		for _, r := range list {
			speed, err := r.speeds()
			for p, v := range speed {
				if err != nil || !device.AllProducts.Has(p) || !(v > 0) {
					t.Errorf("speed %v of %v, %v", v, p, err)
				}
			}
		}
	})
}
