//go:build cuda

package cuda_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"gomx/device"
	"gomx/device/cuda"
	"gomx/device/cuda/imitation"
	"gomx/dtype"
)

// TestWaitSetsContext waits for a copy on a thread without a context.
func TestWaitSetsContext(t *testing.T) {
	need(t)
	if err := cuda.SettleWithoutContext(queue(t, 0)); err != nil {
		t.Error(err)
	}
}

// TestDevicesOpenTheirPools copies between devices; the strict imitation refuses the copy unless
// the memory pools are open.
func TestDevicesOpenTheirPools(t *testing.T) {
	need(t)
	if device.Count(device.KindCUDA) < 2 {
		t.Skip("one device")
	}
	a, b := alloc(t, 0, 4096), alloc(t, 1, 4096)
	src, dst := []byte{1, 2, 3, 4}, make([]byte, 4)
	a.CopyIn(0, src)
	q := queue(t, 1)
	if err := errors.Join(q.CopyFrom(b.Ptr, device.CUDA(0), a.Ptr, 4),
		q.CopyOut(dst, b.Ptr)); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(src, dst) {
		t.Errorf("got %v, want %v", dst, src)
	}
	if imitation.Present() && imitation.Calls("cuMemPoolSetAccess") < 2 {
		t.Error("the pools of the two devices were not opened to each other")
	}
}

// TestParameterLength launches a kernel with too few and too many fields.
func TestParameterLength(t *testing.T) {
	need(t)
	q, b := queue(t, 0), alloc(t, 0, 4096)
	f := cuda.Func("fill", "fill", dtype.Unknown)
	for _, n := range []int{3, 9} {
		args := make([]uint64, n)
		args[0] = cuda.P(b.Ptr)
		if err := q.Launch(f, q.Each(1), args...); err == nil ||
			!strings.Contains(err.Error(), "bytes") {
			t.Errorf("%d fields: got %v, want an error that names the sizes", n, err)
		}
	}
}

// TestViewsOfLayers gives cuDNN operands that begin between multiples of 16 bytes: convolutions
// copy them, other layers leave them to our own kernels.
func TestViewsOfLayers(t *testing.T) {
	need(t)
	if err := cuda.DNN(); err != nil {
		t.Skip(err)
	}
	q := queue(t, 0)
	d := cuda.ConvDims{Batch: 1, In: 1, Out: 1, Groups: 1, Image: []int{1, 9}, Result: []int{1, 7},
		Kernel: []int{1, 3}, Stride: []int{1, 1}, Pad: []int{0, 0}, Dilate: []int{1, 1}}
	c := cuda.NewConv(dtype.Float32, d)
	if c == nil {
		t.Fatal("cuDNN does not take the convolution")
	}
	x, w, y := alloc(t, 0, 64), alloc(t, 0, 64), alloc(t, 0, 64)
	values, weights := []float32{1, 2, 3, 4, 5, 6, 7, 8, 9}, []float32{1, 10, 100}
	want := []float32{321, 432, 543, 654, 765, 876, 987}
	for _, at := range []int{0, 4, 12, 16} {
		x.CopyIn(at, bytesOf(values))
		w.CopyIn(at, bytesOf(weights))
		got := make([]float32, 7)
		if err := c.Forward(q, unsafe.Add(y.Ptr, at), unsafe.Add(x.Ptr, at),
			unsafe.Add(w.Ptr, at)); err != nil {
			t.Fatalf("operands at byte %d: %v", at, err)
		}
		if err := q.CopyOut(bytesOf(got), unsafe.Add(y.Ptr, at)); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("operands at byte %d: got %v, want %v", at, got, want)
		}
	}
	p := cuda.NewPool(dtype.Float32, poolDims())
	if err := p.Forward(q, y.Ptr, unsafe.Add(x.Ptr, 4)); err != cuda.ErrNotServed {
		t.Errorf("pooling of a view: got %v, want %v", err, cuda.ErrNotServed)
	}
	if err := p.Forward(q, y.Ptr, x.Ptr); err != nil {
		t.Errorf("pooling after that of a view: %v", err)
	}
}

// TestBadParameterDeclines lets the first call of a layer return that a parameter is bad, which
// means that the library does not serve it.
func TestBadParameterDeclines(t *testing.T) {
	need(t)
	if err := cuda.DNN(); err != nil {
		t.Skip(err)
	}
	if !imitation.Present() {
		t.Skip("the driver is not the imitation")
	}
	d := poolDims()
	d.Channels, d.InStrides[1], d.OutStrides[1] = 13, 5, 3 // the imitation's bad parameter
	d.InStrides[0], d.OutStrides[0] = 65, 39
	p, q := cuda.NewPool(dtype.Float32, d), queue(t, 0)
	x, y := alloc(t, 0, 4*65), alloc(t, 0, 4*39)
	for range 2 {
		if err := p.Forward(q, y.Ptr, x.Ptr); err != cuda.ErrNotServed {
			t.Errorf("got %v, want %v", err, cuda.ErrNotServed)
		}
	}
}

// TestNothingOpensWhileRecording launches a kernel that is not loaded, and opens cuBLAS, on a queue
// that records.
func TestNothingOpensWhileRecording(t *testing.T) {
	need(t)
	q, err := device.QueueOf(device.CUDA(0), device.QueueBeside)
	if err != nil {
		t.Fatal(err)
	}
	beside, b := q.(*cuda.Queue), alloc(t, 0, 4096)
	f := cuda.FuncOf(cuda.Unit{Family: "late", DType: dtype.Float32,
		Text: "struct L { float *p; };\nKERNEL(x, L) { k.p[0] = 1; }"}, "x")
	product := cuda.NewGemm(dtype.Float32, cuda.Dims{Batch: 1, M: 2, N: 2, K: 2}, [3][3]int{{2, 1, 4},
		{2, 1, 4}, {2, 1, 4}}, 1, 0)
	if err := cuda.Recording(beside, func() error {
		return beside.Launch(f, beside.Each(1), cuda.P(b.Ptr))
	}); err != cuda.ErrNotRecorded {
		t.Errorf("a kernel that is not loaded: got %v, want %v", err, cuda.ErrNotRecorded)
	}
	if cuda.BLAS() != nil {
		return
	}
	if err := cuda.Recording(beside, func() error {
		_, err := product.Run(beside, b.Ptr, b.Ptr, unsafe.Add(b.Ptr, 1024))
		return err
	}); err != cuda.ErrNotRecorded {
		t.Errorf("the first product: got %v, want %v", err, cuda.ErrNotRecorded)
	}
}

// TestKeptKernels finds compiled kernels without a compiler, skips a damaged one, and compiles
// units side by side.
func TestKeptKernels(t *testing.T) {
	need(t)
	dir := t.TempDir()
	old := cuda.CacheDir()
	cuda.SetCache(dir)
	defer cuda.SetCache(old)
	unit := func(value string) cuda.Unit {
		return cuda.Unit{Family: "kept", DType: dtype.Float32, Text: "struct K { float *p; };\n" +
			"KERNEL(x, K) { k.p[0] = " + value + "; }"}
	}
	q, b := queue(t, 0), alloc(t, 0, 4096)
	run := func(u cuda.Unit) error {
		return q.Launch(cuda.FuncOf(u, "x"), q.Each(1), cuda.P(b.Ptr))
	}
	arch, err := cuda.Arch(0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cuda.Compile(unit("1"), arch); err != nil {
		t.Fatal(err)
	}
	show := cuda.WithoutCompiler()
	if err := run(unit("1")); err != nil {
		t.Errorf("a kept kernel without a compiler: %v", err)
	}
	if err := run(unit("2")); err == nil || !strings.Contains(err.Error(), "compiler") {
		t.Errorf("an unknown kernel without a compiler: got %v, want an error that says so", err)
	}
	show()
	if _, err := cuda.Compile(unit("3"), arch); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "kept-*"))
	if err != nil || len(files) != 2 {
		t.Fatalf("kept files %v, %v: want 2", files, err)
	}
	for _, f := range files {
		if err := os.WriteFile(f, []byte("damaged"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := run(unit("3")); err != nil {
		t.Errorf("a damaged file of a kept kernel: %v", err)
	}
	var all sync.WaitGroup
	for _, value := range []string{"5", "6", "7", "5"} {
		all.Add(1)
		go func() {
			defer all.Done()
			if err := cuda.Load(0, unit(value)); err != nil {
				t.Error(err)
			}
		}()
	}
	all.Wait()
}

// TestWatcherSleeps marks a queue all the time and counts the watcher's looks: it must not take a
// core.
func TestWatcherSleeps(t *testing.T) {
	need(t)
	q := queue(t, 0)
	begin, polls, marks := time.Now(), cuda.Polls(), 0
	for time.Since(begin) < 300*time.Millisecond {
		mark, err := q.Mark()
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		q.Notify(mark, func(err error) { done <- err })
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		marks++
		time.Sleep(30 * time.Microsecond)
	}
	looks, most := cuda.Polls()-polls, 5*marks+int(2*time.Since(begin)/(50*time.Microsecond))
	if looks > int64(most) {
		t.Errorf("%d looks for %d marks in %v, want at most %d", looks, marks, time.Since(begin),
			most)
	}
}
