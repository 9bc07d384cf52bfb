//go:build cuda

package exec_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gomx/device"
	"gomx/device/cuda"
	"gomx/dtype"
	"gomx/kvstore"
	nd "gomx/ndarray"
	"gomx/op"
	"gomx/optimizer"
	sym "gomx/symbol"
)

func needGPU(t *testing.T) {
	t.Helper()
	if device.Count(device.KindCUDA) == 0 {
		t.Skip("no devices: ", cuda.Missing())
	}
}

// branchy makes a random graph of operators that give whole numbers for whole numbers, so that
// every order of computing gives the same bits.
func branchy(rng *rand.Rand, nodes int) *sym.Symbol {
	values := []*sym.Symbol{sym.Var("x"), sym.Var("y")}
	pick := func() *sym.Symbol { return values[max(rng.IntN(len(values)), rng.IntN(len(values)))] }
	for range nodes {
		a, b := pick(), pick()
		switch rng.IntN(6) {
		case 0:
			a = sym.BroadcastMaximum(a, b)
		case 1:
			a = sym.ElemwiseSub(a, b)
		case 2:
			a = sym.Relu(a)
		case 3:
			a = sym.Transpose(a, sym.TransposeParams{})
		case 4:
			a = sym.BroadcastMinimum(sym.Negative(a), sym.Dot(sym.Sign(a), sym.Sign(b),
				sym.DotParams{}))
		default:
			a = sym.BroadcastAdd(sym.Clip(a, sym.ClipParams{AMin: -50, AMax: 50}),
				sym.Sum(sym.Sign(b), sym.ReduceParams{Axis: []int{0}, KeepDims: true}))
		}
		values = append(values, a)
	}
	return sym.Group(values[len(values)-1], values[len(values)-2],
		values[2+rng.IntN(len(values)-2)])
}

// stepOn runs forward and backward a few times with new inputs and returns all outputs and
// gradients of the last time, and the launches that it took.
func stepOn(t *testing.T, net *sym.Symbol, c sym.BindConfig, steps int) (got [][]float32,
	launches int64) {
	t.Helper()
	const n = 24
	c.Shapes = map[string]dtype.Shape{}
	for _, name := range net.Arguments() {
		c.Shapes[name] = dtype.Shape{n, n}
	}
	ex, err := net.SimpleBind(c)
	if err != nil {
		t.Fatal(err)
	}
	defer ex.Close()
	for step := range steps {
		rng := rand.New(rand.NewPCG(uint64(step), 1))
		for _, name := range []string{"x", "y"} {
			if ex.Args[name] == nil {
				continue
			}
			values := make([]float32, n*n)
			for i := range values {
				values[i] = float32(rng.IntN(9) - 4)
			}
			ex.Args[name].Set(nd.FromSlice(values, n, n).To(c.Device))
		}
		before := cuda.Launches(0)
		if err := ex.Forward(true); err != nil {
			t.Fatal(err)
		}
		if err := ex.Backward(); err != nil {
			t.Fatal(err)
		}
		for _, a := range ex.Outputs() {
			if _, err := a.Float32s(); err != nil {
				t.Fatal(err)
			}
		}
		for _, a := range ex.Grads {
			if err := a.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		launches = cuda.Launches(0) - before
	}
	arrays := slices.Clone(ex.Outputs())
	for _, name := range []string{"x", "y"} {
		if g := ex.Grads[name]; g != nil {
			arrays = append(arrays, g)
		}
	}
	for _, a := range arrays {
		v, err := a.Float32s()
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, v)
	}
	return got, launches
}

// TestCUDABranches runs random graphs on one queue and on several, and compares with the processor.
func TestCUDABranches(t *testing.T) {
	needGPU(t)
	for seed := range uint64(12) {
		net := branchy(rand.New(rand.NewPCG(seed, 5)), 30)
		want, _ := stepOn(t, net, sym.BindConfig{Without: []string{"fuse-pointwise"}}, 2)
		for _, c := range []sym.BindConfig{{Device: device.CUDA(0)}, {Device: device.CUDA(0),
			Streams: 2}, {Device: device.CUDA(0), Streams: 4, Guard: true}} {
			c.Without = []string{"fuse-pointwise"}
			got, _ := stepOn(t, net, c, 2)
			for i := range want {
				if !slices.Equal(got[i], want[i]) { // the sign of a zero may differ
					t.Errorf("seed %d with %d streams: array %d is not that of the processor", seed,
						c.Streams, i)
				}
			}
		}
	}
}

// TestCUDAFusion joins pointwise operators on a GPU: the same bits with fewer launches.
func TestCUDAFusion(t *testing.T) {
	needGPU(t)
	x, y := sym.Var("x"), sym.Var("y")
	a := sym.Tanh(sym.PlusScalar(sym.ElemwiseMul(x, y), sym.ScalarParams{Scalar: 0.25}))
	b := sym.BroadcastMul(sym.Sigmoid(sym.ElemwiseSub(a, x)),
		sym.Activation(y, sym.ActivationParams{ActType: "softrelu"}))
	half := sym.MulScalar(sym.Relu(sym.Cast(sym.Square(x), sym.CastParams{DType: dtype.Float16})),
		sym.ScalarParams{Scalar: 0.3})
	casts := sym.Tanh(sym.ElemwiseAdd(sym.Cast(half, sym.CastParams{DType: dtype.Float32}), y))
	for _, net := range []*sym.Symbol{sym.Group(b, a), casts} {
		compareFused(t, net)
	}
}

// compareFused compares a network with chains and without.
func compareFused(t *testing.T, net *sym.Symbol) {
	t.Helper()
	loose := []string{"share", "simplify", "scale-once", "transposed-products"}
	want, apart := stepOn(t, net, sym.BindConfig{Device: device.CUDA(0), Without: append(loose,
		"fuse-pointwise")}, 2)
	got, joined := stepOn(t, net, sym.BindConfig{Device: device.CUDA(0), Without: loose}, 2)
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Error("fused and unfused operators give other bits")
	}
	if joined >= apart/2 {
		t.Errorf("%d launches with chains, %d without, want less than half as many", joined, apart)
	}
	t.Logf("%d launches with chains, %d without", joined, apart)
}

// TestCUDAReplay records the kernels of segments: the same bits with fewer launches, whatever the
// streams, and also when inputs move.
func TestCUDAReplay(t *testing.T) {
	needGPU(t)
	fewer := 0
	for seed := range uint64(8) {
		net := branchy(rand.New(rand.NewPCG(seed, 6)), 30)
		c := sym.BindConfig{Device: device.CUDA(0), Streams: int(seed%3) + 1,
			Without: []string{"fuse-pointwise"}}
		want, apart := stepOn(t, net, c, 5)
		c.Replay = true
		got, joined := stepOn(t, net, c, 5)
		for i := range want {
			if !slices.Equal(got[i], want[i]) {
				t.Errorf("seed %d: array %d changes with recordings", seed, i)
			}
		}
		if joined > apart {
			t.Errorf("seed %d: %d launches with recordings, %d without", seed, joined, apart)
		}
		if joined < apart/2 {
			fewer++
		}
	}
	if fewer < 2 {
		t.Errorf("recordings halve the launches of %d graphs of 8 only", fewer)
	}
}

// TestCUDAReplayDraws records dropout: replays draw the numbers that runs without recordings draw,
// others in each run.
func TestCUDAReplayDraws(t *testing.T) {
	needGPU(t)
	x, y := sym.Var("x"), sym.Var("y")
	h := sym.Dropout(sym.PlusScalar(sym.Abs(x), sym.ScalarParams{Scalar: 1}),
		sym.DropoutParams{P: sym.Some(0.5)})
	ones := sym.Dropout(sym.PlusScalar(sym.MulScalar(y, sym.ScalarParams{}),
		sym.ScalarParams{Scalar: 1}), sym.DropoutParams{P: sym.Some(0.25)})
	net := sym.Group(sym.Dot(h, y, sym.DotParams{}), h, ones)
	var masks [][]float32
	for _, steps := range []int{4, 5, 6} {
		c := sym.BindConfig{Device: device.CUDA(0), Seed: 3}
		want, apart := stepOn(t, net, c, steps)
		c.Replay = true
		got, joined := stepOn(t, net, c, steps)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("step %d changes with recordings", steps)
		}
		if joined >= apart || joined > 4 {
			t.Errorf("%d launches with recordings, %d without, want at most 4: two recordings and "+
				"their random numbers", joined, apart)
		}
		masks = append(masks, got[2])
	}
	if slices.Equal(masks[0], masks[1]) || slices.Equal(masks[1], masks[2]) {
		t.Error("steps drop the same elements")
	}
}

// TestCUDAReplayFollows feeds other arrays from run to run, for a while the same: what was recorded
// must not be replayed on the wrong memory.
func TestCUDAReplayFollows(t *testing.T) {
	needGPU(t)
	x := sym.Var("x")
	net := sym.Relu(sym.Dot(sym.Negative(sym.Transpose(x, sym.TransposeParams{})), x,
		sym.DotParams{}))
	ex, err := net.SimpleBind(sym.BindConfig{Device: device.CUDA(0), Replay: true,
		Shapes: map[string]dtype.Shape{"x": {6, 6}}})
	if err != nil {
		t.Fatal(err)
	}
	defer ex.Close()
	rng := rand.New(rand.NewPCG(1, 7))
	arrays := make([]*nd.Array, 3)
	host := make([]*nd.Array, 3)
	for i := range arrays {
		values := make([]float32, 36)
		for k := range values {
			values[k] = float32(rng.IntN(9) - 4)
		}
		host[i] = nd.FromSlice(values, 6, 6)
		arrays[i] = host[i].To(device.CUDA(0))
	}
	for run := range 40 {
		i := run / 4 % 3
		if run > 30 {
			i = rng.IntN(3)
		}
		if err := ex.Feed("x", arrays[i]); err != nil {
			t.Fatal(err)
		}
		if err := ex.Forward(false); err != nil {
			t.Fatal(err)
		}
		got, err := ex.Outputs()[0].Float32s()
		if err != nil {
			t.Fatal(err)
		}
		want, err := nd.Relu(nd.Dot(nd.Negative(nd.Transpose(host[i], nd.TransposeParams{})),
			host[i], nd.DotParams{})).Float32s()
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("run %d: got %v, want %v", run, got, want)
		}
	}
}

const rnnSteps = 24

// layered are networks of layers that cuDNN computes where it is there, each with the shape of its
// input.
func layered() map[string]struct {
	net *sym.Symbol
	x   dtype.Shape
} {
	type entry = struct {
		net *sym.Symbol
		x   dtype.Shape
	}
	x := sym.Var("x")
	images := sym.BatchNorm(x, sym.BatchNormParams{NoFixGamma: true}, sym.Name("norm"))
	images = sym.Pooling(sym.Tanh(images), sym.PoolingParams{Kernel: []int{3, 3},
		Stride: []int{2, 2}, Pad: []int{1, 1}})
	images = sym.Pooling(sym.BatchNorm(images, sym.BatchNormParams{}, sym.Name("fixed")),
		sym.PoolingParams{Kernel: []int{2, 2}, PoolType: "avg"})
	list := map[string]entry{"images": {sym.SoftmaxActivation(images,
		sym.SoftmaxActivationParams{Mode: "channel"}), dtype.Shape{2, 3, 9, 7}}}
	for _, share := range []float64{0, 0.5} {
		p := sym.RNNParams{Mode: "lstm", StateSize: 5, NumLayers: 2, Bidirectional: true, P: share}
		list[fmt.Sprint("sequences, dropping ", share)] = entry{sym.Tanh(sym.RNN(x, p,
			sym.Name("rnn"))), dtype.Shape{rnnSteps, 2, 3}}
	}
	return list
}

// train runs forward and backward a few times and returns the output, all gradients and moving
// averages, and the launches of the last time.
func train(t *testing.T, net *sym.Symbol, x dtype.Shape,
	c sym.BindConfig) (got map[string][]float32, launches int64) {
	t.Helper()
	c.Shapes = map[string]dtype.Shape{"x": x}
	ex, err := net.SimpleBind(c)
	if err != nil {
		t.Fatal(err)
	}
	defer ex.Close()
	rng := rand.New(rand.NewPCG(4, 2))
	for _, name := range slices.Sorted(maps.Keys(ex.Args)) {
		a := ex.Args[name]
		values := make([]float32, a.Size())
		for i := range values {
			values[i] = rng.Float32() - 0.5
		}
		a.Set(nd.FromSlice(values, a.Shape()...).To(c.Device))
	}
	for range 6 {
		before := cuda.Launches(0)
		if err := ex.Forward(true); err != nil {
			t.Fatal(err)
		}
		if err := ex.Backward(); err != nil {
			t.Fatal(err)
		}
		if err := ex.Outputs()[0].Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		launches = cuda.Launches(0) - before
	}
	got = map[string][]float32{}
	for what, list := range map[string]map[string]*nd.Array{"gradient of ": ex.Grads,
		"average ": ex.Aux, "": {"output": ex.Outputs()[0]}} {
		for name, a := range list {
			if got[what+name], err = a.Float32s(); err != nil {
				t.Fatal(err)
			}
		}
	}
	return got, launches
}

// TestCUDALibrary trains networks in cuDNN, or in kernels of our own where it is not there, and on
// the processor: what is dropped is the same, and what comes out is nearly.
func TestCUDALibrary(t *testing.T) {
	needGPU(t)
	for name, n := range layered() {
		t.Run(name, func(t *testing.T) {
			want, _ := train(t, n.net, n.x, sym.BindConfig{})
			got, launches := train(t, n.net, n.x, sym.BindConfig{Device: device.CUDA(0),
				Guard: true})
			if again, _ := train(t, n.net, n.x, sym.BindConfig{Device: device.CUDA(0),
				Replay: true}); fmt.Sprint(again) != fmt.Sprint(got) {
				t.Error("recordings change the bits")
			}
			if len(want) < 4 {
				t.Fatalf("%d arrays are compared, want more", len(want))
			}
			for array, w := range want {
				for i, v := range got[array] {
					if !(math.Abs(float64(v-w[i])) <= 2e-4*(1+math.Abs(float64(w[i])))) {
						t.Errorf("%s: number %d is %v, want %v", array, i, v, w[i])
						break
					}
				}
			}
			if n.x[0] == rnnSteps && cuda.DNN() == nil && len(cuda.DNNMissing()) == 0 &&
				launches > 2*rnnSteps {
				t.Errorf("%d launches for %d steps: the layers do not run in cuDNN", launches,
					rnnSteps)
			}
		})
	}
}

// needGPUs skips a test where there are fewer than two GPUs, real or imitated.
func needGPUs(t *testing.T) {
	t.Helper()
	if n := device.Count(device.KindCUDA); n < 2 {
		t.Skipf("%d devices, want two", n)
	}
}

// TestCUDAGroups places layers on two GPUs: every bit is that of one GPU, over several steps that
// are pushed without a wait.
func TestCUDAGroups(t *testing.T) {
	needGPUs(t)
	run := func(groups map[string]device.Device) map[string][]float32 {
		first, second := sym.NewScope("", sym.CtxGroup("first")),
			sym.NewScope("", sym.CtxGroup("second"))
		x := sym.FullyConnected(sym.Var("data"), sym.FullyConnectedParams{NumHidden: 32},
			first.Name("fc1"))
		x = sym.Activation(x, sym.ActivationParams{ActType: "tanh"}, first.Name("tanh"))
		x = sym.FullyConnected(x, sym.FullyConnectedParams{NumHidden: 5}, second.Name("fc2"))
		net := sym.SoftmaxOutput(x, sym.SoftmaxOutputParams{}, sym.Name("softmax"))
		ex, err := net.SimpleBind(sym.BindConfig{Device: device.CUDA(0), Group2Ctx: groups,
			Shapes: map[string]dtype.Shape{"data": {8, 12}}})
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
			ex.Args[name].Set(nd.FromSlice(values,
				ex.Args[name].Shape()...).To(ex.Args[name].Device()))
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

// TestCUDADataParallel gives each of two GPUs half of every batch and lets the device store add
// their gradients up and update: the parameters are those of one GPU with whole batches, but for
// the order of sums.
func TestCUDADataParallel(t *testing.T) {
	needGPUs(t)
	const batch, steps = 16, 6
	train := func(parts int) map[string][]float32 {
		x := sym.FullyConnected(sym.Var("data"), sym.FullyConnectedParams{NumHidden: 16},
			sym.Name("fc1"))
		x = sym.FullyConnected(sym.Activation(x, sym.ActivationParams{ActType: "tanh"}),
			sym.FullyConnectedParams{NumHidden: 4}, sym.Name("fc2"))
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
			if err := kv.Broadcast(t.Context(), name, nd.Normal(0, 0.3, shape,
				nd.Seed(uint64(i))).To(device.CUDA(0)), of(name, false)...); err != nil {
				t.Fatal(err)
			}
		}
		if err := kv.SetOptimizer(t.Context(), optimizer.SGD{LR: 0.1, Momentum: 0.9,
			Common: optimizer.Common{Rescale: 1.0 / batch}}); err != nil {
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
		ex, err := net.SimpleBind(sym.BindConfig{Device: device.CUDA(i),
			Shapes:  map[string]dtype.Shape{"data": {batch / parts, 10}},
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
