package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"

	nd "gomx/ndarray"
)

// pageSteps are the steps over which stepPages takes the mean.
const pageSteps = 8

// stepPages measures the MiB of pages that a step reads or writes: the pages of the process that the
// processor has marked, without those of files, such as programs and libraries. A row of a table
// counts with the whole page that it lies in, of 4 KiB, since the process has no huge pages meanwhile.
func stepPages(name string, prepare func(r *rand.Rand) steps) Workload {
	return Workload{Name: name, Unit: memoryUnit,
		Run: func(ctx context.Context) (mib float64, err error) {
			if err := errors.Join(nd.WaitAll(ctx), trim(), hugePages(false)); err != nil {
				return 0, err
			}
			defer func() { err = errors.Join(err, hugePages(true)) }()
			s := prepare(rand.New(rand.NewPCG(1, 2)))
			defer func() {
				s.close()
				err = errors.Join(err, nd.WaitAll(ctx), trim())
			}()
			if err := s.run(); err != nil {
				return 0, err
			}
			var total int64
			for range pageSteps {
				if err := nd.WaitAll(ctx); err != nil {
					return 0, err
				}
				n, err := touched(func() error { return errors.Join(s.run(), nd.WaitAll(ctx)) })
				if err != nil {
					return 0, err
				}
				total += n
			}
			return float64(total) / pageSteps / (1 << 20), nil
		}}
}

// touched returns the bytes of the pages that this process uses while f runs, without those of files.
func touched(f func() error) (int64, error) {
	const marks = "/proc/self/clear_refs"
	if err := os.WriteFile(marks, []byte("1"), 0); err != nil {
		return 0, fmt.Errorf("bench: counting pages: %w", err)
	}
	if err := f(); err != nil {
		return 0, err
	}
	text, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return 0, fmt.Errorf("bench: counting pages: %w", err)
	}
	return referenced(text)
}

// referenced sums up the bytes of marked pages in a text like /proc/self/smaps, which describes each
// mapping by a line with its range, access, offset, device and inode, and by lines with names.
func referenced(text []byte) (total int64, err error) {
	file := false
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) >= 5 && strings.Contains(fields[0], "-") {
			file = fields[4] != "0"
			continue
		}
		rest, ok := strings.CutPrefix(line, "Referenced:")
		if !ok || file {
			continue
		}
		kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("bench: counting pages: %w", err)
		}
		total += kib << 10
	}
	return total, nil
}
