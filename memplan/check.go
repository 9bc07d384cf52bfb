package memplan

import (
	"fmt"
	"math"
	"slices"
)

// checkInput says whether the input describes a possible run. Afterwards the planner may rely on a
// sum of all rounded sizes that an int64 holds, on times that an int32 holds as ranks, and on
// positions in range.
func checkInput(buffers []Buffer, steps []Step, cfg Config) error {
	if cfg.Align < 1 || cfg.Align&(cfg.Align-1) != 0 || cfg.Align > 1<<30 {
		return fmt.Errorf("memplan: alignment %d: want a power of two up to %d", cfg.Align, 1<<30)
	}
	if err := checkCounts(len(buffers), len(steps)); err != nil {
		return err
	}
	sum := int64(0)
	for i := range buffers {
		b := &buffers[i]
		switch {
		case b.Bytes < 0:
			return fmt.Errorf("memplan: %s has %d bytes", label(buffers, i), b.Bytes)
		case b.Start < 0 || b.End < b.Start:
			return fmt.Errorf("memplan: %s lives from step %d to %d", label(buffers, i), b.Start,
				b.End)
		case b.Bytes > math.MaxInt64-cfg.Align-sum:
			return fmt.Errorf("memplan: %s with %d bytes brings the sum over what an int64 holds",
				label(buffers, i), b.Bytes)
		}
		sum += roundUp(b.Bytes, cfg.Align) // at most MaxInt64, as the case above has checked
	}
	return checkSteps(buffers, steps)
}

// mostCount is the largest number of buffers, and of steps: a buffer has two times, whose ranks are
// of type int32.
const mostCount = math.MaxInt32 / 2

func checkCounts(buffers, steps int) error {
	if buffers > mostCount || steps > mostCount {
		return fmt.Errorf("memplan: found %d buffers and %d steps, want at most %d of each", buffers,
			steps, mostCount)
	}
	return nil
}

// checkSteps walks the steps in order and checks the buffers that each of them names. A step may
// read a buffer that it writes itself: an update in place, whose first step initializes the buffer.
func checkSteps(buffers []Buffer, steps []Step) error {
	written := make([]bool, len(buffers))
	for s := range steps {
		st := &steps[s]
		for _, a := range st.After {
			if a < 0 || a >= s {
				return fmt.Errorf("memplan: %s waits for step %d, which is not before it",
					stepLabel(steps, s), a)
			}
		}
		for _, list := range [][]int{st.Writes, st.Reads} {
			for _, b := range list {
				if b < 0 || b >= len(buffers) {
					return fmt.Errorf("memplan: %s uses buffer %d of %d", stepLabel(steps, s), b,
						len(buffers))
				}
				if s < buffers[b].Start || s > buffers[b].End {
					return fmt.Errorf("memplan: %s uses %s, which lives from step %d to %d only",
						stepLabel(steps, s), label(buffers, b), buffers[b].Start, buffers[b].End)
				}
			}
		}
		for _, b := range st.Reads {
			if !written[b] && !slices.Contains(st.Writes, b) {
				return fmt.Errorf("memplan: %s reads %s, which no earlier step has written",
					stepLabel(steps, s), label(buffers, b))
			}
		}
		for _, b := range st.Writes {
			written[b] = true
		}
	}
	return nil
}

// label names a buffer in errors.
func label(buffers []Buffer, i int) string {
	if name := buffers[i].Name; name != "" {
		return fmt.Sprintf("buffer %d (%s)", i, name)
	}
	return fmt.Sprintf("buffer %d", i)
}

// stepLabel names a step in errors.
func stepLabel(steps []Step, i int) string {
	if name := steps[i].Name; name != "" {
		return fmt.Sprintf("step %d (%s)", i, name)
	}
	return fmt.Sprintf("step %d", i)
}
