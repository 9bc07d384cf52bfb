package engine_test

import (
	"bytes"
	"flag"
	"os"
	"strconv"
	"testing"
	"time"

	"gomx/device"
	"gomx/device/null"
	"gomx/engine"
)

var pushes = flag.Int("pushes", 100_000, "operations that are pushed ahead of a slow device")

// TestFlatMemory pushes far more operations than may be pending to a device that is slower than the
// pusher, and watches the memory that the process occupies.
func TestFlatMemory(t *testing.T) {
	for name, c := range map[string]struct {
		cfg   engine.Config
		bytes int64
		most  uint64 // operations pending at any time
	}{
		"operations": {engine.Config{Workers: 1}, 0, 4096},
		"bytes":      {engine.Config{Workers: 1, MaxBytes: 1 << 30}, 1 << 20, 1024},
	} {
		t.Run(name, func(t *testing.T) {
			e := open(t, c.cfg)
			stream := null.NewStream()
			defer stream.Close()
			v := make([]*engine.Var, 64)
			for i := range v {
				v[i] = e.NewVar("v")
			}
			fast, slow := &null.Work{Stream: stream}, &null.Work{Stream: stream,
				Takes: time.Millisecond}
			task := engine.Task{Name: "step", Lane: engine.Lane{Device: device.Null(0)},
				Queued: true, Async: null.Enqueue, Bytes: c.bytes}
			start, end := 0, 0
			for i := range *pushes {
				if task.Arg = fast; i%1000 == 0 {
					task.Arg = slow
				}
				e.PushUses(&task, engine.Use{Var: v[i*7%64]}, engine.Use{Var: v[i%64],
					Access: engine.Update})
				if i%10_000 != 0 {
					continue
				}
				if s := e.Stats(); s.Pending > c.most || s.PendingBytes > c.cfg.MaxBytes {
					t.Fatalf("after %d pushes %d operations with %d bytes are pending, want at "+
						"most %d", i+1, s.Pending, s.PendingBytes, c.most)
				}
				if end = max(end, resident(t)); i <= *pushes/10 {
					start = end
				}
			}
			if err := e.WaitAll(bg); err != nil {
				t.Fatal(err)
			}
			t.Logf("%d bytes resident after a tenth of %d pushes, %d at most", start, *pushes, end)
			if most := 16 << 20; end-start > most && !raceEnabled {
				t.Errorf("resident memory grew by %d bytes during %d pushes, want at most %d",
					end-start, *pushes, most)
			}
		})
	}
}

// resident returns the bytes of memory that the process occupies, 0 where the system does not say.
func resident(t *testing.T) int {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	pages, err := strconv.Atoi(string(bytes.Fields(text)[1]))
	if err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}
