package memplan

import (
	"fmt"
	"slices"
)

// cell is a range of addresses that no buffer begins or ends in, and the steps that used it last.
type cell struct {
	writer  int   // the step that wrote last, or none
	readers []int // the steps that read after it
}

// none is the writer of a cell that no step has written.
const none = -1

// replay is the state of the arena while steps run one after another. It belongs to one call of
// verifyOrder, which has checked before that all offsets lie inside the arena.
type replay struct {
	buffers []Buffer
	steps   []Step
	plan    *Plan
	order   *Order  // of the steps, as the plan keeps it
	cuts    []int64 // addresses where cells begin, sorted, and one where the last cell ends
	cells   []cell  // by position in cuts
}

// verifyOrder replays a run. Every access must be ordered after the last write of its cells, and a
// write also after the reads since then. By induction over the steps that orders all conflicting
// accesses: a write before the last one is ordered before the last one.
func verifyOrder(buffers []Buffer, steps []Step, plan *Plan) error {
	r := replay{buffers: buffers, steps: steps, plan: plan}
	var err error
	if r.order, err = orderOf(steps, plan); err != nil {
		return err
	}
	r.cuts = cutsOf(buffers, plan)
	r.cells = make([]cell, len(r.cuts))
	for i := range r.cells {
		r.cells[i].writer = none
	}
	for now := range steps {
		if err := r.step(now); err != nil {
			return err
		}
	}
	return nil
}

// cutsOf returns the addresses where buffers begin or end, sorted, and each once.
func cutsOf(buffers []Buffer, plan *Plan) (cuts []int64) {
	for i, b := range buffers {
		cuts = append(cuts, plan.Offsets[i], plan.Offsets[i]+b.Bytes)
	}
	slices.Sort(cuts)
	return slices.Compact(cuts)
}

// span returns the cells of buffer b, whose beginning and end are both cuts.
func (r *replay) span(b int) []cell {
	from, _ := slices.BinarySearch(r.cuts, r.plan.Offsets[b])
	to, _ := slices.BinarySearch(r.cuts, r.plan.Offsets[b]+r.buffers[b].Bytes)
	return r.cells[from:to]
}

// step checks one step and records its accesses.
func (r *replay) step(now int) error {
	st := &r.steps[now]
	running := func(earlier int) bool { // nothing says that it has ended
		return earlier != none && earlier != now && !r.order.Has(earlier, now)
	}
	for _, b := range st.Reads {
		for _, c := range r.span(b) {
			if running(c.writer) {
				return r.unordered(b, c.writer, now, "writes")
			}
		}
	}
	for _, b := range st.Writes {
		for _, c := range r.span(b) {
			if running(c.writer) {
				return r.unordered(b, c.writer, now, "writes")
			}
			if i := slices.IndexFunc(c.readers, running); i >= 0 {
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
	return fmt.Errorf("memplan: nothing orders %s after %s, which %s bytes of %s",
		stepLabel(r.steps, later), stepLabel(r.steps, earlier), verb, label(r.buffers, b))
}

// orderOf returns the order that a plan keeps: by After, by lanes and by hazards. It refuses
// hazards that are no pair of an earlier and a later step.
func orderOf(steps []Step, plan *Plan) (*Order, error) {
	n := len(steps)
	preds := make([][]int, n)
	for _, h := range plan.Hazards {
		if h[0] < 0 || h[0] >= h[1] || h[1] >= n {
			return nil, fmt.Errorf("memplan: hazard %v among %d steps: want an earlier and a "+
				"later one", h, n)
		}
		preds[h[1]] = append(preds[h[1]], h[0])
	}
	known := NewOrder(n)
	onLane := map[int]int{} // by lane: the latest step so far
	for s := range steps {
		for _, p := range slices.Concat(steps[s].After, preds[s]) {
			known.Add(p, s)
		}
		if lane := steps[s].Lane; lane != 0 {
			if p, ok := onLane[lane]; ok {
				known.Add(p, s)
			}
			onLane[lane] = s
		}
	}
	return known, nil
}
