package exec_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gomx/device"
	"gomx/dtype"
	"gomx/internal/nettest"
	nd "gomx/ndarray"
	"gomx/op"
	sym "gomx/symbol"
)

// foldedNet has weights that inference keeps in another form.
func foldedNet() *sym.Symbol {
	net := sym.Var("data")
	for i := range 3 {
		net = sym.Convolution(net, sym.ConvolutionParams{Kernel: []int{3, 3}, Pad: []int{1, 1},
			NumFilter: 64, NoBias: true}, sym.Name(fmt.Sprint("conv", i)))
		net = sym.BatchNorm(net, sym.BatchNormParams{}, sym.Name(fmt.Sprint("bn", i))).At(0)
		net = sym.Activation(net, sym.ActivationParams{ActType: "relu"},
			sym.Name(fmt.Sprint("relu", i)))
	}
	return net
}

func bindFolded(t *testing.T, on device.Device, batch int) *sym.Executor {
	t.Helper()
	ex, err := foldedNet().SimpleBind(sym.BindConfig{Device: on, DefaultReq: op.ReqNull,
		Shapes: map[string]dtype.Shape{"data": {batch, 64, 8, 8}}})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(5, 6))
	for _, list := range []struct {
		names []string
		of    map[string]*nd.Array
	}{{sym.Of(ex).Arguments(), ex.Args}, {sym.Of(ex).AuxStates(), ex.Aux}} {
		for _, name := range list.names {
			nettest.FillBetween(t, rng, list.of[name], 0.01, 0.1)
		}
	}
	return ex
}

// infer returns the first output.
func infer(t *testing.T, ex *sym.Executor) []float32 {
	t.Helper()
	if err := ex.Forward(false); err != nil {
		t.Fatal(err)
	}
	return nettest.Values(t, ex.Outputs()[0])
}

// inUse returns the bytes of arrays when nothing is pending.
func inUse(t *testing.T, on device.Device) int64 {
	t.Helper()
	if err := nd.WaitAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	return device.Usage(on).Used[device.PurposeArray]
}

// reshapeAlike returns an executor for another batch whose weights are kept in as many bytes.
// Kernels choose the form by shape and number of cores, so that may be one for the same batch.
func reshapeAlike(t *testing.T, ex *sym.Executor, kept int64) *sym.Executor {
	t.Helper()
	for _, batch := range []int{4, 6, 8, 2} {
		more, err := ex.Reshape(map[string]dtype.Shape{"data": {batch, 64, 8, 8}})
		if err != nil {
			t.Fatal(err)
		}
		use, err := more.MemoryUse(false)
		if err != nil {
			t.Fatal(err)
		}
		if use.Kept == kept {
			return more
		}
		more.Close()
		if more.Args["data"] != ex.Args["data"] {
			more.Args["data"].Close()
		}
		more.Outputs()[0].Close()
	}
	t.Fatal("the same batch keeps other weights")
	return nil
}

// TestKeptFormsAreShared reshapes an executor: the folded weights exist once, and are freed with
// the last executor that uses them.
func TestKeptFormsAreShared(t *testing.T) {
	on := device.Device{ID: 9} // which no other test uses
	ex := bindFolded(t, on, 2)
	before := inUse(t, on)
	want := infer(t, ex)
	use, err := ex.MemoryUse(false)
	if err != nil {
		t.Fatal(err)
	}
	if least := int64(3 * 64 * 64 * 9 * 4); use.Kept < least || inUse(t, on) < before+least {
		t.Fatalf("keeps %d bytes of weights, arrays grew by %d, want %d at least", use.Kept,
			inUse(t, on)-before, least)
	}
	alone := inUse(t, on)
	more := reshapeAlike(t, ex, use.Kept)
	samples := []float32{}
	for more.Args["data"].Size() > len(samples) { // the first two are those of the first executor
		samples = append(samples, nettest.Values(t, ex.Args["data"])...)
	}
	if err := nd.CopyFrom(more.Args["data"], samples); err != nil {
		t.Fatal(err)
	}
	alone += int64(more.Args["data"].Bytes() + more.Outputs()[0].Bytes())
	got := infer(t, more)
	nettest.Compare(t, "the first samples", got[:len(want)], want)
	if use, err := more.MemoryUse(false); err != nil || use.Kept == 0 {
		t.Errorf("after reshaping: %+v, %v, want kept weights", use, err)
	}
	if grown := inUse(t, on) - alone; grown > use.Kept/2 {
		t.Errorf("the second executor takes %d bytes of arrays, want little beside its inputs "+
			"and outputs: %d bytes of kept weights are there already", grown, use.Kept)
	}
	nettest.FillBetween(t, rand.New(rand.NewPCG(7, 8)), ex.Args["conv1_weight"], 0.01, 0.1)
	changed := infer(t, more)
	nettest.Compare(t, "with another weight", changed[:len(want)], infer(t, ex))
	if changed[0] == want[0] {
		t.Error("a weight has changed, the output has not")
	}
	ex.Close()
	nettest.Compare(t, "after closing the first", infer(t, more), changed)
	together := inUse(t, on)
	more.Close()
	if err := nd.WaitAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	if freed := together - inUse(t, on); freed < use.Kept {
		t.Errorf("closing both freed %d bytes, want the kept weights: %d", freed, use.Kept)
	}
}

// TestKeptFormsPart feeds another weight to one of two executors that share forms, then runs them
// in turn.
func TestKeptFormsPart(t *testing.T) {
	for _, feedFirst := range []bool{true, false} {
		ex := bindFolded(t, device.CPU(), 1)
		want := infer(t, ex)
		if feedFirst {
			other := nd.Full(0.05, ex.Args["conv1_weight"].Shape())
			if err := ex.Feed("conv1_weight", other); err != nil {
				t.Fatal(err)
			}
		}
		twin, err := ex.Reshape(map[string]dtype.Shape{"data": {1, 64, 8, 8}})
		if err != nil {
			t.Fatal(err)
		}
		first := infer(t, twin)
		if !feedFirst {
			nettest.Compare(t, "twin", first, want)
			if err := twin.Feed("conv1_weight",
				nd.Full(0.05, ex.Args["conv1_weight"].Shape())); err != nil {
				t.Fatal(err)
			}
		}
		changed := infer(t, twin)
		alone := bindFolded(t, device.CPU(), 1)
		alone.Args["conv1_weight"].Fill(0.05)
		nettest.Compare(t, "twin with another weight", changed, infer(t, alone))
		for range 2 {
			if got := infer(t, ex); !feedFirst {
				nettest.Compare(t, "the first", got, want)
			} else {
				nettest.Compare(t, "the first with another weight", got, changed)
			}
			nettest.Compare(t, "twin again", infer(t, twin), changed)
		}
		ex.Close()
		twin.Close()
		alone.Close()
	}
}
