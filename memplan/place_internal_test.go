package memplan

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestShelfAgrees compares a shelf with a list that is sorted after every insertion and searched
// from its beginning. Many rectangles begin at the same address.
func TestShelfAgrees(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 3))
		var s shelf
		for range 2 { // the second time in chunks of the first
			s.reset()
			var list []placed
			for range 1 + r.IntN(900) {
				it := item{bytes: 1 + r.Int64N(40), start: r.Int32N(20)}
				it.end = it.start + r.Int32N(5)
				for _, f := range [2]fit{firstFit, bestFit} {
					if got, want := s.find(it, f), dumbFind(list, it, f); got != want {
						t.Fatalf("seed %d, fit %d: got offset %d among %d, want %d", seed, f, got,
							len(list), want)
					}
				}
				lo := r.Int64N(300)
				p := placed{lo: lo, hi: lo + 1 + r.Int64N(20), start: it.start, end: it.end}
				s.insert(p)
				list = append(list, p)
				if err := s.check(); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
			}
			slices.SortStableFunc(list, func(a, b placed) int { return cmp.Compare(a.lo, b.lo) })
			if got := slices.Concat(s.chunks...); !slices.Equal(got, list) {
				t.Errorf("seed %d: the shelf has other rectangles, or not in the order in which "+
					"they were inserted", seed)
			}
		}
	}
}

// TestShelfKeepsItsMemory fills a shelf again and again.
func TestShelfKeepsItsMemory(t *testing.T) {
	var s shelf
	fill := func() {
		s.reset()
		for lo := range int64(3 * chunkSize) {
			s.insert(placed{lo: lo, hi: lo + 1})
		}
	}
	fill()
	if n := testing.AllocsPerRun(10, fill); n != 0 {
		t.Errorf("filling a shelf a second time allocates %v times, want 0", n)
	}
}

// dumbFind looks at every address that is free during the life of an item: gaps by first or best
// fit, and the end of all rectangles if there is none.
func dumbFind(list []placed, it item, f fit) int64 {
	taken := map[int64]bool{}
	end := int64(0)
	for _, p := range list {
		if p.start <= it.end && it.start <= p.end {
			for a := p.lo; a < p.hi; a++ {
				taken[a] = true
			}
			end = max(end, p.hi)
		}
	}
	best, bestSize := end, int64(math.MaxInt64)
	for lo := int64(0); lo < end; lo++ {
		if taken[lo] {
			continue
		}
		hi := lo
		for !taken[hi] {
			hi++
		}
		if size := hi - lo; size >= it.bytes && size < bestSize {
			best, bestSize = lo, size
			if f == firstFit {
				return best
			}
		}
		lo = hi
	}
	return best
}

// someItems returns items of random sizes and lives, and the bytes alive at every rank.
func someItems(r *rand.Rand, n int) ([]item, []int64) {
	buffers := make([]Buffer, n)
	chosen := make([]int32, n)
	for i := range buffers {
		start := r.IntN(n)
		buffers[i] = Buffer{Bytes: 1 + r.Int64N(60), Start: start,
			End: start + min(r.IntN(n), r.IntN(n))}
		chosen[i] = int32(i)
	}
	g := newGroup(buffers, chosen, 4)
	return g.items, g.live
}

// TestCrowds compares the table of maxima with a scan of every life.
func TestCrowds(t *testing.T) {
	for seed := range uint64(50) {
		items, live := someItems(rand.New(rand.NewPCG(seed, 4)), 1+int(seed))
		for i, got := range crowds(items, live) {
			if want := slices.Max(live[items[i].start : items[i].end+1]); got != want {
				t.Fatalf("seed %d: item %d meets %d bytes, want %d", seed, i, got, want)
			}
		}
	}
}

// TestSweepAgrees compares a sweep with placing the items one by one in the order of their start,
// which is its definition.
func TestSweepAgrees(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 5))
		items, _ := someItems(r, 1+r.IntN(60))
		for _, backward := range []bool{false, true} {
			seen := items
			if backward {
				seen = mirrored(items)
			}
			seq := sequence(seen, func(i int32) float64 { return float64(seen[i].start) },
				func(i int32) float64 { return -float64(seen[i].bytes) })
			for _, f := range [2]fit{firstFit, bestFit} {
				var s shelf
				work := int64(scanBudget)
				want, failed := s.place(seen, seq, f, math.MaxInt64, &work)
				got := sweep(items, f, backward)
				if failed != -1 || got.total != want.total ||
					f == firstFit && !slices.Equal(got.offsets, want.offsets) {
					t.Fatalf("seed %d, backward %v, fit %d: got %v of %d bytes, want %v of %d",
						seed, backward, f, got.offsets, got.total, want.offsets, want.total)
				}
			}
		}
	}
}

// TestGaps frees and takes ranges beside a map of free bytes.
func TestGaps(t *testing.T) {
	free := []gap{{0, 10}, {20, 22}, {30, 35}, {40, 42}, {50, math.MaxInt64}}
	for _, c := range []struct {
		bytes       int64
		first, best int
	}{{1, 0, 1}, {2, 0, 1}, {3, 0, 2}, {5, 0, 2}, {6, 0, 0}, {10, 0, 0}, {11, 4, 4}} {
		if got := choose(free, c.bytes, firstFit); got != c.first {
			t.Errorf("first fit of %d bytes: got gap %d, want %d", c.bytes, got, c.first)
		}
		if got := choose(free, c.bytes, bestFit); got != c.best {
			t.Errorf("best fit of %d bytes: got gap %d, want %d", c.bytes, got, c.best)
		}
	}
	for _, c := range []struct {
		g    gap
		want []gap
	}{
		{gap{12, 15}, []gap{{0, 10}, {12, 15}, {20, 22}, {30, math.MaxInt64}}},
		{gap{10, 12}, []gap{{0, 12}, {20, 22}, {30, math.MaxInt64}}},
		{gap{18, 20}, []gap{{0, 10}, {18, 22}, {30, math.MaxInt64}}},
		{gap{10, 20}, []gap{{0, 22}, {30, math.MaxInt64}}},
		{gap{22, 30}, []gap{{0, 10}, {20, math.MaxInt64}}},
	} {
		free := []gap{{0, 10}, {20, 22}, {30, math.MaxInt64}}
		if got := release(free, c.g); !slices.Equal(got, c.want) {
			t.Errorf("freeing %v: got %v, want %v", c.g, got, c.want)
		}
	}
	if got := release(nil, gap{1, 2}); !slices.Equal(got, []gap{{1, 2}}) {
		t.Errorf("freeing into nothing: got %v", got)
	}
}

// TestPlaceStops places items below a limit, and with less work than they need.
func TestPlaceStops(t *testing.T) {
	items := []item{{bytes: 8}, {bytes: 8}, {bytes: 8}}
	seq := []int32{2, 0, 1}
	var s shelf
	for _, c := range []struct {
		limit, work, left int64
		want              int
		total             int64
	}{
		{25, 3, 0, -1, 24},
		{24, 3, 0, 2, 16},
		{16, 3, 2, 1, 8},
		{8, 3, 3, 0, 0},
		{25, 2, -1, -2, 16},
		{25, 0, -1, -2, 8},
	} {
		work := c.work
		l, failed := s.place(items, seq, firstFit, c.limit, &work)
		if failed != c.want || l.total != c.total || work != c.left {
			t.Errorf("limit %d, work %d: got %d, total %d and %d left; want %d, %d and %d", c.limit,
				c.work, failed, l.total, work, c.want, c.total, c.left)
		}
		if failed == -1 && !slices.Equal(l.offsets, []int64{8, 16, 0}) {
			t.Errorf("limit %d: got offsets %v", c.limit, l.offsets)
		}
	}
}
