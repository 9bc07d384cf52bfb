package device_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"gomx/device"
)

// heap is a backend over the Go heap that checks what is given back.
type heap struct {
	mu   sync.Mutex
	live map[unsafe.Pointer][]uint64
	size int64
	fail int // fail allocations of at least this many bytes when positive
}

func newHeap() *heap { return &heap{live: map[unsafe.Pointer][]uint64{}} }

func (h *heap) Count() int { return 1 }

func (h *heap) Alloc(_, n int) (unsafe.Pointer, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.fail > 0 && n >= h.fail {
		return nil, errors.New("backend is full")
	}
	buf := make([]uint64, (n+64)/8)
	off := -uintptr(unsafe.Pointer(&buf[0])) & 63
	p := unsafe.Add(unsafe.Pointer(&buf[0]), off)
	h.live[p] = buf
	h.size += int64(n)
	return p, nil
}

func (h *heap) Free(_ int, p unsafe.Pointer, n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.live[p] == nil {
		panic("freed what was not allocated")
	}
	delete(h.live, p)
	h.size -= int64(n)
}

func (h *heap) CopyIn(_ int, dst unsafe.Pointer, src []byte) {
	copy(unsafe.Slice((*byte)(dst), len(src)), src)
}

func (h *heap) CopyOut(_ int, dst []byte, src unsafe.Pointer) {
	copy(dst, unsafe.Slice((*byte)(src), len(dst)))
}

func TestPoolBlocksAreDisjointAndAligned(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 1))
	p := device.NewPool(device.CPU(), newHeap())
	type held struct {
		b    device.Block
		mark byte
	}
	var live []held
	for i := range 4000 {
		if len(live) > 0 && rng.IntN(2) == 0 {
			k := rng.IntN(len(live))
			h := live[k]
			for _, v := range unsafe.Slice((*byte)(h.b.Ptr), h.b.Bytes) {
				if v != h.mark {
					t.Fatalf("seed %d: block overwritten: %d, want %d", seed, v, h.mark)
				}
			}
			h.b.Free()
			live[k] = live[len(live)-1]
			live = live[:len(live)-1]
			continue
		}
		n := rng.IntN(1 << rng.IntN(17))
		b, err := p.Alloc(n, device.Purpose(rng.IntN(3)))
		if err != nil {
			t.Fatal(err)
		}
		if uintptr(b.Ptr)%64 != 0 || b.Bytes != n {
			t.Fatalf("seed %d: Alloc(%d) = %p of %d bytes, want 64-byte aligned", seed, n, b.Ptr,
				b.Bytes)
		}
		for j := range n {
			*(*byte)(unsafe.Add(b.Ptr, j)) = byte(i)
		}
		live = append(live, held{b, byte(i)})
	}
	for _, h := range live {
		h.b.Free()
	}
	if u := p.Usage(); u.Total() != 0 || u.Cached > u.Reserved {
		t.Errorf("after freeing all: %v, want nothing in use", u)
	}
}

func TestPoolReusesAndTrims(t *testing.T) {
	h := newHeap()
	p := device.NewPool(device.CPU(), h)
	a, _ := p.Alloc(100_000, device.PurposeArena)
	if u := p.Usage(); u.Used[device.PurposeArena] < 100_000 ||
		u.Used[device.PurposeArena] > 112_500 {
		t.Errorf("used %d for 100000 bytes, want at most 12.5 %% more", u.Used[device.PurposeArena])
	}
	a.Free()
	b, _ := p.Alloc(99_999, device.PurposeScratch)
	if a.Ptr != b.Ptr {
		t.Error("a freed block was not handed out again")
	}
	b.Free()
	if n := p.Trim(); n < 100_000 || h.size != 0 {
		t.Errorf("Trim = %d, backend still holds %d, want 0", n, h.size)
	}
	if u := p.Usage(); u.Reserved != 0 || u.Cached != 0 {
		t.Errorf("after Trim: %v, want nothing", u)
	}
}

func TestPoolLimit(t *testing.T) {
	p := device.NewPool(device.CPU(), newHeap())
	p.SetLimit(1 << 20)
	a, err := p.Alloc(700_000, device.PurposeArray)
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Alloc(700_000, device.PurposeArray)
	if err == nil || !strings.Contains(err.Error(), "limit") ||
		!strings.Contains(err.Error(), "700000") {
		t.Errorf("over the limit: %v, want an error that names limit and size", err)
	}
	a.Free()
	b, err := p.Alloc(500_000, device.PurposeArray) // another class: the cached block must go first
	if err != nil {
		t.Errorf("within the limit after Free: %v", err)
	}
	b.Free()
}

// TestAllocWaitsForRetiredBlocks checks that a program that runs ahead of its operations does not
// make the pool grow, and that an allocation does not wait for ever.
func TestAllocWaitsForRetiredBlocks(t *testing.T) {
	defer device.SetAwaitLimit(300 * time.Millisecond)()
	p := device.NewPool(device.CPU(), newHeap())
	const size = 40 << 20
	var blocks []device.Block
	for range 3 {
		b, err := p.Alloc(size, device.PurposeArray)
		if err != nil {
			t.Fatal(err)
		}
		b.Retire()
		blocks = append(blocks, b) // nothing waits before two are retired
		if len(blocks) == 2 {
			go func() {
				time.Sleep(20 * time.Millisecond)
				blocks[0].Free()
			}()
		}
	}
	if blocks[2].Ptr != blocks[0].Ptr {
		t.Error("the third block is new memory, want the first one, which came back")
	}
	start := time.Now()
	for range 3 { // nothing comes back
		b, err := p.Alloc(size, device.PurposeArray)
		if err != nil {
			t.Fatal(err)
		}
		b.Retire()
	}
	if d := time.Since(start); d < 300*time.Millisecond || d > 30*time.Second {
		t.Errorf("three allocations took %v, want one wait of 300 ms", d)
	}
}

// TestOnlyArraysWait checks that memory of kernels and executors, and the memory for which operations
// ask while they run, never waits for retired blocks.
func TestOnlyArraysWait(t *testing.T) {
	defer device.SetAwaitLimit(time.Minute)()
	p := device.NewPool(device.CPU(), newHeap())
	const size = 40 << 20
	start := time.Now()
	for _, purpose := range []device.Purpose{device.PurposeArray, device.PurposeArray,
		device.PurposeScratch, device.PurposeArena, device.PurposeStored} {
		b, err := p.Alloc(size, purpose)
		if err != nil {
			t.Fatal(err)
		}
		b.Retire()
	}
	if d := time.Since(start); d > 30*time.Second {
		t.Errorf("the allocations took %v, want no wait", d)
	}
}

// TestPoolKeepsPeaks checks that a loop whose memory is free between two steps keeps it, although
// small allocations make the pool grow meanwhile.
func TestPoolKeepsPeaks(t *testing.T) {
	h := newHeap()
	p := device.NewPool(device.CPU(), h)
	var step []device.Block
	for range 20 { // 320 MiB
		b, err := p.Alloc(16<<20, device.PurposeArena)
		if err != nil {
			t.Fatal(err)
		}
		step = append(step, b)
	}
	for _, b := range step {
		b.Free()
	}
	if _, err := p.Alloc(100_000, device.PurposeArena); err != nil {
		t.Fatal(err)
	}
	if u := p.Usage(); u.Cached < 320<<20 {
		t.Errorf("%v: the memory of the step is gone", u)
	}
	for i := range 40 { // growing goes on without the step: its memory goes back
		if _, err := p.Alloc(300_000+i*50_000, device.PurposeArena); err != nil {
			t.Fatal(err)
		}
	}
	if u := p.Usage(); u.Cached > 300<<20 {
		t.Errorf("%v: memory that nothing has used for a long time is still there", u)
	}
}

func TestPoolReportsBackendFailure(t *testing.T) {
	h := newHeap()
	h.fail = 1 << 20
	p := device.NewPool(device.CPU(), h)
	if _, err := p.Alloc(1<<20, device.PurposeArray); err == nil ||
		!strings.Contains(err.Error(), "backend is full") {
		t.Errorf("got %v, want the backend's error", err)
	}
	for _, n := range []int{-1, 1<<44 + 1} {
		if _, err := p.Alloc(n, device.PurposeArray); err == nil {
			t.Errorf("Alloc(%d) succeeded, want an error", n)
		}
	}
}

// owner stands for an array that was forgotten instead of closed.
type owner struct{ b device.Block }

func TestPoolCollectsForgottenArrays(t *testing.T) {
	p := device.NewPool(device.CPU(), newHeap())
	p.SetLimit(64 << 20)
	for range 100 { // 400 MiB in all through 64 MiB
		b, err := p.Alloc(4<<20, device.PurposeArray)
		if err != nil {
			t.Fatal(err)
		}
		o := &owner{b}
		runtime.AddCleanup(o, func(b device.Block) { b.Free() }, b)
	}
}

func TestBlockCopies(t *testing.T) {
	p := device.NewPool(device.CPU(), newHeap())
	b, _ := p.Alloc(10, device.PurposeArray)
	defer b.Free()
	b.CopyIn(2, []byte{1, 2, 3})
	got := make([]byte, 2)
	b.CopyOut(got, 3)
	if !bytes.Equal(got, []byte{2, 3}) {
		t.Errorf("CopyOut = %v, want [2 3]", got)
	}
	defer func() {
		if recover() == nil {
			t.Error("copy beyond the block did not panic")
		}
	}()
	b.CopyIn(8, []byte{1, 2, 3})
}

func TestPoolConcurrent(t *testing.T) {
	p := device.NewPool(device.CPU(), newHeap())
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 2000 {
				b, err := p.Alloc(64+i%5000, device.PurposeScratch)
				if err != nil {
					t.Error(err)
					return
				}
				*(*byte)(b.Ptr) = byte(g)
				b.Free()
				if i%500 == 0 {
					p.Trim()
				}
			}
		})
	}
	wg.Wait()
	if n := p.Usage().Total(); n != 0 {
		t.Errorf("in use after all were freed: %d, want 0", n)
	}
}

func BenchmarkAllocFree(b *testing.B) {
	p := device.NewPool(device.CPU(), newHeap())
	b.ReportAllocs()
	for b.Loop() {
		m, _ := p.Alloc(4096, device.PurposeArray)
		m.Free()
	}
}

func TestFreshPagesAreZeroed(t *testing.T) {
	p := device.NewPool(device.CPU(), device.Host(1))
	first, err := p.Alloc(1<<20, device.PurposeArray)
	if err != nil {
		t.Fatal(err)
	}
	if !first.Zeroed() {
		t.Error("a block of fresh pages is not zeroed")
	}
	first.CopyIn(0, []byte{1})
	first.Free()
	again, err := p.Alloc(1<<20, device.PurposeArray)
	if err != nil {
		t.Fatal(err)
	}
	if again.Zeroed() {
		t.Error("a block that was in use before is zeroed")
	}
	again.Free()
	p.Trim()
	foreign, err := device.NewPool(device.CPU(), newHeap()).Alloc(1<<20, device.PurposeArray)
	if err != nil || foreign.Zeroed() {
		t.Errorf("a block of a backend that promises nothing: zeroed %v, error %v",
			foreign.Zeroed(), err)
	}
}
