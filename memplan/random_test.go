package memplan_test

import (
	"flag"
	"math/rand/v2"
	"testing"

	"gomx/memplan"
)

var seedFlag = flag.Uint64("seed", 0, "seed of the random tests; 0 means a few fixed ones")

// seeds returns the seeds to run a random test with.
func seeds(n int) []uint64 {
	if *seedFlag != 0 {
		return []uint64{*seedFlag}
	}
	out := make([]uint64, n)
	for i := range out {
		out[i] = uint64(i + 1)
	}
	return out
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// intervals returns n buffers with random sizes and lives.
func intervals(r *rand.Rand, n, times int, maxBytes int64) []memplan.Buffer {
	out := make([]memplan.Buffer, n)
	for i := range out {
		start := r.IntN(times)
		length := r.IntN(times - start)
		if r.IntN(3) > 0 {
			length = min(length, r.IntN(4))
		}
		out[i] = memplan.Buffer{Bytes: r.Int64N(maxBytes + 1), Start: start, End: start + length,
			Lane: r.IntN(3), Kind: memplan.Kind(r.IntN(5))}
	}
	return out
}

// program returns a random run: every step writes new buffers or updates old
// ones and reads some that are alive, and knows some of its predecessors.
func program(r *rand.Rand, n int) ([]memplan.Buffer, []memplan.Step) {
	var buffers []memplan.Buffer
	steps := make([]memplan.Step, n)
	touch := func(s, b int) { buffers[b].End = max(buffers[b].End, s) }
	producer := map[int]int{}
	for s := range steps {
		st := &steps[s]
		if r.IntN(4) == 0 {
			st.Lane = 1 + r.IntN(2)
		}
		for range r.IntN(4) {
			if len(buffers) == 0 {
				break
			}
			// Mostly recent ones, as in a network.
			b := max(0, len(buffers)-1-int(r.ExpFloat64()*4))
			touch(s, b)
			st.Reads = append(st.Reads, b)
			if producer[b] < s && r.IntN(5) > 0 {
				st.After = append(st.After, producer[b])
			}
			if r.IntN(6) == 0 {
				st.Writes = append(st.Writes, b)
				producer[b] = s
			}
		}
		for range r.IntN(3) {
			st.Writes = append(st.Writes, len(buffers))
			producer[len(buffers)] = s
			buffers = append(buffers, memplan.Buffer{Bytes: r.Int64N(2000), Start: s, End: s,
				Lane: r.IntN(2)})
		}
		if s > 0 && r.IntN(8) == 0 {
			st.After = append(st.After, r.IntN(s))
		}
	}
	return buffers, steps
}

// mustCompute plans and verifies.
func mustCompute(t *testing.T, buffers []memplan.Buffer, steps []memplan.Step,
	cfg memplan.Config) *memplan.Plan {
	t.Helper()
	plan, err := memplan.Compute(buffers, steps, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := memplan.Verify(buffers, steps, plan); err != nil {
		t.Fatal(err)
	}
	return plan
}
