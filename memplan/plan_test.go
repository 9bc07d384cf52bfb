package memplan_test

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"gomx/memplan"
)

func TestComputeKnown(t *testing.T) {
	tests := []struct {
		name         string
		buffers      []memplan.Buffer
		cfg          memplan.Config
		total, bound int64
	}{
		{"nothing", nil, memplan.Config{}, 0, 0},
		{"one byte takes a line", []memplan.Buffer{{Bytes: 1}}, memplan.Config{}, 64, 64},
		{"no bytes take nothing", []memplan.Buffer{{Bytes: 0, End: 9}, {Bytes: 0}},
			memplan.Config{}, 0, 0},
		{"a chain needs two", []memplan.Buffer{
			{Bytes: 64, Start: 0, End: 1}, {Bytes: 64, Start: 1, End: 2},
			{Bytes: 64, Start: 2, End: 3}, {Bytes: 64, Start: 3, End: 4},
		}, memplan.Config{}, 128, 128},
		{"the largest alignment", []memplan.Buffer{{Bytes: 1}}, memplan.Config{Align: 1 << 30},
			1 << 30, 1 << 30},
		{"End is inclusive", []memplan.Buffer{{Bytes: 8, Start: 0, End: 1},
			{Bytes: 8, Start: 1, End: 1}}, memplan.Config{Align: 8}, 16, 16},
		{"a large one in the place of two small ones", []memplan.Buffer{
			{Bytes: 10, Start: 0, End: 1}, {Bytes: 10, Start: 0, End: 2},
			{Bytes: 20, Start: 3, End: 4},
		}, memplan.Config{Align: 1}, 20, 20},
		{"two small ones in the place of a large one", []memplan.Buffer{
			{Bytes: 20, Start: 0, End: 1}, {Bytes: 10, Start: 2, End: 3},
			{Bytes: 10, Start: 2, End: 3},
		}, memplan.Config{Align: 1}, 20, 20},
		{"lanes apart", []memplan.Buffer{
			{Bytes: 10, Start: 0, End: 0, Lane: 1}, {Bytes: 20, Start: 1, End: 1, Lane: 2},
			{Bytes: 10, Start: 2, End: 2, Lane: 1},
		}, memplan.Config{Align: 1, SeparateLanes: true}, 30, 30},
		{"the same lanes together", []memplan.Buffer{
			{Bytes: 10, Start: 0, End: 0, Lane: 1}, {Bytes: 20, Start: 1, End: 1, Lane: 2},
			{Bytes: 10, Start: 2, End: 2, Lane: 1},
		}, memplan.Config{Align: 1}, 20, 20},
		{"far apart in time", []memplan.Buffer{
			{Bytes: 10, Start: 0, End: 5}, {Bytes: 10, Start: math.MaxInt - 1, End: math.MaxInt},
		}, memplan.Config{Align: 1}, 10, 10},
		{"halves of all there is", []memplan.Buffer{{Bytes: math.MaxInt64/2 - 128},
			{Bytes: math.MaxInt64/2 - 128}},
			memplan.Config{Align: 1}, math.MaxInt64 - 257, math.MaxInt64 - 257},
		{"all there is", []memplan.Buffer{{Bytes: math.MaxInt64 / 2}, {Bytes: math.MaxInt64 / 2}},
			memplan.Config{Align: 1}, math.MaxInt64 - 1, math.MaxInt64 - 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			plan := mustCompute(t, tt.buffers, nil, tt.cfg)
			if plan.Total != tt.total || plan.LowerBound != tt.bound {
				t.Errorf("total %d, lower bound %d: want %d and %d", plan.Total, plan.LowerBound,
					tt.total, tt.bound)
			}
		})
	}
}

func TestComputeErrors(t *testing.T) {
	tests := []struct {
		name    string
		buffers []memplan.Buffer
		steps   []memplan.Step
		cfg     memplan.Config
		want    string
	}{
		{"alignment", nil, nil, memplan.Config{Align: 48}, "alignment 48: want a power of two"},
		{"negative alignment", nil, nil, memplan.Config{Align: -64}, "alignment -64"},
		{"large alignment", nil, nil, memplan.Config{Align: 1 << 31}, "up to 1073741824"},
		{"negative size", []memplan.Buffer{{Bytes: -1, Name: "x"}}, nil, memplan.Config{},
			"buffer 0 (x) has -1 bytes"},
		{"negative start", []memplan.Buffer{{Start: -1}}, nil, memplan.Config{},
			"buffer 0 lives from step -1 to 0"},
		{"ends early", []memplan.Buffer{{Start: 3, End: 2}}, nil, memplan.Config{},
			"lives from step 3 to 2"},
		{"too much", []memplan.Buffer{{Bytes: math.MaxInt64 / 2}, {Bytes: math.MaxInt64 / 2},
			{Bytes: 2}}, nil, memplan.Config{}, "over what an int64 holds"},
		{"a byte too much", []memplan.Buffer{{Bytes: math.MaxInt64 / 2},
			{Bytes: math.MaxInt64/2 + 1}}, nil, memplan.Config{Align: 1},
			"buffer 1 with 4611686018427387904 bytes brings the sum over"},
		{"a buffer below zero", nil, []memplan.Step{{Writes: []int{-1}}}, memplan.Config{},
			"step 0 uses buffer -1 of 0"},
		{"used before its life", []memplan.Buffer{{Bytes: 1, Start: 1, End: 1}},
			[]memplan.Step{{Writes: []int{0}}, {}}, memplan.Config{},
			"step 0 uses buffer 0, which lives from step 1 to 1 only"},
		{"unknown buffer", nil, []memplan.Step{{Name: "s", Reads: []int{0}}}, memplan.Config{},
			"step 0 (s) uses buffer 0 of 0"},
		{"waits for itself", nil, []memplan.Step{{After: []int{0}}}, memplan.Config{},
			"step 0 waits for step 0"},
		{"waits for nobody", nil, []memplan.Step{{After: []int{-1}}}, memplan.Config{},
			"step 0 waits for step -1"},
		{"used after its life", []memplan.Buffer{{Bytes: 1, Name: "x"}},
			[]memplan.Step{{Writes: []int{0}}, {Name: "s", Reads: []int{0}}},
			memplan.Config{}, "step 1 (s) uses buffer 0 (x), which lives from step 0 to 0 only"},
		{"read before written", []memplan.Buffer{{Bytes: 1}}, []memplan.Step{{Reads: []int{0}}},
			memplan.Config{}, "step 0 reads buffer 0, which no earlier step has written"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := memplan.Compute(tt.buffers, tt.steps, tt.cfg)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got error %v, want one with %q", err, tt.want)
			}
		})
	}
}

func TestComputeRepeats(t *testing.T) {
	for _, seed := range seeds(5) {
		buffers, steps := program(newRand(seed), 200)
		a := mustCompute(t, buffers, steps, memplan.Config{})
		b := mustCompute(t, buffers, steps, memplan.Config{})
		if !reflect.DeepEqual(a, b) {
			t.Errorf("seed %d: two plans of the same input differ", seed)
		}
	}
}

func TestSeparateLanesNeverShare(t *testing.T) {
	for _, seed := range seeds(10) {
		buffers := intervals(newRand(seed), 60, 30, 1000)
		plan := mustCompute(t, buffers, nil, memplan.Config{Align: 8, SeparateLanes: true})
		for i, a := range buffers {
			for j, b := range buffers[:i] {
				if a.Lane != b.Lane && plan.Offsets[i] < plan.Offsets[j]+b.Bytes &&
					plan.Offsets[j] < plan.Offsets[i]+a.Bytes {
					t.Fatalf("seed %d: buffers %d and %d of lanes %d and %d share bytes", seed, i,
						j, a.Lane, b.Lane)
				}
			}
		}
		for _, p := range plan.Lanes {
			top := int64(0)
			for i, b := range buffers {
				if b.Lane == p.Lane && b.Bytes > 0 {
					top = max(top, plan.Offsets[i]-p.Offset+roundUp(b.Bytes, 8))
				}
			}
			if top != p.Bytes {
				t.Errorf("seed %d: lane %d has a part of %d bytes, its buffers take %d", seed,
					p.Lane, p.Bytes, top)
			}
		}
	}
}

// TestReuseAcrossLanesHasAHazard lets two lanes, each in order by itself, share an arena: whoever
// takes over bytes of the other lane must have been told to wait.
func TestReuseAcrossLanesHasAHazard(t *testing.T) {
	crossed := 0
	for _, seed := range seeds(50) {
		r := newRand(seed)
		var buffers []memplan.Buffer
		steps := make([]memplan.Step, 12+r.IntN(20))
		for s := range steps {
			lane := 1 + r.IntN(2)
			steps[s] = memplan.Step{Lane: lane, Writes: []int{len(buffers)}}
			buffers = append(buffers, memplan.Buffer{Bytes: 64 * (1 + r.Int64N(3)), Start: s,
				End: s, Lane: lane})
		}
		plan := mustCompute(t, buffers, steps, memplan.Config{})
		preds := edges(steps, plan)
		for s := range steps {
			for e := range s {
				touch := plan.Offsets[s] < plan.Offsets[e]+buffers[e].Bytes &&
					plan.Offsets[e] < plan.Offsets[s]+buffers[s].Bytes
				if !touch || steps[s].Lane == steps[e].Lane {
					continue
				}
				if crossed++; !reaches(preds, e, s) {
					t.Fatalf("seed %d: step %d of lane %d overwrites bytes of step %d of lane "+
						"%d and does not wait", seed, s, steps[s].Lane, e, steps[e].Lane)
				}
			}
		}
	}
	if crossed < 100 {
		t.Errorf("lanes have taken over bytes %d times only: the test is too tame", crossed)
	}
}

func TestString(t *testing.T) {
	plan := mustCompute(t, []memplan.Buffer{{Bytes: 3 << 20}, {Bytes: 1 << 10, Start: 1, End: 1}},
		nil, memplan.Config{})
	want := "2 buffers in 3.00 MiB, 0.0% above the lower bound of 3.00 MiB, 3.00 MiB without " +
		"sharing, 0 hazards"
	if got := plan.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for bytes, want := range map[int64]string{1<<30 - 1: "1024.00 MiB", 1 << 30: "1.00 GiB",
		1 << 20: "1.00 MiB", 1<<20 - 1: "1024.0 KiB", 1 << 10: "1.0 KiB", 1<<10 - 1: "1023 B"} {
		p := mustCompute(t, []memplan.Buffer{{Bytes: bytes}}, nil, memplan.Config{Align: 1})
		if got := p.String(); !strings.Contains(got, "buffers in "+want+",") {
			t.Errorf("%d bytes: got %q, want %s", bytes, got, want)
		}
	}
	loose := &memplan.Plan{Total: 3, LowerBound: 1}
	if got := loose.String(); !strings.Contains(got, "200.0% above the lower bound of 1 B") {
		t.Errorf("got %q, want 200 %% above the bound", got)
	}
	if got, want := memplan.Kind(99).String(), "kind(99)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
