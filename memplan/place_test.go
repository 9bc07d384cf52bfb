package memplan_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gomx/memplan"
)

// optimum finds the smallest arena by trying every order with the lowest place
// for each buffer. One of the orders is that of the addresses of an optimal
// plan, and placing low never leaves it.
func optimum(buffers []memplan.Buffer, align int64) int64 {
	n := len(buffers)
	best := int64(1) << 62
	offsets, order := make([]int64, n), make([]int, 0, n)
	used := make([]bool, n)
	var try func(total int64)
	try = func(total int64) {
		if total >= best {
			return
		}
		if len(order) == n {
			best = total
			return
		}
		for i := range buffers {
			if used[i] {
				continue
			}
			offsets[i] = lowest(buffers, offsets, order, i, align)
			used[i], order = true, append(order, i)
			try(max(total, offsets[i]+roundUp(buffers[i].Bytes, align)))
			used[i], order = false, order[:len(order)-1]
		}
	}
	try(0)
	return best
}

// lowest returns the lowest free address for buffer i beside those placed.
func lowest(buffers []memplan.Buffer, offsets []int64, placed []int, i int, align int64) int64 {
	at := int64(0)
	for moved := true; moved; {
		moved = false
		for _, j := range placed {
			a, b := buffers[i], buffers[j]
			if a.Start <= b.End && b.Start <= a.End && at < offsets[j]+b.Bytes &&
				offsets[j] < at+a.Bytes {
				at, moved = offsets[j]+roundUp(b.Bytes, align), true
			}
		}
	}
	return at
}

func roundUp(n, align int64) int64 { return (n + align - 1) / align * align }

func TestCloseToOptimum(t *testing.T) {
	const cases = 300
	exact := 0
	for seed := range uint64(cases) {
		r := newRand(seed)
		buffers := intervals(r, 2+r.IntN(6), 8, 40)
		for i := range buffers {
			buffers[i].Bytes++ // empty ones make the search long and test nothing
		}
		plan := mustCompute(t, buffers, nil, memplan.Config{Align: 4})
		best := optimum(buffers, 4)
		if plan.Total < best || float64(plan.Total) > 1.15*float64(best) {
			t.Errorf("seed %d: total %d, optimum %d", seed, plan.Total, best)
		}
		if plan.Total == best {
			exact++
		}
	}
	if exact < cases*97/100 {
		t.Errorf("%d of %d tiny plans are optimal", exact, cases)
	}
}

func TestRandomIntervals(t *testing.T) {
	for _, n := range []int{1, 3, 10, 100, 600} {
		for _, seed := range seeds(10) {
			r := newRand(seed)
			buffers := intervals(r, n, 1+r.IntN(n), 1<<r.IntN(30))
			align := int64(1) << r.IntN(10)
			plan := mustCompute(t, buffers, nil, memplan.Config{Align: align})
			bound, naive := dumbBounds(buffers, align)
			if plan.LowerBound != bound || plan.Naive != naive {
				t.Errorf("n=%d seed %d: bounds %d and %d, want %d and %d", n, seed, plan.LowerBound,
					plan.Naive, bound, naive)
			}
			if plan.Total < bound || plan.Total > naive {
				t.Errorf("n=%d seed %d: total %d outside %d to %d", n, seed, plan.Total, bound,
					naive)
			}
			if float64(plan.Total) > 1.12*float64(bound) {
				t.Errorf("n=%d seed %d: total %d is %.3f times the lower bound", n, seed,
					plan.Total, float64(plan.Total)/float64(bound))
			}
		}
	}
}

// dumbBounds sums what is alive at every start, and everything.
func dumbBounds(buffers []memplan.Buffer, align int64) (bound, naive int64) {
	for _, at := range buffers {
		live := int64(0)
		for _, b := range buffers {
			if b.Start <= at.Start && at.Start <= b.End {
				live += roundUp(b.Bytes, align)
			}
		}
		bound = max(bound, live)
		naive += roundUp(at.Bytes, align)
	}
	return bound, naive
}

// TestMoreRoundsNeverHurt checks that improvement only ever improves.
func TestMoreRoundsNeverHurt(t *testing.T) {
	for _, seed := range seeds(10) {
		buffers := intervals(newRand(seed), 120, 40, 1<<20)
		last := int64(1) << 62
		for _, rounds := range []int{-1, 4, 64, 256} {
			plan := mustCompute(t, buffers, nil, memplan.Config{Rounds: rounds})
			if plan.Total > last {
				t.Errorf("seed %d: %d rounds give %d, fewer gave %d", seed, rounds, plan.Total,
					last)
			}
			last = plan.Total
		}
	}
}

// profile reads the lives of a real network's tensors: start, end, bytes and
// kind (a or g) per line.
func profile(t testing.TB, file string) []memplan.Buffer {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []memplan.Buffer
	for line := range strings.Lines(string(text)) {
		var b memplan.Buffer
		var kind string
		if _, err := fmt.Sscan(line, &b.Start, &b.End, &b.Bytes, &kind); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if kind == "g" {
			b.Kind = memplan.Gradient
		}
		out = append(out, b)
	}
	return out
}

func TestNetworksReachTheBound(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no profiles: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			buffers := profile(t, file)
			plan := mustCompute(t, buffers, nil, memplan.Config{})
			if float64(plan.Total) > 1.005*float64(plan.LowerBound) {
				t.Errorf("%v", plan)
			}
			if pool := sizeMatching(buffers); plan.Total > pool {
				t.Errorf("%d bytes, matching sizes greedily takes %d", plan.Total, pool)
			}
		})
	}
}

// TestAlternatingSizes plans an unrolled recurrent network, whose large and small buffers
// alternate: greedy placements take a tenth more than the lower bound.
func TestAlternatingSizes(t *testing.T) {
	buffers := profile(t, filepath.Join("testdata", "alternating", "lstm_t10_h1024_b16_infer.txt"))
	greedy := mustCompute(t, buffers, nil, memplan.Config{Rounds: -1})
	if 20*greedy.Total <= 21*greedy.LowerBound {
		t.Errorf("%v without a search: the case is too easy", greedy)
	}
	plan := mustCompute(t, buffers, nil, memplan.Config{})
	if 20*plan.Total > 21*plan.LowerBound {
		t.Errorf("%v", plan)
	}
	if err := memplan.Verify(buffers, nil, plan); err != nil {
		t.Error(err)
	}
}

// sizeMatching is the planner of systems without offsets: whole blocks are
// reused, the best fitting free one first, and grow when they are too small.
func sizeMatching(buffers []memplan.Buffer) (total int64) {
	type block struct {
		bytes int64
		until int
	}
	var blocks []block
	seq := slices.Clone(buffers)
	slices.SortStableFunc(seq, func(a, b memplan.Buffer) int { return a.Start - b.Start })
	for _, b := range seq {
		best := -1
		for i, k := range blocks {
			if k.until >= b.Start {
				continue
			}
			if best < 0 || (k.bytes >= b.Bytes) != (blocks[best].bytes >= b.Bytes) &&
				k.bytes >= b.Bytes ||
				(k.bytes >= b.Bytes) == (blocks[best].bytes >= b.Bytes) &&
					(k.bytes < blocks[best].bytes) == (k.bytes >= b.Bytes) {
				best = i
			}
		}
		if best < 0 {
			blocks = append(blocks, block{})
			best = len(blocks) - 1
		}
		blocks[best] = block{max(blocks[best].bytes, b.Bytes), b.End}
	}
	for _, k := range blocks {
		total += k.bytes
	}
	return total
}

func TestManyBuffers(t *testing.T) {
	// The budget counts visits, so that this is a test of work, not of time.
	const n = 20000
	for _, times := range []int{50, n} {
		buffers := intervals(newRand(1), n, times, 1<<20)
		plan := mustCompute(t, buffers, nil, memplan.Config{})
		if float64(plan.Total) > 1.05*float64(plan.LowerBound) {
			t.Errorf("%d times: %v", times, plan)
		}
	}
}

func BenchmarkCompute(b *testing.B) {
	for _, name := range []string{"resnet50_v1_b1_train", "inceptionv3_b1_train"} {
		b.Run(name, func(b *testing.B) {
			buffers := profile(b, filepath.Join("testdata", name+".txt"))
			for b.Loop() {
				if _, err := memplan.Compute(buffers, nil, memplan.Config{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("20000", func(b *testing.B) {
		buffers := intervals(newRand(1), 20000, 20000, 1<<20)
		for b.Loop() {
			if _, err := memplan.Compute(buffers, nil, memplan.Config{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
