package symbol_test

import (
	"os"
	"strings"
	"testing"

	nd "gomx/ndarray"
	sym "gomx/symbol"
)

// TestLegacyOperatorsKeepTheirNames reads a file that MXNet 1.9.1 wrote with the operators
// Convolution_v1 and BatchNorm_v1, and writes it back byte for byte.
func TestLegacyOperatorsKeepTheirNames(t *testing.T) {
	text, err := os.ReadFile("testdata/legacy_v1-symbol.json")
	if err != nil {
		t.Fatal(err)
	}
	s, err := sym.Load(text)
	if err != nil {
		t.Fatal(err)
	}
	again, err := s.JSON()
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.TrimSpace(string(text)); strings.TrimSpace(string(again)) != want {
		t.Errorf("written back:\n%s\nwant\n%s", again, want)
	}
	ex, err := s.SimpleBind(sym.BindConfig{Shapes: map[string]nd.Shape{"data": {1, 1, 5, 5}}})
	if err != nil {
		t.Fatal(err)
	}
	defer ex.Close()
	if err := ex.Forward(false); err != nil {
		t.Fatal(err)
	}
	if got := ex.Outputs()[0].Shape(); !got.Equal(nd.Shape{1, 2, 3, 3}) {
		t.Errorf("output of shape %v, want (1, 2, 3, 3)", got)
	}
}
