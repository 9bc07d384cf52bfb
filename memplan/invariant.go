package memplan

import (
	"fmt"
	"math"
	"slices"
)

// check verifies the invariants of a plan that the package lists. Compute calls it for every plan
// of a build with the tag invariants. It costs as much as making the plan, and more for the
// hazards: each is left out once, which takes time in the square of their number.
func (p *Plan) check(buffers []Buffer, steps []Step) error {
	if err := Verify(buffers, steps, p); err != nil {
		return fmt.Errorf("memplan: invariant broken: %w", err)
	}
	if p.Total > p.Naive {
		return fmt.Errorf("memplan: invariant broken: total %d is more than %d, the size "+
			"without sharing", p.Total,
			p.Naive)
	}
	if !slices.IsSortedFunc(p.Hazards, byLater) {
		return fmt.Errorf("memplan: invariant broken: hazards %v are not sorted", p.Hazards)
	}
	return p.checkMinimal(steps)
}

// mostMinimal is the number of hazards up to which check looks for superfluous ones.
const mostMinimal = 500

// checkMinimal demands that no hazard follows from the others.
func (p *Plan) checkMinimal(steps []Step) error {
	if len(p.Hazards) > mostMinimal {
		return nil
	}
	for i, h := range p.Hazards {
		less := Plan{Hazards: slices.Delete(slices.Clone(p.Hazards), i, i+1)}
		known, err := orderOf(steps, &less)
		if err != nil {
			return err
		}
		if known.Has(h[0], h[1]) {
			return fmt.Errorf("memplan: invariant broken: hazard %v follows from the others", h)
		}
	}
	return nil
}

// check verifies the first invariant of the tracker.
func (t *tracker) check() error {
	end := int64(math.MinInt64)
	for _, o := range t.owners {
		if o.lo < end || o.hi <= o.lo {
			return fmt.Errorf("memplan: invariant broken: owner %+v begins before %d or is empty",
				o, end)
		}
		end = o.hi
	}
	return nil
}

// check verifies the invariants of the shelf.
func (s *shelf) check() error {
	count, last := 0, int64(math.MinInt64)
	for i, c := range s.chunks {
		if len(c) == 0 || len(c) > chunkSize {
			return fmt.Errorf("memplan: invariant broken: chunk %d has %d rectangles, want 1 to %d",
				i, len(c),
				chunkSize)
		}
		for _, p := range c {
			if p.lo < last {
				return fmt.Errorf("memplan: invariant broken: rectangle at %d behind one at %d",
					p.lo, last)
			}
			last = p.lo
		}
		count += len(c)
	}
	if count != s.count {
		return fmt.Errorf("memplan: invariant broken: the shelf has %d rectangles and counts %d",
			count, s.count)
	}
	return nil
}

// demand panics with an error of a check: a broken invariant is a fault of this package, and the
// state that it concerns is not fit for anything else.
func demand(err error) {
	if err != nil {
		panic(err)
	}
}
