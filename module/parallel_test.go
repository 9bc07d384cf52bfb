package module_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gomx/device"
	"gomx/dtype"
	"gomx/initializer"
	dataio "gomx/io"
	"gomx/kvstore/compress"
	"gomx/metric"
	"gomx/module"
	nd "gomx/ndarray"
	"gomx/optimizer"
	sym "gomx/symbol"
)

// processors are n devices of the processor.
func processors(n int) []device.Device {
	list := make([]device.Device, n)
	for i := range list {
		list[i] = device.Device{ID: i}
	}
	return list
}

// manySamples is an iterator over n samples in batches of 12, the last of which is filled up.
func manySamples(t *testing.T, n int) *dataio.Table { return samples(t, n, 12, dataio.Pad) }

// oneAfterTheOther does on one device what a module does on several: the parts of every batch are
// computed one after the other, each with the auxiliary states of its device, and their gradients
// added in that order. It leaves the parameters in the module that it returns, and the means of the
// states.
type oneAfterTheOther struct {
	*module.Module
	states  []map[string]*nd.Array // of the devices
	devices int
}

func newOneAfterTheOther(t *testing.T, net *sym.Symbol, on device.Device, devices, batch int,
	o optimizer.Optimizer) *oneAfterTheOther {
	t.Helper()
	m := module.New(net, module.Seed(5), module.On(on))
	for _, err := range []error{
		m.Bind([]dataio.Desc{{Name: "data", Shape: dtype.Shape{batch / devices, 5}}},
			[]dataio.Desc{{Name: "softmax_label", Shape: dtype.Shape{batch / devices}}}),
		m.InitParams(initializer.Xavier{}), m.InitOptimizer(o)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	m.Updater().SetRescale(1 / float64(batch))
	s := &oneAfterTheOther{m, make([]map[string]*nd.Array, devices), devices}
	_, aux := m.Params()
	for k := range s.states {
		s.states[k] = map[string]*nd.Array{}
		for name, a := range aux {
			s.states[k][name] = a.Copy()
		}
	}
	return s
}

// gradients computes a batch and returns the outputs and the sum of the gradients.
func (s *oneAfterTheOther) gradients(t *testing.T, b *dataio.Batch) (outs []float32,
	grads map[string]*nd.Array) {
	t.Helper()
	grads = map[string]*nd.Array{}
	_, aux := s.Params()
	n := b.Data[0].Shape()[0] / s.devices
	for k := range s.devices {
		for name, a := range aux {
			s.states[k][name].CopyInto(a)
		}
		part := &dataio.Batch{Data: []*nd.Array{b.Data[0].Slice(k*n, (k+1)*n)},
			Label: []*nd.Array{b.Label[0].Slice(k*n, (k+1)*n)}}
		if err := s.ForwardBackward(part); err != nil {
			t.Fatal(err)
		}
		for name, a := range aux {
			a.CopyInto(s.states[k][name])
		}
		v, err := s.Outputs()[0].Float32s()
		if err != nil {
			t.Fatal(err)
		}
		outs = append(outs, v...)
		for name, g := range s.Grads() {
			if grads[name] == nil {
				grads[name] = g.Copy()
			} else {
				grads[name] = grads[name].Add(g)
			}
		}
	}
	return outs, grads
}

// update changes the parameters.
func (s *oneAfterTheOther) update(t *testing.T, grads map[string]*nd.Array) {
	t.Helper()
	args, _ := s.Params()
	for i, name := range s.ParamNames() {
		if err := s.Updater().Update(i, args[name], grads[name]); err != nil {
			t.Fatal(err)
		}
	}
}

// settle gives the module the means of the devices' states.
func (s *oneAfterTheOther) settle() {
	_, aux := s.Params()
	for name, a := range aux {
		var list []*nd.Array
		for _, states := range s.states {
			list = append(list, states[name])
		}
		nd.AddN(list).MulScalar(1 / float64(s.devices)).CopyInto(a)
		for _, other := range s.states {
			a.CopyInto(other[name])
		}
	}
}

// compareDevices trains on several devices and on one of them, and compares outputs, parameters,
// auxiliary states and those of the optimizer bit by bit.
func compareDevices(t *testing.T, devices []device.Device, opts ...module.FitOption) {
	t.Helper()
	const epochs = 3
	o := optimizer.Adam{LR: 0.01}
	one := newOneAfterTheOther(t, auxNet(), devices[0], len(devices), 12, o)
	m := module.New(auxNet(), module.Seed(5), module.On(devices...))
	train := manySamples(t, 41)
	var want [][]float32
	for range epochs {
		if err := train.Reset(); err != nil {
			t.Fatal(err)
		}
		for {
			b, err := train.Next(t.Context())
			if err != nil {
				break
			}
			outs, grads := one.gradients(t, b)
			want = append(want, outs)
			one.update(t, grads)
		}
	}
	one.settle()
	batch := 0
	all := slices.Concat([]module.FitOption{module.Epochs(epochs),
		module.Init(initializer.Xavier{}), module.Optimize(o),
		module.OnBatch(func(*module.BatchEnd) error {
			got, err := m.Outputs()[0].Float32s()
			if err == nil && !slices.Equal(got, want[batch]) {
				t.Errorf("batch %d: outputs differ from those of the parts", batch)
			}
			batch++
			return err
		})}, opts)
	if err := m.Fit(t.Context(), manySamples(t, 41), all...); err != nil {
		t.Fatal(err)
	}
	if batch != len(want) {
		t.Errorf("%d batches, want %d", batch, len(want))
	}
	wantArgs, wantAux := one.Params()
	args, aux := m.Params()
	for _, list := range []struct{ got, want map[string][]float32 }{{floats(t, args),
		floats(t, wantArgs)}, {floats(t, aux), floats(t, wantAux)}} {
		for name, w := range list.want {
			if !slices.Equal(list.got[name], w) {
				t.Errorf("%s differs from that of the parts one after the other", name)
			}
		}
	}
	compareFiles(t, m.SaveStates, one.SaveStates)
}

// compareFiles compares what two functions write.
func compareFiles(t *testing.T, got, want func(path string) error) {
	t.Helper()
	var files [2][]byte
	for i, save := range []func(string) error{got, want} {
		path := filepath.Join(t.TempDir(), "file")
		if err := save(path); err != nil {
			t.Fatal(err)
		}
		var err error
		if files[i], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Error("the states of the optimizer differ")
	}
}

// TestFitOverDevices: several devices do bit for bit what one does with the parts of every batch,
// wherever gradients are added up.
func TestFitOverDevices(t *testing.T) {
	for n := 1; n <= 3; n++ {
		compareDevices(t, processors(n))
	}
	compareDevices(t, processors(2), module.Store("device"))
	compareDevices(t, processors(3), module.Store("local"))
	compareDevices(t, []device.Device{{ID: 3}, {ID: 1}})
}

// TestUpdateOverDevices goes step by step, without Fit, with batches that change their size, and
// loads what it has saved.
func TestUpdateOverDevices(t *testing.T) {
	o := optimizer.SGD{LR: 0.1, Momentum: 0.9}
	one := newOneAfterTheOther(t, auxNet(), device.CPU(), 2, 12, o)
	m := module.New(auxNet(), module.Seed(5), module.On(processors(2)...))
	train := manySamples(t, 48)
	for _, err := range []error{m.Bind(train.ProvideData(), train.ProvideLabel()),
		m.InitParams(initializer.Xavier{}), m.InitOptimizer(o)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range 4 {
		b, err := train.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		size := 12 - 4*(i%2)
		b = &dataio.Batch{Data: []*nd.Array{b.Data[0].Slice(0, size)},
			Label: []*nd.Array{b.Label[0].Slice(0, size)}}
		outs, grads := one.gradients(t, b)
		one.update(t, grads)
		if err := m.ForwardBackward(b); err != nil {
			t.Fatal(err)
		}
		if got, want := floats(t, m.Grads()), floats(t, grads); !slices.Equal(got["fc1_weight"],
			want["fc1_weight"]) {
			t.Errorf("batch %d: the gradient of fc1_weight is not the sum over the devices", i)
		}
		if err := m.Update(); err != nil {
			t.Fatal(err)
		}
		if got, err := m.Outputs()[0].Float32s(); err != nil || !slices.Equal(got, outs) {
			t.Errorf("batch %d: outputs differ, %v", i, err)
		}
	}
	one.settle()
	prefix := filepath.Join(t.TempDir(), "net")
	if err := m.Save(prefix, 1); err != nil {
		t.Fatal(err)
	}
	loaded, err := module.Load(prefix, 1, module.On(processors(3)...))
	if err != nil {
		t.Fatal(err)
	}
	compareFiles(t, m.SaveStates, one.SaveStates)
	comparePredictions(t, loaded, one.Module)
}

// TestRebindOverDevices: a module that has been bound for inference is bound again for training,
// with the parameters of all devices.
func TestRebindOverDevices(t *testing.T) {
	first := module.New(auxNet(), module.Seed(5), module.On(processors(2)...))
	fit := func(m *module.Module) {
		t.Helper()
		if err := m.Fit(t.Context(), manySamples(t, 41), module.Init(initializer.Xavier{}),
			module.Optimize(storeOptimizer)); err != nil {
			t.Fatal(err)
		}
	}
	fit(first)
	var got [2]map[string][]float32
	for i := range got {
		m := module.New(auxNet(), module.On(processors(2)...))
		if err := m.SetParams(first.Params()); err != nil {
			t.Fatal(err)
		}
		if i == 1 {
			if _, err := m.Score(t.Context(), samples(t, 24, 8, dataio.Pad),
				metric.Accuracy()); err != nil {
				t.Fatal(err)
			}
		}
		fit(m)
		args, _ := m.Params()
		got[i] = floats(t, args)
	}
	for name, w := range got[0] {
		if !slices.Equal(got[1][name], w) {
			t.Errorf("%s differs where the module was bound for inference first", name)
		}
	}
}

// comparePredictions compares what a module on several devices predicts with one that has one
// device and the same parameters.
func comparePredictions(t *testing.T, m, one *module.Module) {
	t.Helper()
	got, err := m.Predict(t.Context(), manySamples(t, 41))
	if err != nil {
		t.Fatal(err)
	}
	want, err := one.Predict(t.Context(), manySamples(t, 41))
	if err != nil {
		t.Fatal(err)
	}
	g, _ := got[0].Float32s()
	w, _ := want[0].Float32s()
	if len(g) != 3*41 || len(g) != len(w) {
		t.Fatalf("%d predictions, want %d", len(g), len(w))
	}
	for i := range g {
		if d := g[i] - w[i]; d > 1e-5 || d < -1e-5 {
			t.Fatalf("prediction %d is %v, want %v", i, g[i], w[i])
		}
	}
	gs, err := m.Score(t.Context(), manySamples(t, 41), metric.Accuracy())
	if err != nil {
		t.Fatal(err)
	}
	ws, err := one.Score(t.Context(), manySamples(t, 41), metric.Accuracy())
	if err != nil || gs[0].Value != ws[0].Value {
		t.Errorf("accuracy %v, want %v, %v", gs, ws, err)
	}
}

// TestCompressOverDevices: gradients that are made smaller on their way between devices still
// teach.
func TestCompressOverDevices(t *testing.T) {
	m := module.New(storeNet(), module.Seed(5), module.On(processors(2)...))
	plain := module.New(storeNet(), module.Seed(5), module.On(processors(2)...))
	for i, fit := range []func(...module.FitOption) error{
		func(opts ...module.FitOption) error {
			return m.Fit(t.Context(), manySamples(t, 48),
				opts...)
		},
		func(opts ...module.FitOption) error {
			return plain.Fit(t.Context(), manySamples(t, 48),
				opts...)
		}} {
		opts := []module.FitOption{module.Epochs(2), module.Init(initializer.Xavier{}),
			module.Optimize(storeOptimizer)}
		if i == 0 {
			opts = append(opts, module.Compress(compress.Method{Kind: compress.TwoBit,
				Threshold: 0.05}))
		}
		if err := fit(opts...); err != nil {
			t.Fatal(err)
		}
	}
	got, _ := m.Params()
	want, _ := plain.Params()
	if slices.Equal(floats(t, got)["fc1_weight"], floats(t, want)["fc1_weight"]) {
		t.Error("the gradients were not compressed")
	}
}

// TestDevicesDropDifferently: dropout has other random numbers on every device.
func TestDevicesDropDifferently(t *testing.T) {
	net := sym.Dropout(sym.Var("data"), sym.DropoutParams{})
	m := module.New(net, module.Seed(1), module.On(processors(2)...))
	if err := m.Bind([]dataio.Desc{{Name: "data", Shape: dtype.Shape{2, 256}}}, nil); err != nil {
		t.Fatal(err)
	}
	if err := m.InitParams(nil); err != nil {
		t.Fatal(err)
	}
	if err := m.Forward(&dataio.Batch{Data: []*nd.Array{nd.Ones([]int{2, 256})}},
		true); err != nil {
		t.Fatal(err)
	}
	v, err := m.Outputs()[0].Float32s()
	if err != nil || slices.Equal(v[:256], v[256:]) {
		t.Errorf("both devices drop the same, %v", err)
	}
}

// TestDeviceMistakes names what cannot be split.
func TestDeviceMistakes(t *testing.T) {
	bind := func(batch int, opts ...module.Option) error {
		return module.New(storeNet(), opts...).Bind([]dataio.Desc{{Name: "data",
			Shape: dtype.Shape{batch, 5}}},
			[]dataio.Desc{{Name: "softmax_label", Shape: dtype.Shape{batch}}})
	}
	cpus := processors(3)
	for want, err := range map[string]error{
		"multiple of 3": bind(10, module.On(cpus...)),
		"cpu(1) twice":  bind(9, module.On(cpus[1], cpus[0], cpus[1])),
		"want one": bind(9, module.On(cpus...),
			module.Group2Ctx(map[string]device.Device{"first": cpus[0]})),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
	if err := bind(9, module.On(cpus...)); err != nil {
		t.Error(err)
	}
}
