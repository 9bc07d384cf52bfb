package bench

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
)

// TestMain lets the test program stand for gomx where a suite starts it again for a workload's
// memory.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == MemoryCommand {
		if os.Args[3] == "w" {
			os.Stdout.WriteString("w.memory\t20.0\tMiB\n")
			os.Exit(0)
		}
		os.Exit(3)
	}
	os.Exit(m.Run())
}

func TestComparesMemory(t *testing.T) {
	suite := Suite{Name: "s", Script: "local.py", args: onlyLine, variants: byThreads,
		memories: true}
	peer := fakePeer(t, "mxnet", `printf "w\t2\tx\nw.memory\t$((100 / ${OMP_NUM_THREADS:-1}))\tMiB\n"`)
	got, err := compare(t, &suite, peer, workload("images/s", 4))
	if want := "w\t4\t2\t2.00\timages/s\tmxnet\nw.memory\t20.0\t50.0\t2.50\tMiB\tmxnet\n"; err != nil || got != want {
		t.Errorf("got %q and error %v, want %q", got, err, want)
	}
	suite.memories = false
	got, err = compare(t, &suite, peer, workload("images/s", 4))
	if want := "w\t4\t2\t2.00\timages/s\tmxnet\n"; err != nil || got != want {
		t.Errorf("a suite without memory: got %q and error %v, want %q", got, err, want)
	}
	suite.memories = true
	other := workload("images/s", 4)
	other.Name, other.Line = "v", "w"
	if _, err = compare(t, &suite, peer, other); err == nil ||
		!strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("a process that fails: got %v", err)
	}
}

func TestPeakOf(t *testing.T) {
	got, err := peakOf([]byte("VmPeak:\t  900 kB\nVmHWM:\t    2048 kB\nVmRSS:\t 1 kB\n"))
	if err != nil || got != 2 {
		t.Errorf("got %v, %v, want 2", got, err)
	}
	if _, err := peakOf([]byte("VmHWMX: 1 kB\nVmHWM:\tmuch kB\n")); err == nil {
		t.Error("no number: got no error")
	}
	if _, err := peakOf(nil); err == nil {
		t.Error("no line: got no error")
	}
}

// TestRunMemory measures this process, which has more than a megabyte.
func TestRunMemory(t *testing.T) {
	var b bytes.Buffer
	if err := RunMemory(context.Background(), "imperative", "imperative.dependent.queue",
		&b); err != nil {
		t.Fatal(err)
	}
	v, ok, err := figure(b.Bytes(), "imperative.dependent.queue.memory", memoryUnit)
	if err != nil || !ok || v < 1 {
		t.Errorf("got %q", b.String())
	}
	for _, bad := range [][2]string{{"none", "x"}, {"local", "x"}} {
		if err := RunMemory(context.Background(), bad[0], bad[1], &b); err == nil ||
			!strings.Contains(err.Error(), bad[0]) {
			t.Errorf("%v: got %v", bad, err)
		}
	}
}
