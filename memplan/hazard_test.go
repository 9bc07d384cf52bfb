package memplan_test

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"gomx/memplan"
)

func TestHazardsKnown(t *testing.T) {
	// Everything has 64 bytes; buffers 0 and 2 of a chain share a place.
	chain := []memplan.Buffer{{Bytes: 64, Start: 0, End: 1}, {Bytes: 64, Start: 1, End: 2},
		{Bytes: 64, Start: 2, End: 3}}
	tests := []struct {
		name    string
		buffers []memplan.Buffer
		steps   []memplan.Step
		hazards [][2]int
	}{
		{"data orders the reuse", chain, []memplan.Step{
			{Writes: []int{0}},
			{Reads: []int{0}, Writes: []int{1}, After: []int{0}},
			{Reads: []int{1}, Writes: []int{2}, After: []int{1}},
			{Reads: []int{2}, After: []int{2}},
		}, nil},
		{"a reader on another branch", chain, []memplan.Step{
			{Writes: []int{0}},
			{Reads: []int{0}, After: []int{0}},
			{Writes: []int{2}, After: []int{0}},
			{Reads: []int{2}, After: []int{2}},
		}, [][2]int{{1, 2}}},
		{"an update in place waits for readers", []memplan.Buffer{{Bytes: 64, Start: 0, End: 3}},
			[]memplan.Step{
				{Writes: []int{0}},
				{Reads: []int{0}, After: []int{0}},
				{Reads: []int{0}, After: []int{0}},
				{Reads: []int{0}, Writes: []int{0}, After: []int{0}},
			}, [][2]int{{1, 3}, {2, 3}}},
		{"what After forgets is a hazard", []memplan.Buffer{{Bytes: 64, Start: 0, End: 1}},
			[]memplan.Step{
				{Writes: []int{0}}, {Reads: []int{0}},
			}, [][2]int{{0, 1}}},
		{"a lane is an order", []memplan.Buffer{{Bytes: 64, Start: 0, End: 1},
			{Bytes: 64, Start: 2, End: 2}}, []memplan.Step{
			{Writes: []int{0}, Lane: 1}, {Reads: []int{0}, Lane: 1}, {Writes: []int{1}, Lane: 1},
		}, nil},
		{"no bytes, no hazard", []memplan.Buffer{{Bytes: 0, Start: 0, End: 1}}, []memplan.Step{
			{Writes: []int{0}}, {Reads: []int{0}},
		}, nil},
		{"a buffer named twice", []memplan.Buffer{{Bytes: 64, Start: 0, End: 1}}, []memplan.Step{
			{Writes: []int{0, 0}}, {Reads: []int{0, 0}, Writes: []int{0, 0}},
		}, [][2]int{{0, 1}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			plan := mustCompute(t, tt.buffers, tt.steps, memplan.Config{})
			if !reflect.DeepEqual(plan.Hazards, tt.hazards) {
				t.Errorf("hazards %v, want %v", plan.Hazards, tt.hazards)
			}
		})
	}
}

// edges returns for each step the steps that it waits for, from everything that is known.
func edges(steps []memplan.Step, plan *memplan.Plan) [][]int {
	preds := make([][]int, len(steps))
	for s := range steps {
		preds[s] = append(preds[s], steps[s].After...)
		for p := range s {
			if lane := steps[s].Lane; lane != 0 && steps[p].Lane == lane {
				preds[s] = append(preds[s], p)
			}
		}
		for _, h := range plan.Hazards {
			if h[1] == s {
				preds[s] = append(preds[s], h[0])
			}
		}
	}
	return preds
}

// execute runs the steps in a random order that the edges allow, on an arena of bytes that remember
// which step wrote them, and returns the bytes that every step read. Without r it takes the first
// step that is ready.
func execute(r *rand.Rand, buffers []memplan.Buffer, steps []memplan.Step, plan *memplan.Plan,
	preds [][]int) [][]int {
	arena := make([]int, plan.Total)
	read := make([][]int, len(steps))
	done := make([]bool, len(steps))
	for range steps {
		var ready []int
		for s := range done {
			if !done[s] && !slices.ContainsFunc(preds[s], func(p int) bool { return !done[p] }) {
				ready = append(ready, s)
			}
		}
		now := ready[0]
		if r != nil {
			now = ready[r.IntN(len(ready))]
			if r.IntN(2) == 0 {
				now = ready[len(ready)-1]
			}
		}
		bytes := func(b int) []int { return arena[plan.Offsets[b] : plan.Offsets[b]+buffers[b].Bytes] }
		for _, b := range steps[now].Reads {
			if !slices.Contains(steps[now].Writes, b) || buffers[b].Start < now {
				read[now] = append(read[now], bytes(b)...)
			}
		}
		for _, b := range steps[now].Writes {
			for i := range bytes(b) {
				bytes(b)[i] = now + 1
			}
		}
		done[now] = true
	}
	return read
}

// TestHazardsSuffice executes random programs in random orders and compares
// everything that is read with the run in sequence.
func TestHazardsSuffice(t *testing.T) {
	for _, seed := range seeds(60) {
		r := newRand(seed)
		buffers, steps := program(r, 2+r.IntN(30))
		for i := range buffers {
			buffers[i].Bytes %= 24
		}
		plan := mustCompute(t, buffers, steps, memplan.Config{Align: 4})
		preds := edges(steps, plan)
		want := execute(nil, buffers, steps, plan, sequential(len(steps)))
		for range 5 {
			if got := execute(r, buffers, steps, plan, preds); !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d: an order that the plan allows reads other bytes", seed)
			}
		}
	}
}

// sequential lets every step wait for the one before.
func sequential(n int) [][]int {
	preds := make([][]int, n)
	for s := 1; s < n; s++ {
		preds[s] = []int{s - 1}
	}
	return preds
}

// reaches says whether a path leads from one step to a later one.
func reaches(preds [][]int, from, to int) bool {
	seen := make([]bool, to+1)
	stack := []int{to}
	for len(stack) > 0 {
		s := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, p := range preds[s] {
			if p == from {
				return true
			}
			if p > from && !seen[p] {
				seen[p] = true
				stack = append(stack, p)
			}
		}
	}
	return false
}

func TestHazardsAreMinimal(t *testing.T) {
	for _, seed := range seeds(40) {
		r := newRand(seed)
		buffers, steps := program(r, 2+r.IntN(40))
		plan := mustCompute(t, buffers, steps, memplan.Config{})
		for i, h := range plan.Hazards {
			less := *plan
			less.Hazards = slices.Delete(slices.Clone(plan.Hazards), i, i+1)
			if reaches(edges(steps, &less), h[0], h[1]) {
				t.Errorf("seed %d: hazard %v follows from the others", seed, h)
			}
		}
	}
}

// TestHazardsAreNeeded demands that the two steps of each hazard use a byte in common, which one of
// them writes: buffers that only touch are no reason to wait.
func TestHazardsAreNeeded(t *testing.T) {
	for _, seed := range seeds(60) {
		r := newRand(seed)
		buffers, steps := program(r, 2+r.IntN(60))
		for i := range buffers {
			buffers[i].Bytes = 64 * r.Int64N(3) // many buffers that touch
		}
		plan := mustCompute(t, buffers, steps, memplan.Config{})
		meet := func(some, others []int) bool {
			for _, a := range some {
				for _, b := range others {
					if plan.Offsets[a] < plan.Offsets[b]+buffers[b].Bytes &&
						plan.Offsets[b] < plan.Offsets[a]+buffers[a].Bytes {
						return true
					}
				}
			}
			return false
		}
		for _, h := range plan.Hazards {
			a, b := steps[h[0]], steps[h[1]]
			if !meet(a.Writes, b.Reads) && !meet(a.Reads, b.Writes) && !meet(a.Writes, b.Writes) {
				t.Errorf("seed %d: hazard %v between steps that have no byte in common", seed, h)
			}
		}
	}
}

// TestOrderAgrees compares an order with the closure of its pairs.
func TestOrderAgrees(t *testing.T) {
	for _, seed := range seeds(20) {
		r := newRand(seed)
		n := 1 + r.IntN(150)
		order, preds := memplan.NewOrder(n), make([][]int, n)
		for b := 1; b < n; b++ {
			for range r.IntN(3) {
				a := r.IntN(b)
				order.Add(a, b)
				preds[b] = append(preds[b], a)
			}
		}
		for a := range n {
			for b := range n {
				if got, want := order.Has(a, b), a < b && reaches(preds, a, b); got != want {
					t.Fatalf("seed %d: step %d before %d: got %v, want %v", seed, a, b, got, want)
				}
			}
		}
	}
}
