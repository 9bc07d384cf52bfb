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
		wraps   [][2]int
	}{
		{"data orders the reuse", chain, []memplan.Step{
			{Writes: []int{0}},
			{Reads: []int{0}, Writes: []int{1}, After: []int{0}},
			{Reads: []int{1}, Writes: []int{2}, After: []int{1}},
			{Reads: []int{2}, After: []int{2}},
		}, nil, [][2]int{{3, 0}}},
		{"a reader on another branch", chain, []memplan.Step{
			{Writes: []int{0}},
			{Reads: []int{0}, After: []int{0}},
			{Writes: []int{2}, After: []int{0}},
			{Reads: []int{2}, After: []int{2}},
		}, [][2]int{{1, 2}}, [][2]int{{3, 0}}},
		{"an update in place waits for readers", []memplan.Buffer{{Bytes: 64, Start: 0, End: 3}},
			[]memplan.Step{
				{Writes: []int{0}},
				{Reads: []int{0}, After: []int{0}},
				{Reads: []int{0}, After: []int{0}},
				{Reads: []int{0}, Writes: []int{0}, After: []int{0}},
			}, [][2]int{{1, 3}, {2, 3}}, [][2]int{{3, 0}}},
		{"what After forgets is a hazard", []memplan.Buffer{{Bytes: 64, Start: 0, End: 1}},
			[]memplan.Step{
				{Writes: []int{0}}, {Reads: []int{0}},
			}, [][2]int{{0, 1}}, [][2]int{{1, 0}}},
		{"a lane is an order", []memplan.Buffer{{Bytes: 64, Start: 0, End: 1},
			{Bytes: 64, Start: 2, End: 2}}, []memplan.Step{
			{Writes: []int{0}, Lane: 1}, {Reads: []int{0}, Lane: 1}, {Writes: []int{1}, Lane: 1},
		}, nil, nil},
		{"no bytes, no hazard", []memplan.Buffer{{Bytes: 0, Start: 0, End: 1}}, []memplan.Step{
			{Writes: []int{0}}, {Reads: []int{0}},
		}, nil, nil},
		{"a buffer named twice", []memplan.Buffer{{Bytes: 64, Start: 0, End: 1}}, []memplan.Step{
			{Writes: []int{0, 0}}, {Reads: []int{0, 0}, Writes: []int{0, 0}},
		}, [][2]int{{0, 1}}, [][2]int{{1, 0}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			plan := mustCompute(t, tt.buffers, tt.steps, memplan.Config{})
			if !reflect.DeepEqual(plan.Hazards, tt.hazards) {
				t.Errorf("hazards %v, want %v", plan.Hazards, tt.hazards)
			}
			if !reflect.DeepEqual(plan.Wraps, tt.wraps) {
				t.Errorf("wraps %v, want %v", plan.Wraps, tt.wraps)
			}
		})
	}
}

// edges returns who waits for whom in two runs, from everything that is known.
func edges(steps []memplan.Step, plan *memplan.Plan) [][]int {
	n := len(steps)
	preds := make([][]int, 2*n)
	for now := range 2 * n {
		run, s := now/n*n, now%n
		for _, a := range steps[s].After {
			preds[now] = append(preds[now], run+a)
		}
		for p := range now {
			if lane := steps[s].Lane; lane != 0 && steps[p%n].Lane == lane {
				preds[now] = append(preds[now], p)
			}
		}
		for _, h := range plan.Hazards {
			if h[1] == s {
				preds[now] = append(preds[now], run+h[0])
			}
		}
		if run > 0 {
			preds[now] = append(preds[now], s)
			for _, w := range plan.Wraps {
				if w[1] == s {
					preds[now] = append(preds[now], w[0])
				}
			}
		}
	}
	return preds
}

// execute runs two runs in a random order that the edges allow, on an arena of
// bytes that remember who wrote them, and returns what every step read.
func execute(r *rand.Rand, buffers []memplan.Buffer, steps []memplan.Step, plan *memplan.Plan,
	preds [][]int) [][]int {
	n := len(steps)
	arena := make([]int, plan.Total)
	read := make([][]int, 2*n)
	done := make([]bool, 2*n)
	for range 2 * n {
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
		for _, b := range steps[now%n].Reads {
			if !slices.Contains(steps[now%n].Writes, b) || buffers[b].Start < now%n {
				read[now] = append(read[now], bytes(b)...)
			}
		}
		for _, b := range steps[now%n].Writes {
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
	preds := make([][]int, 2*n)
	for s := 1; s < 2*n; s++ {
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
		n := len(steps)
		for i, h := range plan.Hazards {
			less := *plan
			less.Wraps = nil
			less.Hazards = slices.Delete(slices.Clone(plan.Hazards), i, i+1)
			if reaches(edges(steps, &less)[:n], h[0], h[1]) {
				t.Errorf("seed %d: hazard %v follows from the others", seed, h)
			}
		}
		for i, w := range plan.Wraps {
			less := *plan
			less.Wraps = slices.Delete(slices.Clone(plan.Wraps), i, i+1)
			if reaches(edges(steps, &less), w[0], n+w[1]) {
				t.Errorf("seed %d: wrap %v follows from the others", seed, w)
			}
		}
	}
}
