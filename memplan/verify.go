package memplan

import (
	"cmp"
	"fmt"
	"slices"
)

// Verify checks a plan independently of how it was made: that offsets are
// aligned and inside the arena, that no two buffers that are alive at the same
// step overlap, that the sizes the plan reports are true, and that every use of
// bytes is ordered after the uses it must see the end of. It answers the first fault found, naming
// buffers and steps.
//
// It does not check that hazards are minimal. Offsets, totals and hazards may be anything: Verify
// never panics on a damaged plan, and its checks run in an order in which each may rely on those
// before it.
func Verify(buffers []Buffer, steps []Step, plan *Plan) error {
	if err := checkInput(buffers, steps, Config{Align: plan.Align}); err != nil {
		return err
	}
	if len(plan.Offsets) != len(buffers) {
		return fmt.Errorf("memplan: the plan has %d offsets for %d buffers", len(plan.Offsets),
			len(buffers))
	}
	if err := verifyRoom(buffers, plan); err != nil {
		return err
	}
	if err := verifyOverlap(buffers, plan); err != nil {
		return err
	}
	if err := verifySums(buffers, plan); err != nil {
		return err
	}
	if err := verifyParts(buffers, plan); err != nil {
		return err
	}
	if len(steps) == 0 {
		return nil
	}
	return verifyOrder(buffers, steps, plan)
}

// verifyRoom checks every buffer alone. Sums and comparisons that follow cannot overflow, because
// each offset is at most Total afterwards.
func verifyRoom(buffers []Buffer, plan *Plan) error {
	for i, b := range buffers {
		off, size := plan.Offsets[i], roundUp(b.Bytes, plan.Align)
		if off < 0 || off%plan.Align != 0 {
			return fmt.Errorf("memplan: %s at offset %d: want a multiple of %d", label(buffers, i),
				off, plan.Align)
		}
		if b.Bytes > 0 && (plan.Total < size || off > plan.Total-size) {
			return fmt.Errorf("memplan: %s with %d bytes at offset %d leaves the arena of %d",
				label(buffers, i), b.Bytes, off, plan.Total)
		}
	}
	return nil
}

// verifySums checks the totals that the plan states. The plan does not say whether its lanes were
// separate, so either of the two lower bounds will do.
func verifySums(buffers []Buffer, plan *Plan) error {
	naive, top := int64(0), int64(0)
	for i, b := range buffers {
		size := roundUp(b.Bytes, plan.Align)
		naive += size
		if size > 0 {
			top = max(top, plan.Offsets[i]+size)
		}
	}
	if plan.Total != top || plan.Naive != naive {
		return fmt.Errorf("memplan: total %d, naive %d: want %d and %d", plan.Total, plan.Naive,
			top, naive)
	}
	low, high := bounds(buffers, plan.Align)
	if plan.LowerBound > plan.Total || plan.LowerBound != low && plan.LowerBound != high {
		return fmt.Errorf("memplan: lower bound %d with a total of %d: want %d, or %d with "+
			"lanes apart", plan.LowerBound, plan.Total, low, high)
	}
	return nil
}

// verifyParts checks that lanes with parts of their own keep to them. Parts follow each other
// without gaps and none is named twice, so no two lanes can have a byte in common.
func verifyParts(buffers []Buffer, plan *Plan) error {
	if plan.Lanes == nil {
		return nil
	}
	parts, top := map[int]Part{}, int64(0)
	for _, p := range plan.Lanes {
		if _, twice := parts[p.Lane]; twice || p.Offset != top || p.Bytes < 0 ||
			p.Bytes > plan.Total-top {
			return fmt.Errorf("memplan: lane %d has the part of %d bytes at %d: want one part "+
				"for each lane, the first free byte being %d of %d",
				p.Lane, p.Bytes, p.Offset, top, plan.Total)
		}
		parts[p.Lane], top = p, top+p.Bytes
	}
	for i, b := range buffers {
		p, ok := parts[b.Lane]
		if b.Bytes > 0 && (!ok || plan.Offsets[i] < p.Offset ||
			plan.Offsets[i]+b.Bytes > p.Offset+p.Bytes) {
			return fmt.Errorf("memplan: %s with %d bytes at offset %d leaves the part of lane "+
				"%d, %d bytes at %d",
				label(buffers, i), b.Bytes, plan.Offsets[i], b.Lane, p.Bytes, p.Offset)
		}
	}
	return nil
}

// bounds returns the most bytes alive at once, and the sum of that over lanes, which lanes that
// share nothing demand. It sorts events where Compute ranks times, so that one does not repeat a
// fault of the other.
func bounds(buffers []Buffer, align int64) (together, apart int64) {
	type event struct {
		time  int
		bytes int64
	}
	var all []event
	lanes := map[int][]event{}
	for _, b := range buffers {
		size := roundUp(b.Bytes, align)
		pair := []event{{b.Start, size}, {b.End, -size}}
		all = append(all, pair...)
		lanes[b.Lane] = append(lanes[b.Lane], pair...)
	}
	highest := func(events []event) (high int64) {
		slices.SortFunc(events, func(a, b event) int {
			// Starts before ends: End is inclusive.
			return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(b.bytes, a.bytes))
		})
		now := int64(0)
		for _, e := range events {
			now += e.bytes
			high = max(high, now)
		}
		return high
	}
	for _, events := range lanes {
		apart += highest(events)
	}
	return highest(all), apart
}

// verifyOverlap compares all buffers that share addresses. Sorted by offset, a buffer can overlap
// only those that begin before it ends.
func verifyOverlap(buffers []Buffer, plan *Plan) error {
	seq := make([]int, 0, len(buffers))
	for i, b := range buffers {
		if b.Bytes > 0 {
			seq = append(seq, i)
		}
	}
	slices.SortFunc(seq, func(a, b int) int {
		return cmp.Compare(plan.Offsets[a], plan.Offsets[b])
	})
	for k, i := range seq {
		a := &buffers[i]
		for _, j := range seq[k+1:] {
			if plan.Offsets[j] >= plan.Offsets[i]+a.Bytes {
				break
			}
			if b := &buffers[j]; a.Start <= b.End && b.Start <= a.End {
				return fmt.Errorf("memplan: %s and %s are both alive at step %d and overlap at "+
					"address %d",
					label(buffers, i), label(buffers, j), max(a.Start, b.Start), plan.Offsets[j])
			}
		}
	}
	return nil
}
