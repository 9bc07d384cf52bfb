package gluon_test

import (
	"path/filepath"
	"strings"
	"testing"

	"gomx/checkpoint"
	"gomx/device"
	"gomx/gluon"
	"gomx/gluon/nn"
	"gomx/internal/nettest"
	nd "gomx/ndarray"
)

func TestSplitAndLoad(t *testing.T) {
	cpu := []device.Device{device.CPU(), device.CPU(), device.CPU()}
	x := nd.Arange(0, 14, 1).Reshape(7, 2)
	parts, err := gluon.SplitAndLoad(x, cpu, 0, true)
	if err != nil || len(parts) != 3 || parts[0].Shape()[0] != 3 || parts[2].Shape()[0] != 2 {
		t.Fatalf("%v, %v", parts, err)
	}
	if v := nettest.Values(t, parts[1]); v[0] != 6 {
		t.Errorf("the second part begins with %v, want 6", v[0])
	}
	for want, f := range map[string]func() ([]*nd.Array, error){
		"equal parts":  func() ([]*nd.Array, error) { return gluon.SplitAndLoad(x, cpu, 0, false) },
		"no device":    func() ([]*nd.Array, error) { return gluon.SplitAndLoad(x, nil, 0, true) },
		"axis 2":       func() ([]*nd.Array, error) { return gluon.SplitAndLoad(x, cpu, 2, true) },
		"for 3 device": func() ([]*nd.Array, error) { return gluon.SplitAndLoad(x, cpu, 1, true) },
	} {
		if _, err := f(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestLoadByOrder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.params")
	list := []checkpoint.Named{{Name: "kernel", Array: nd.Ones(nd.Shape{2, 3})},
		{Name: "offset", Array: nd.Zeros(nd.Shape{2})}}
	if err := checkpoint.SaveArrays(path, list); err != nil {
		t.Fatal(err)
	}
	net := gluon.New(&nn.Dense{Units: 2})
	if err := net.Load(path); err == nil || !strings.Contains(err.Error(), `"weight"`) {
		t.Errorf("other names: %v", err)
	}
	if err := net.Load(path, gluon.ByOrder()); err != nil {
		t.Error(err)
	}
	if v := nettest.Values(t, net.Forward(nd.Ones(nd.Shape{1, 3}))); v[0] != 3 {
		t.Errorf("got %v, want 3", v)
	}
	two := gluon.New(nn.Sequential{&nn.Dense{Units: 2}, &nn.Dense{Units: 2}})
	if err := two.Load(path, gluon.ByOrder()); err == nil ||
		!strings.Contains(err.Error(), "2 arrays for 4 parameters") {
		t.Errorf("too few arrays: %v", err)
	}
}
