package memplan

import (
	"fmt"
	"slices"
)

// cell is a smallest range of addresses that no buffer divides, and the steps
// that used it last.
type cell struct {
	writer  int // -1 before the first
	readers []int
}

// replay is the state of the arena while steps are run one after another.
type replay struct {
	buffers []Buffer
	steps   []Step
	plan    *Plan
	before  []bitset // by step of two runs: the steps known to have ended before
	cuts    []int64  // where cells begin
	cells   []cell
}

// verifyOrder replays two runs. Every access must be ordered after the last
// write of its cells, and a write also after the reads since; by induction
// that orders all conflicting accesses.
func verifyOrder(buffers []Buffer, steps []Step, plan *Plan) error {
	r := replay{buffers: buffers, steps: steps, plan: plan}
	var err error
	if r.before, err = twoRuns(steps, plan); err != nil {
		return err
	}
	for i, b := range buffers {
		r.cuts = append(r.cuts, plan.Offsets[i], plan.Offsets[i]+b.Bytes)
	}
	slices.Sort(r.cuts)
	r.cuts = slices.Compact(r.cuts)
	r.cells = make([]cell, len(r.cuts))
	for i := range r.cells {
		r.cells[i].writer = -1
	}
	for now := range 2 * len(steps) {
		if err := r.step(now); err != nil {
			return err
		}
	}
	return nil
}

// span returns the cells of a buffer.
func (r *replay) span(b int) []cell {
	from, _ := slices.BinarySearch(r.cuts, r.plan.Offsets[b])
	to, _ := slices.BinarySearch(r.cuts, r.plan.Offsets[b]+r.buffers[b].Bytes)
	return r.cells[from:to]
}

// step checks one step and records its accesses.
func (r *replay) step(now int) error {
	st := &r.steps[now%len(r.steps)]
	free := func(earlier int) bool { // may it still be running?
		return earlier >= 0 && earlier != now && !r.before[now].has(earlier)
	}
	for _, b := range st.Reads {
		for _, c := range r.span(b) {
			if free(c.writer) {
				return r.unordered(b, c.writer, now, "writes")
			}
		}
	}
	for _, b := range st.Writes {
		for _, c := range r.span(b) {
			if free(c.writer) {
				return r.unordered(b, c.writer, now, "writes")
			}
			if i := slices.IndexFunc(c.readers, free); i >= 0 {
				return r.unordered(b, c.readers[i], now, "reads")
			}
		}
	}
	for _, b := range st.Reads {
		cells := r.span(b)
		for i := range cells {
			cells[i].readers = append(cells[i].readers, now)
		}
	}
	for _, b := range st.Writes {
		cells := r.span(b)
		for i := range cells {
			cells[i].writer, cells[i].readers = now, cells[i].readers[:0]
		}
	}
	return nil
}

// unordered describes two accesses of the same bytes that may run at once.
func (r *replay) unordered(b, earlier, later int, verb string) error {
	n := len(r.steps)
	when := ""
	if earlier < n && later >= n {
		when = " of the next run"
	}
	return fmt.Errorf("memplan: nothing orders %s%s after %s, which %s bytes of %s",
		stepLabel(r.steps, later%n), when, stepLabel(r.steps, earlier%n), verb, label(r.buffers, b))
}

// twoRuns returns for each step of two consecutive runs the set of steps that
// are known to have ended before it.
func twoRuns(steps []Step, plan *Plan) ([]bitset, error) {
	n := len(steps)
	preds := make([][]int, 2*n)
	for s, st := range steps {
		for _, a := range st.After {
			preds[s] = append(preds[s], a)
			preds[n+s] = append(preds[n+s], n+a)
		}
		preds[n+s] = append(preds[n+s], s)
	}
	onLane := map[int]int{} // the last step so far, over both runs
	for now := range preds {
		if lane := steps[now%n].Lane; lane != 0 {
			if p, ok := onLane[lane]; ok {
				preds[now] = append(preds[now], p)
			}
			onLane[lane] = now
		}
	}
	for _, h := range plan.Hazards {
		if h[0] < 0 || h[0] >= h[1] || h[1] >= n {
			return nil, fmt.Errorf("memplan: hazard %v among %d steps: want an earlier and a "+
				"later one", h, n)
		}
		preds[h[1]] = append(preds[h[1]], h[0])
		preds[n+h[1]] = append(preds[n+h[1]], n+h[0])
	}
	for _, w := range plan.Wraps {
		if w[0] < 0 || w[0] >= n || w[1] < 0 || w[1] >= n {
			return nil, fmt.Errorf("memplan: wrap %v among %d steps", w, n)
		}
		preds[n+w[1]] = append(preds[n+w[1]], w[0])
	}
	before := triangle(2 * n)
	for s, list := range preds {
		for _, p := range list {
			before[s].set(p)
			before[s].add(before[p])
		}
	}
	return before, nil
}
