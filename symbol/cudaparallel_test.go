//go:build cuda

package symbol_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"gomx/device"
	"gomx/dtype"
	"gomx/kvstore"
	nd "gomx/ndarray"
	"gomx/op"
	"gomx/optimizer"
	sym "gomx/symbol"
)

// needGPUs skips a test where there are fewer than two GPUs, real or imitated.
func needGPUs(t *testing.T) {
	t.Helper()
	if n := device.Count(device.KindCUDA); n < 2 {
		t.Skipf("%d devices, want two", n)
	}
}

// TestCUDAGroups places layers on two GPUs: every bit is that of one GPU, over several steps that are pushed without a wait.
func TestCUDAGroups(t *testing.T) {
	needGPUs(t)
	run := func(groups map[string]device.Device) map[string][]float32 {
		first, second := sym.NewScope("", sym.CtxGroup("first")), sym.NewScope("", sym.CtxGroup("second"))
		x := sym.FullyConnected(sym.Var("data"), sym.FullyConnectedParams{NumHidden: 32}, first.Name("fc1"))
		x = sym.Activation(x, sym.ActivationParams{ActType: "tanh"}, first.Name("tanh"))
		x = sym.FullyConnected(x, sym.FullyConnectedParams{NumHidden: 5}, second.Name("fc2"))
		net := sym.SoftmaxOutput(x, sym.SoftmaxOutputParams{}, sym.Name("softmax"))
		ex, err := net.SimpleBind(sym.BindConfig{Device: device.CUDA(0), Group2Ctx: groups, Shapes: map[string]dtype.Shape{"data": {8, 12}}})
		if err != nil {
			t.Fatal(err)
		}
		defer ex.Close()
		rng := rand.New(rand.NewPCG(2, 9))
		for _, name := range net.Arguments() {
			values := make([]float32, ex.Args[name].Size())
			for i := range values {
				values[i] = float32(rng.NormFloat64()) / 4
				if name == "softmax_label" {
					values[i] = float32(i % 5)
				}
			}
			ex.Args[name].Set(nd.FromSlice(values, ex.Args[name].Shape()...).To(ex.Args[name].Device()))
		}
		for range 4 {
			if err := ex.Forward(true); err != nil {
				t.Fatal(err)
			}
			if err := ex.Backward(); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"fc1_weight", "fc1_bias", "fc2_weight", "fc2_bias"} {
				nd.SGDUpdate(ex.Args[name], ex.Grads[name], nd.SGDUpdateParams{LR: 0.1})
			}
		}
		got := map[string][]float32{}
		for name, a := range ex.Args {
			if got[name], err = a.Float32s(); err != nil {
				t.Fatal(err)
			}
		}
		if w := ex.Args["fc2_weight"]; groups != nil && w.Device() != groups["second"] {
			t.Errorf("fc2_weight is on %v, want %v", w.Device(), groups["second"])
		}
		return got
	}
	want := run(nil)
	got := run(map[string]device.Device{"first": device.CUDA(0), "second": device.CUDA(1)})
	for name := range want {
		if !slices.Equal(got[name], want[name]) {
			t.Errorf("%s on two GPUs differs from that on one", name)
		}
	}
}

// TestCUDADataParallel gives each of two GPUs half of every batch and lets the device store add their gradients up and update: the parameters are those of one GPU
// with whole batches, but for the order of sums.
func TestCUDADataParallel(t *testing.T) {
	needGPUs(t)
	const batch, steps = 16, 6
	train := func(parts int) map[string][]float32 {
		x := sym.FullyConnected(sym.Var("data"), sym.FullyConnectedParams{NumHidden: 16}, sym.Name("fc1"))
		x = sym.FullyConnected(sym.Activation(x, sym.ActivationParams{ActType: "tanh"}), sym.FullyConnectedParams{NumHidden: 4}, sym.Name("fc2"))
		net := sym.SoftmaxOutput(x, sym.SoftmaxOutputParams{}, sym.Name("softmax"))
		kv, err := kvstore.Open(t.Context(), "device")
		if err != nil {
			t.Fatal(err)
		}
		execs := bindParts(t, net, parts, batch)
		params := []string{"fc1_weight", "fc1_bias", "fc2_weight", "fc2_bias"}
		of := func(name string, grads bool) (list []*nd.Array) {
			for _, ex := range execs {
				if a := ex.Args[name]; !grads {
					list = append(list, a)
				} else {
					list = append(list, ex.Grads[name])
				}
			}
			return list
		}
		for i, name := range params {
			shape := execs[0].Args[name].Shape()
			if err := kv.Broadcast(t.Context(), name, nd.Normal(0, 0.3, shape, nd.Seed(uint64(i))).To(device.CUDA(0)), of(name, false)...); err != nil {
				t.Fatal(err)
			}
		}
		if err := kv.SetOptimizer(t.Context(), optimizer.SGD{LR: 0.1, Momentum: 0.9, Common: optimizer.Common{Rescale: 1.0 / batch}}); err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(4, 9))
		for range steps {
			stepParts(t, rng, execs, batch)
			for i, name := range params {
				if err := kv.PushPull(name, -i, of(name, true), of(name, false)); err != nil {
					t.Fatal(err)
				}
			}
		}
		got := map[string][]float32{}
		for _, name := range params {
			for i, a := range of(name, false) {
				v, err := a.Float32s()
				if err != nil {
					t.Fatal(err)
				}
				if i > 0 && !slices.Equal(v, got[name]) {
					t.Errorf("%s differs between the devices", name)
				}
				got[name] = v
			}
		}
		return got
	}
	want, got := train(1), train(2)
	for name := range want {
		if d := distance(got[name], want[name]); d > 1e-5 {
			t.Errorf("%s on two GPUs differs by %v from that on one", name, d)
		}
	}
}

// bindParts binds a network on as many devices, each for its share of a batch.
func bindParts(t *testing.T, net *sym.Symbol, parts, batch int) []*sym.Executor {
	t.Helper()
	execs := make([]*sym.Executor, parts)
	for i := range execs {
		ex, err := net.SimpleBind(sym.BindConfig{Device: device.CUDA(i), Shapes: map[string]dtype.Shape{"data": {batch / parts, 10}},
			GradReq: map[string]op.Req{"data": op.ReqNull, "softmax_label": op.ReqNull}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(ex.Close)
		execs[i] = ex
	}
	return execs
}

// stepParts divides a random batch among executors and starts their gradients.
func stepParts(t *testing.T, rng *rand.Rand, execs []*sym.Executor, batch int) {
	t.Helper()
	data, label := make([]float32, batch*10), make([]float32, batch)
	for i := range data {
		data[i] = float32(rng.NormFloat64())
	}
	for i := range label {
		label[i] = float32(rng.IntN(4))
	}
	n := batch / len(execs)
	for i, ex := range execs {
		ex.Args["data"].Set(nd.FromSlice(data[i*n*10:(i+1)*n*10], n, 10).To(device.CUDA(i)))
		ex.Args["softmax_label"].Set(nd.FromSlice(label[i*n : (i+1)*n]).To(device.CUDA(i)))
		if err := ex.Forward(true); err != nil {
			t.Fatal(err)
		}
		if err := ex.Backward(); err != nil {
			t.Fatal(err)
		}
	}
}
