package memplan

import (
	"cmp"
	"slices"
	"sort"
)

// order returns the hazards of a run, sorted by their later step.
//
// The run is replayed in the order of its steps over a map from bytes to owners. A step conflicts
// with the last writer of the bytes it reads, and with the last writer and all later readers of the
// bytes it writes: the conditions of Bernstein (Analysis of Programs for Parallel Processing,
// 1966). A conflict that the order known so far does not imply becomes a pair. The replay looks at
// the latest conflict of a step first, which makes the pairs of the step minimal: an earlier step
// never implies that a later one has run.
func order(buffers []Buffer, steps []Step, offsets []int64) (hazards [][2]int) {
	t := newTracker(buffers, offsets)
	known := NewOrder(len(steps))
	preds := directPreds(steps)
	for s := range steps {
		for _, p := range preds[s] {
			known.Add(p, s)
		}
		for _, c := range t.run(s, &steps[s]) {
			if known.Has(c, s) {
				continue
			}
			known.Add(c, s)
			hazards = append(hazards, [2]int{c, s})
		}
		if Invariants {
			demand(t.check())
		}
	}
	slices.SortFunc(hazards, byLater)
	return hazards
}

// byLater compares pairs by their later, then by their earlier step.
func byLater(a, b [2]int) int {
	return cmp.Or(cmp.Compare(a[1], b[1]), cmp.Compare(a[0], b[0]))
}

// directPreds returns for each step its predecessors without hazards: its After steps and the step
// before it on its lane.
func directPreds(steps []Step) [][]int {
	preds := make([][]int, len(steps))
	last := map[int]int{} // by lane: the latest step so far
	for s := range steps {
		preds[s] = append(preds[s], steps[s].After...)
		if lane := steps[s].Lane; lane != 0 {
			if p, ok := last[lane]; ok {
				preds[s] = append(preds[s], p)
			}
			last[lane] = s
		}
	}
	return preds
}

// owner is a range of bytes, lo included and hi not, and the buffer that claimed it last.
type owner struct {
	lo, hi int64
	buffer int32
}

// tracker replays a run and knows for all bytes their last users. It belongs to one call of order.
//
// Invariants:
//
//  1. owners is sorted by lo, and its ranges are not empty and disjoint.
//  2. The users of a buffer are final once another buffer has claimed bytes of it, because lives
//     that share bytes do not meet.
type tracker struct {
	buffers []Buffer
	offsets []int64
	owners  []owner
	uses    []use // by buffer
	found   []int // conflicts of the step that run works on; its memory is used again by the next
}

// use lists the steps that have used a buffer so far. A later step has to wait for the readers if
// there are any, because they wait for the writer; else for the writer.
type use struct {
	claimed bool  // a step has written the buffer; without it writer means nothing
	writer  int   // the step that wrote last
	readers []int // the steps that read after it
}

func newTracker(buffers []Buffer, offsets []int64) *tracker {
	return &tracker{buffers: buffers, offsets: offsets, uses: make([]use, len(buffers))}
}

// run replays step s and returns the steps it conflicts with, the latest first and each once. The
// result is valid until the next call.
func (t *tracker) run(s int, st *Step) []int {
	t.found = t.found[:0]
	for _, b := range st.Reads {
		if u := &t.uses[b]; u.claimed {
			t.found = append(t.found, u.writer)
		}
	}
	for _, b := range st.Writes {
		switch u := &t.uses[b]; {
		case t.buffers[b].Bytes == 0:
		case u.claimed:
			t.found = append(append(t.found, u.writer), u.readers...)
		default:
			u.claimed, u.writer = true, s
			t.claim(int32(b), t.offsets[b], t.offsets[b]+t.buffers[b].Bytes)
		}
	}
	// Uses are recorded after all conflicts are found, or a step that reads and writes a buffer
	// would lose the readers before it.
	for _, b := range st.Reads {
		t.uses[b].readers = append(t.uses[b].readers, s)
	}
	for _, b := range st.Writes {
		u := &t.uses[b]
		u.writer, u.readers = s, u.readers[:0]
	}
	slices.SortFunc(t.found, func(a, b int) int { return cmp.Compare(b, a) })
	t.found = slices.DeleteFunc(t.found, func(c int) bool { return c == s })
	return slices.Compact(t.found)
}

// claim gives the bytes from lo to hi to a buffer and adds the last users of their previous owners
// to found. Owners that are claimed in part keep the rest.
func (t *tracker) claim(buffer int32, lo, hi int64) {
	from := sort.Search(len(t.owners), func(i int) bool { return t.owners[i].hi > lo })
	to := sort.Search(len(t.owners), func(i int) bool { return t.owners[i].lo >= hi })
	// The owners from position from up to but without to meet the range. Pieces take their place:
	// the rest of the first one, the new owner, and the rest of the last one.
	var before, after []owner
	for _, o := range t.owners[from:to] {
		u := &t.uses[o.buffer]
		if len(u.readers) > 0 {
			t.found = append(t.found, u.readers...)
		} else {
			t.found = append(t.found, u.writer)
		}
		if o.lo < lo {
			before = []owner{{o.lo, lo, o.buffer}}
		}
		if o.hi > hi {
			after = []owner{{hi, o.hi, o.buffer}}
		}
	}
	t.owners = slices.Replace(t.owners, from, to,
		slices.Concat(before, []owner{{lo, hi, buffer}}, after)...)
}
