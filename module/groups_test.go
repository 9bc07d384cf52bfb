package module_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"gomx/checkpoint"
	"gomx/device"
	"gomx/initializer"
	"gomx/module"
	nd "gomx/ndarray"
	sym "gomx/symbol"
)

// twoGroups is a network whose first half is in one group and whose second is in another, with
// states and dropout.
func twoGroups() *sym.Symbol {
	first, second := sym.NewScope("", sym.CtxGroup("first")),
		sym.NewScope("", sym.CtxGroup("second"))
	x := sym.FullyConnected(sym.Var("data"), sym.FullyConnectedParams{NumHidden: 8},
		first.Name("fc1"))
	x = sym.BatchNorm(x, sym.BatchNormParams{}, first.Name("bn")).At(0)
	x = sym.Activation(x, sym.ActivationParams{ActType: "tanh"}, first.Name("tanh"))
	x = sym.Dropout(x, sym.DropoutParams{P: sym.Some(0.3)}, second.Name("drop"))
	x = sym.FullyConnected(x, sym.FullyConnectedParams{NumHidden: 3}, second.Name("fc2"))
	return sym.SoftmaxOutput(x, sym.SoftmaxOutputParams{}, second.Name("softmax"))
}

// TestFitOnTwoDevices: model parallelism gives the checkpoints of one device byte for byte, states
// of the optimizer included, whether the module or a store updates the parameters.
func TestFitOnTwoDevices(t *testing.T) {
	devices := map[string]device.Device{"first": device.CPU(), "second": {ID: 1}}
	fit := func(m *module.Module, opts ...module.FitOption) map[string][]byte {
		t.Helper()
		dir := t.TempDir()
		all := slices.Concat([]module.FitOption{module.Epochs(3), module.Init(initializer.Xavier{}),
			module.Optimize(storeOptimizer),
			module.Validate(storeData(t, 21)), module.Checkpoint(filepath.Join(dir, "net"),
				module.WithStates())}, opts)
		if err := m.Fit(t.Context(), storeData(t, 53), all...); err != nil {
			t.Fatal(err)
		}
		files := map[string][]byte{}
		for epoch := 1; epoch <= 3; epoch++ {
			for _, path := range []string{checkpoint.ParamsPath("net", epoch),
				checkpoint.StatesPath("net", epoch)} {
				data, err := os.ReadFile(filepath.Join(dir, path))
				if err != nil {
					t.Fatal(err)
				}
				files[path] = data
			}
		}
		return files
	}
	one := module.New(twoGroups(), module.Seed(5))
	want := fit(one)
	for _, store := range []string{"", "device"} {
		two := module.New(twoGroups(), module.Seed(5), module.Group2Ctx(devices))
		got := fit(two, module.Store(store))
		for path, w := range want {
			if !bytes.Equal(got[path], w) {
				t.Errorf("store %q: %s of two devices differs from that of one", store, path)
			}
		}
		for e, w := range one.History().Epochs {
			g := two.History().Epochs[e]
			if !slices.Equal(g.Train, w.Train) || !slices.Equal(g.Validation, w.Validation) {
				t.Errorf("store %q, epoch %d: scores %v and %v, want %v and %v", store, e, g.Train,
					g.Validation, w.Train, w.Validation)
			}
		}
		args, aux := two.Params()
		for name, a := range map[string]*nd.Array{"fc1_weight": args["fc1_weight"],
			"bn_moving_var": aux["bn_moving_var"]} {
			if a.Device() != devices["first"] {
				t.Errorf("%s is on %v, want %v", name, a.Device(), devices["first"])
			}
		}
		if a := args["fc2_weight"]; a.Device() != devices["second"] {
			t.Errorf("fc2_weight is on %v, want %v", a.Device(), devices["second"])
		}
	}
}
