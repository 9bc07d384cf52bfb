package bench

import (
	"strings"
	"testing"

	"gomx/device"
)

// TestDeviceOfSuites wants an error for a suite that cannot be measured on a device.
func TestDeviceOfSuites(t *testing.T) {
	for _, tt := range []struct {
		c    Config
		want string
	}{
		{Config{Suite: "convnets"}, ""},
		{Config{Suite: "convnets", Precision: "int8"}, "int8"},
		{Config{Suite: "convnets", Precision: "bfloat16"}, "processor"},
		{Config{Suite: "engine", Device: device.Null(0)}, "want suite convnets"},
		{Config{Suite: "convnets", Device: device.Null(1 << 20)}, "null(1048576)"},
	} {
		err := tt.c.checkDevice()
		if (err == nil) != (tt.want == "") || err != nil &&
			!strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v, want %q", tt.c, err, tt.want)
		}
	}
}

// TestTorchMeasuresTheSameNetworks looks for the networks of the suite in the peer's script.
func TestTorchMeasuresTheSameNetworks(t *testing.T) {
	script, err := scripts.ReadFile("peers/gpunets.py")
	if err != nil {
		t.Fatal(err)
	}
	s := onGPU(&Config{Precision: "bfloat16"})
	list, err := s.Workloads()
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range list {
		name, rest, _ := strings.Cut(strings.TrimPrefix(w.Name, "convnets."), ".")
		mode, rest, _ := strings.Cut(rest, ".bs")
		batch, rest, _ := strings.Cut(rest, ".")
		side, _, _ := strings.Cut(rest, ".")
		train := map[string]string{"train": "True", "infer": "False"}[mode]
		if want := `bench("` + name + `", ` + batch + ", " + train + ", " + side +
			", precision)"; !strings.Contains(string(script), want) {
			t.Errorf("%s: peers/gpunets.py has no line %s", w.Name, want)
		}
	}
}
