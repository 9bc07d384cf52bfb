package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// MemoryCommand is the hidden command of this program that runs RunMemory.
const MemoryCommand = "bench-memory"

// memoryUnit is the unit of peak memory.
const memoryUnit = "MiB"

// memoryLine returns the name of the line with a workload's memory, in the output of a suite and of
// the peers' scripts.
func memoryLine(line string) string { return line + ".memory" }

// RunMemory runs one workload of a suite once and prints the peak memory of this process:
//
//	local.lenet.bs64.memory<TAB>123.4<TAB>MiB
//
// The figure is VmHWM of /proc/self/status. It counts every page that was resident at one time:
// code, libraries, data, the garbage collector's memory and the engine's memory. A peak does not go
// down again, so a suite starts a process for every workload; it does so between measurements of
// time, never during one. The peers' scripts print their own peak after they have measured time. So
// both figures are of a process that has bound a network and trained it for the same number of
// steps.
func RunMemory(ctx context.Context, suite, name string, out io.Writer) error {
	s, err := suiteOf(suite)
	if err != nil {
		return err
	}
	list, err := s.Workloads()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(list, func(w Workload) bool { return w.Name == name })
	if i < 0 {
		return fmt.Errorf("bench: suite %s has no workload %q", suite, name)
	}
	if _, err := list[i].Run(ctx); err != nil {
		return err
	}
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	peak, err := peakOf(text)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s\t%.1f\t%s\n", memoryLine(name), peak, memoryUnit)
	return err
}

// peakOf returns the peak of resident memory, in MiB, from the text of /proc/self/status.
func peakOf(status []byte) (float64, error) {
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.ParseFloat(
				strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 64)
			return kib / 1024, err
		}
	}
	return 0, fmt.Errorf("bench: found no VmHWM in the status of the process")
}

// memory measures the memory of a workload in a process of its own.
func (s *Suite) memory(ctx context.Context, w *Workload) (float64, error) {
	exe, err := os.Executable()
	if err != nil {
		return 0, err
	}
	out, err := output(exec.CommandContext(ctx, exe, MemoryCommand, s.Name, w.Name))
	if err != nil {
		return 0, err
	}
	v, ok, err := figure(out, memoryLine(w.Name), memoryUnit)
	if err == nil && !ok {
		err = fmt.Errorf("bench: output %q, want a line %q", memoryLine(w.Name),
			bytes.TrimSpace(out))
	}
	return v, err
}
