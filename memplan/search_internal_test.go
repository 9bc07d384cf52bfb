package memplan

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestRoundsFor(t *testing.T) {
	for n, want := range map[int]int{0: 5000, 1: 5000, 10: 5000, 89: 5000, 90: 4937, 100: 3999,
		200: 999, 790: 64, 791: 64, 100000: 64} {
		if got := roundsFor(n); got != want {
			t.Errorf("%d buffers: got %d rounds, want %d", n, got, want)
		}
	}
}

func TestForward(t *testing.T) {
	for _, c := range []struct {
		at, round int
		want      []int32
	}{
		{4, 0, []int32{0, 1, 4, 2, 3, 5}},
		{4, 1, []int32{0, 1, 4, 2, 3, 5}},
		{4, 2, []int32{4, 0, 1, 2, 3, 5}},
		{5, 3, []int32{0, 1, 5, 2, 3, 4}},
		{5, 5, []int32{5, 0, 1, 2, 3, 4}},
		{1, 0, []int32{1, 0, 2, 3, 4, 5}},
		{0, 0, []int32{0, 1, 2, 3, 4, 5}},
	} {
		seq := []int32{0, 1, 2, 3, 4, 5}
		forward(seq, c.at, c.round)
		if !slices.Equal(seq, c.want) {
			t.Errorf("position %d in round %d: got %v, want %v", c.at, c.round, seq, c.want)
		}
	}
}

// TestSequences checks the keys of every order on items of which no two are alike.
func TestSequences(t *testing.T) {
	items := []item{
		{bytes: 40, start: 0, end: 0}, // alone
		{bytes: 10, start: 1, end: 4},
		{bytes: 20, start: 2, end: 3},
		{bytes: 30, start: 3, end: 3},
		{bytes: 20, start: 4, end: 4},
	}
	live := []int64{40, 10, 30, 60, 30}
	want := [][]int32{
		{3, 2, 1, 0, 4}, // meets most bytes, then large
		{1, 2, 3, 0, 4}, // meets most bytes, then long
		{0, 2, 1, 3, 4}, // large in bytes times time, then large
		{0, 3, 2, 4, 1}, // large
		{1, 2, 0, 3, 4}, // long
	}
	for i, got := range sequences(items, live) {
		if !slices.Equal(got, want[i]) {
			t.Errorf("order %d: got %v, want %v", i, got, want[i])
		}
	}
}

// TestSpare demands a twentieth of the bound, in units that divide every size.
func TestSpare(t *testing.T) {
	for _, c := range []struct {
		bytes []int64
		bound int64
		want  int64
	}{
		{[]int64{64}, 6400, 320}, {[]int64{64}, 6399, 256}, {[]int64{64}, 1279, 0},
		{[]int64{96, 64}, 6400, 320}, {[]int64{96, 64}, 6399, 288}, {[]int64{30, 42}, 2000, 96},
	} {
		var items []item
		for _, b := range c.bytes {
			items = append(items, item{bytes: b})
		}
		if got := spare(items, c.bound); got != c.want {
			t.Errorf("sizes %v, bound %d: got %d, want %d", c.bytes, c.bound, got, c.want)
		}
	}
}

// overlapping reports whether two items that are alive at one time have a byte in common.
func overlapping(items []item, offsets []int64) bool {
	for i, a := range items {
		for j, b := range items[:i] {
			if a.start <= b.end && b.start <= a.end && offsets[i] < offsets[j]+b.bytes &&
				offsets[j] < offsets[i]+a.bytes {
				return true
			}
		}
	}
	return false
}

// TestRetrace looks for plans at the lower bound. A plan that it finds is correct and within the
// limit; it finds one almost wherever the greedy search has found one, and more. Almost, because it
// puts items at the ends of gaps only.
func TestRetrace(t *testing.T) {
	more, missed := 0, 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 6))
		items, live := someItems(r, 2+r.IntN(14))
		bound := peak(live)
		work := int64(scanBudget)
		greedy := search(items, live, -1, &work)
		before := work
		l, found := retrace(items, bound, &work)
		if used := before - work; used <= 0 || used > retraceVisits+int64(len(items)) {
			t.Errorf("seed %d: %d visits, want 1 to %d", seed, used, retraceVisits)
		}
		switch {
		case found && (l.total > bound || overlapping(items, l.offsets)):
			t.Errorf("seed %d: a wrong plan of %d bytes, bound %d", seed, l.total, bound)
		case !found && greedy.total == bound:
			missed++
		case found && greedy.total > bound:
			more++
		}
		if l, found := retrace(items, bound-4, &work); found {
			t.Errorf("seed %d: a plan of %d bytes below the bound %d", seed, l.total, bound)
		}
	}
	if more == 0 || missed > 3 {
		t.Errorf("backtracking finds more than greedy placement in %d cases, less in %d; want "+
			"some "+
			"and at most three", more, missed)
	}
}

// TestRetraceNeedsWork demands that a search without enough work gives up at once.
func TestRetraceNeedsWork(t *testing.T) {
	items := make([]item, 10)
	for i := range items {
		items[i] = item{bytes: 4, start: int32(i), end: int32(i)}
	}
	for work, want := range map[int64]bool{0: false, 99: false, 100: true, 200: true} {
		left := work
		if _, found := retrace(items, 4, &left); found != want {
			t.Errorf("work %d: got %v, want %v", work, found, want)
		} else if !want && left != work {
			t.Errorf("work %d: %d left, want all of it", work, left)
		}
	}
	if _, found := retrace(make([]item, 1001), 4, new(int64(scanBudget))); found {
		t.Error("1001 items are searched, want at most 1000")
	}
}

// TestRetraceStops gives searches less and less work. A search that takes n visits, and more than the
// square of the number of items, needs one more, because it stops where none is left.
func TestRetraceStops(t *testing.T) {
	cases := 0
	for seed := range uint64(300) {
		items, live := someItems(rand.New(rand.NewPCG(seed, 6)), 12)
		work := int64(scanBudget)
		_, found := retrace(items, peak(live), &work)
		used := scanBudget - work
		if !found || used < 12*12 {
			continue
		}
		cases++
		for left, want := range map[int64]bool{used: false, used + 1: true} {
			work := left
			if _, found := retrace(items, peak(live), &work); found != want {
				t.Errorf("seed %d, work %d: got %v, want %v", seed, left, found, want)
			}
		}
	}
	if cases < 10 {
		t.Errorf("%d searches take more visits than their least work, want 10", cases)
	}
}

// TestRetraceTakesDecisionsBack fails to place three items, and looks at the state that is left.
func TestRetraceTakesDecisionsBack(t *testing.T) {
	r := retracer{items: []item{{bytes: 8}, {bytes: 8}, {bytes: 8}}, seq: []int32{0, 1, 2}, limit: 20,
		visits: 1000, failed: map[uint64]struct{}{}}
	r.out.offsets = make([]int64, 3)
	if r.descend(0) || len(r.placed) != 0 || len(r.spots) != 0 || len(r.failed) == 0 {
		t.Errorf("got %+v, want nothing placed, no spots, and the states that failed", r)
	}
}

// TestSearchStops demands that a search takes no visits where a sweep reaches the bound, and that
// improvement takes none without rounds and gives up where no work is left.
func TestSearchStops(t *testing.T) {
	items := []item{{bytes: 4}, {bytes: 8, start: 1, end: 1}, {bytes: 4, start: 2, end: 2}}
	work := int64(100)
	if l := search(items, []int64{4, 8, 4}, 10, &work); l.total != 8 || work != 100 {
		t.Errorf("got %d bytes and %d visits left, want 8 and 100", l.total, work)
	}
	var s shelf
	start := layout{total: 16, offsets: []int64{0, 4, 12}, seq: []int32{0, 1, 2}}
	for _, c := range []struct {
		rounds       int
		work, left   int64
		total, bound int64
	}{
		{0, 100, 100, 16, 8}, {1, 100, 97, 8, 8}, {10, 100, 97, 8, 8}, {10, 2, -1, 16, 8},
		{10, 100, 100, 16, 16},
	} {
		work := c.work
		if l := improve(&s, items, start, c.bound, c.rounds, &work); l.total != c.total ||
			work != c.left {
			t.Errorf("%d rounds, work %d: got %d bytes and %d visits left, want %d and %d",
				c.rounds, c.work, l.total, work, c.total, c.left)
		}
	}
}

// TestImproveLowersTotals gives improve orders at random. Its result is correct, never larger, and
// not changed by rounds of zero.
func TestImproveLowersTotals(t *testing.T) {
	better := 0
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 7))
		items, live := someItems(r, 2+r.IntN(30))
		seq := make([]int32, len(items))
		for i := range seq {
			seq[i] = int32(i)
		}
		r.Shuffle(len(seq), func(i, j int) { seq[i], seq[j] = seq[j], seq[i] })
		var s shelf
		work := int64(scanBudget)
		first, failed := s.place(items, seq, bestFit, 1<<40, &work)
		if failed != -1 {
			t.Fatalf("seed %d: placing failed at %d", seed, failed)
		}
		none := improve(&s, items, first, peak(live), 0, &work)
		last := improve(&s, items, first, peak(live), 200, &work)
		if none.total != first.total || last.total > first.total || last.total < peak(live) ||
			overlapping(items, last.offsets) {
			t.Errorf("seed %d: %d bytes became %d, bound %d", seed, first.total, last.total,
				peak(live))
		}
		if last.total < first.total {
			better++
			again, _ := s.place(items, last.seq, last.fit, 1<<40, &work)
			if !slices.Equal(again.offsets, last.offsets) {
				t.Errorf("seed %d: the order of the result gives another placement", seed)
			}
		}
		if !slices.Equal(first.seq, seq) {
			t.Errorf("seed %d: improve has changed the order that it was given", seed)
		}
	}
	if better < 30 {
		t.Errorf("%d of 100 random orders are improved, want 30 at least", better)
	}
}
