package memplan

import (
	"cmp"
	"slices"
)

// order returns the hazards of one run and the wraps between two runs.
//
// Two runs are replayed in the order of their steps over a map from bytes
// to owners. A step conflicts with the last writer of the bytes it reads, and
// with the last writer and all later readers of the bytes it writes. Conflicts
// that the order known so far does not imply become pairs; looking at the
// latest conflict first makes the pairs of a step minimal, because an earlier
// step never implies that a later one has run.
func order(buffers []Buffer, steps []Step, offsets []int64) (hazards, wraps [][2]int) {
	n := len(steps)
	t := newTracker(buffers, offsets)
	preds := directPreds(steps)
	before := triangle(n) // before[s]: steps of the same run that s comes after
	for s := range steps {
		row := before[s]
		for _, p := range preds[s] {
			row.set(p)
			row.add(before[p])
		}
		for _, c := range t.run(s, 0, &steps[s]) {
			if row.has(c) {
				continue
			}
			row.set(c)
			row.add(before[c])
			hazards = append(hazards, [2]int{c, s})
			preds[s] = append(preds[s], c)
		}
	}
	last := lastOfLane(steps)
	previous := square(n) // previous[s]: steps of the run before that s comes after
	for s := range steps {
		row := previous[s]
		row.set(s)
		row.add(before[s])
		if p, ok := last[steps[s].Lane]; ok {
			row.set(p)
			row.add(before[p])
		}
		for _, p := range preds[s] {
			row.add(previous[p])
		}
		for _, c := range t.run(s, n, &steps[s]) {
			if c >= n || row.has(c) {
				continue
			}
			row.set(c)
			row.add(before[c])
			wraps = append(wraps, [2]int{c, s})
		}
	}
	slices.SortFunc(hazards, byLater)
	slices.SortFunc(wraps, byLater)
	return hazards, wraps
}

// byLater compares pairs by their later, then by their earlier step.
func byLater(a, b [2]int) int {
	return cmp.Or(cmp.Compare(a[1], b[1]), cmp.Compare(a[0], b[0]))
}

// directPreds returns for each step its predecessors without hazards: its
// After steps and the step before it on its lane.
func directPreds(steps []Step) [][]int {
	preds := make([][]int, len(steps))
	last := map[int]int{}
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

// lastOfLane returns the last step of every lane that promises an order.
func lastOfLane(steps []Step) map[int]int {
	last := map[int]int{}
	for s := range steps {
		if lane := steps[s].Lane; lane != 0 {
			last[lane] = s
		}
	}
	return last
}

// owner says that bytes were last claimed by a buffer of the current or the
// previous run; buffers of the second run are numbered behind those of the first.
type owner struct {
	lo, hi int64
	buffer int32
}

// tracker replays runs and knows for all bytes their last users.
//
// Invariants: owners is sorted and its ranges are disjoint; a buffer's users
// are final once another buffer has claimed bytes of it, because lives that
// share bytes do not meet.
type tracker struct {
	buffers []Buffer
	offsets []int64
	owners  []owner
	uses    []use // by buffer, first and second run
	found   []int // scratch of run
}

// use lists the steps that have used a buffer so far.
type use struct {
	claimed bool
	writer  int   // the last writer
	readers []int // those who read since
}

func newTracker(buffers []Buffer, offsets []int64) *tracker {
	return &tracker{buffers: buffers, offsets: offsets, uses: make([]use, 2*len(buffers))}
}

// run replays one step and returns the steps it conflicts with, the latest
// first and each once. Steps of the second run are numbered from base.
func (t *tracker) run(s, base int, st *Step) []int {
	t.found = t.found[:0]
	self, shift := s+base, 0
	if base > 0 {
		shift = len(t.buffers)
	}
	for _, b := range st.Reads {
		if u := &t.uses[b+shift]; t.buffers[b].Bytes > 0 && u.claimed {
			t.found = append(t.found, u.writer)
		}
	}
	for _, b := range st.Writes {
		switch u := &t.uses[b+shift]; {
		case t.buffers[b].Bytes == 0:
		case u.claimed:
			t.found = append(append(t.found, u.writer), u.readers...)
		default:
			u.claimed, u.writer = true, self
			t.claim(int32(b+shift), t.offsets[b], t.offsets[b]+t.buffers[b].Bytes)
		}
	}
	for _, b := range st.Reads {
		t.uses[b+shift].readers = append(t.uses[b+shift].readers, self)
	}
	for _, b := range st.Writes {
		u := &t.uses[b+shift]
		u.writer, u.readers = self, u.readers[:0]
	}
	slices.SortFunc(t.found, func(a, b int) int { return cmp.Compare(b, a) })
	t.found = slices.DeleteFunc(t.found, func(c int) bool { return c == self })
	return slices.Compact(t.found)
}

// claim gives bytes to a buffer and adds the last users of their previous
// owners to found.
func (t *tracker) claim(buffer int32, lo, hi int64) {
	from, _ := slices.BinarySearchFunc(t.owners, lo, func(o owner, lo int64) int {
		if o.hi <= lo {
			return -1
		}
		return 1
	})
	to := from
	pieces := make([]owner, 0, 3)
	for ; to < len(t.owners) && t.owners[to].lo < hi; to++ {
		o := t.owners[to]
		u := &t.uses[o.buffer]
		if len(u.readers) > 0 {
			t.found = append(t.found, u.readers...)
		} else {
			t.found = append(t.found, u.writer)
		}
		if o.lo < lo {
			pieces = append(pieces, owner{o.lo, lo, o.buffer})
		}
		if o.hi > hi {
			pieces = append(pieces, owner{lo, hi, buffer}, owner{hi, o.hi, o.buffer})
		}
	}
	if len(pieces) == 0 || pieces[len(pieces)-1].lo < lo {
		pieces = append(pieces, owner{lo, hi, buffer})
	}
	t.owners = slices.Replace(t.owners, from, to, pieces...)
}
