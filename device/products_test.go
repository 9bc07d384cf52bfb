package device_test

import (
	"strings"
	"testing"

	"gomx/device"
)

func TestProducts(t *testing.T) {
	for s := device.Products(0); s <= device.AllProducts; s++ {
		got, err := device.ParseProducts(s.String())
		if err != nil || got != s {
			t.Errorf("%q is read as %v, %v", s, got, err)
		}
		if got := device.ProductsOf(s.List()...); got != s {
			t.Errorf("the classes of %v make %v", s, got)
		}
	}
	for _, text := range []string{"", "dense,", "Dense", "dense,none", "dense convolution"} {
		_, err := device.ParseProducts(text)
		if err == nil || !strings.Contains(err.Error(), "few-rows") {
			t.Errorf("%q: %v, want an error that lists the classes", text, err)
		}
	}
}
