package bench

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"time"

	"gomx/device"
)

// Settings of processorCost, as in peers/oddconvs.py.
const (
	processorLoops = 3                     // number of loops, of which the best counts
	processorLoop  = 40 * time.Millisecond // target time of a loop
	processorSteps = 2000                  // largest number of steps of a loop
)

// processorCost returns microseconds of processor time of the whole process per step, in the best
// of several loops. Steps of a loop follow each other without waiting; wait waits for the
// operations that they started.
func processorCost(ctx context.Context, step func() error,
	wait func(context.Context) error) (float64, error) {
	loop := func(n int) (float64, error) {
		start, err := processSeconds()
		if err != nil {
			return 0, err
		}
		for range n {
			if err := step(); err != nil {
				return 0, err
			}
		}
		if err := wait(ctx); err != nil {
			return 0, err
		}
		end, err := processSeconds()
		return end - start, err
	}
	if _, err := loop(2); err != nil {
		return 0, err
	}
	trial, err := loop(2)
	if err != nil {
		return 0, err
	}
	n := max(1, min(int(2*processorLoop.Seconds()/max(trial, 1e-6)), processorSteps))
	least := 0.0
	for range processorLoops {
		s, err := loop(n)
		if err != nil {
			return 0, err
		}
		least = better("us/op", least, s/float64(n)*1e6)
	}
	return least, nil
}

// printHeader writes the comment line at the beginning of a suite's output: the subject and the
// processor.
func printHeader(c *Config, more ...string) {
	text := fmt.Sprintf("gomx bench %s on %s, %d processors", c.Suite, device.Processor(),
		runtime.NumCPU())
	fmt.Fprintf(c.Out, "# %s\n", strings.Join(append([]string{text}, more...), ", "))
}
