//go:build cuda

package symbol_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"gomx/device"
	"gomx/device/cuda"
	"gomx/dtype"
	nd "gomx/ndarray"
	sym "gomx/symbol"
)

func needGPU(t *testing.T) {
	t.Helper()
	if device.Count(device.KindCUDA) == 0 {
		t.Skip("no devices: ", cuda.Missing())
	}
}

// branchy makes a random graph of operators that give whole numbers for whole numbers, so that every order of computing gives the same bits.
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
			a = sym.BroadcastMinimum(sym.Negative(a), sym.Dot(sym.Sign(a), sym.Sign(b), sym.DotParams{}))
		default:
			a = sym.BroadcastAdd(sym.Clip(a, sym.ClipParams{AMin: -50, AMax: 50}), sym.Sum(sym.Sign(b), sym.ReduceParams{Axis: []int{0}, KeepDims: true}))
		}
		values = append(values, a)
	}
	return sym.Group(values[len(values)-1], values[len(values)-2], values[2+rng.IntN(len(values)-2)])
}

// stepOn runs forward and backward a few times with new inputs and returns all outputs and gradients of the last time, and the launches that it took.
func stepOn(t *testing.T, net *sym.Symbol, c sym.BindConfig, steps int) (got [][]float32, launches int64) {
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
		for _, c := range []sym.BindConfig{{Device: device.CUDA(0)}, {Device: device.CUDA(0), Streams: 2}, {Device: device.CUDA(0), Streams: 4, Guard: true}} {
			c.Without = []string{"fuse-pointwise"}
			got, _ := stepOn(t, net, c, 2)
			for i := range want {
				if !slices.Equal(got[i], want[i]) { // the sign of a zero may differ
					t.Errorf("seed %d with %d streams: array %d is not that of the processor", seed, c.Streams, i)
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
	b := sym.BroadcastMul(sym.Sigmoid(sym.ElemwiseSub(a, x)), sym.Activation(y, sym.ActivationParams{ActType: "softrelu"}))
	half := sym.MulScalar(sym.Relu(sym.Cast(sym.Square(x), sym.CastParams{DType: dtype.Float16})), sym.ScalarParams{Scalar: 0.3})
	casts := sym.Tanh(sym.ElemwiseAdd(sym.Cast(half, sym.CastParams{DType: dtype.Float32}), y))
	for _, net := range []*sym.Symbol{sym.Group(b, a), casts} {
		compareFused(t, net)
	}
}

// compareFused compares a network with chains and without.
func compareFused(t *testing.T, net *sym.Symbol) {
	t.Helper()
	loose := []string{"share", "simplify", "scale-once", "transposed-products"}
	want, apart := stepOn(t, net, sym.BindConfig{Device: device.CUDA(0), Without: append(loose, "fuse-pointwise")}, 2)
	got, joined := stepOn(t, net, sym.BindConfig{Device: device.CUDA(0), Without: loose}, 2)
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Error("fused and unfused operators give other bits")
	}
	if joined >= apart/2 {
		t.Errorf("%d launches with chains, %d without, want less than half as many", joined, apart)
	}
	t.Logf("%d launches with chains, %d without", joined, apart)
}

// TestCUDAReplay records the kernels of segments: the same bits with fewer launches, whatever the streams, and also when inputs move.
func TestCUDAReplay(t *testing.T) {
	needGPU(t)
	fewer := 0
	for seed := range uint64(8) {
		net := branchy(rand.New(rand.NewPCG(seed, 6)), 30)
		c := sym.BindConfig{Device: device.CUDA(0), Streams: int(seed%3) + 1, Without: []string{"fuse-pointwise"}}
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

// TestCUDAReplayFollows feeds other arrays from run to run, for a while the same: what was recorded must not be replayed on the wrong memory.
func TestCUDAReplayFollows(t *testing.T) {
	needGPU(t)
	x := sym.Var("x")
	net := sym.Relu(sym.Dot(sym.Negative(sym.Transpose(x, sym.TransposeParams{})), x, sym.DotParams{}))
	ex, err := net.SimpleBind(sym.BindConfig{Device: device.CUDA(0), Replay: true, Shapes: map[string]dtype.Shape{"x": {6, 6}}})
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
		want, err := nd.Relu(nd.Dot(nd.Negative(nd.Transpose(host[i], nd.TransposeParams{})), host[i], nd.DotParams{})).Float32s()
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("run %d: got %v, want %v", run, got, want)
		}
	}
}
