package memplan_test

import (
	"slices"
	"strings"
	"testing"

	"gomx/memplan"
)

// clone copies a plan so that it can be damaged.
func clone(p *memplan.Plan) *memplan.Plan {
	c := *p
	c.Offsets = slices.Clone(p.Offsets)
	c.Hazards = slices.Clone(p.Hazards)
	c.Lanes = slices.Clone(p.Lanes)
	return &c
}

func TestVerifyNamesTheFault(t *testing.T) {
	buffers := []memplan.Buffer{
		{Bytes: 64, Start: 0, End: 2, Name: "a"}, {Bytes: 64, Start: 1, End: 2, Name: "b"},
		{Bytes: 64, Start: 3, End: 4, Name: "c"},
	}
	steps := []memplan.Step{
		{Name: "make a", Writes: []int{0}},
		{Name: "make b", Writes: []int{1}},
		{Name: "use both", Reads: []int{0, 1}, After: []int{0, 1}},
		{Name: "make c", Writes: []int{2}},
		{Name: "use c", Reads: []int{2}, After: []int{3}},
	}
	good := mustCompute(t, buffers, steps, memplan.Config{})
	tests := []struct {
		name   string
		damage func(p *memplan.Plan)
		want   string
	}{
		{"overlap", func(p *memplan.Plan) { p.Offsets[1] = p.Offsets[0] },
			"buffer 0 (a) and buffer 1 (b) are both alive at step 1 and overlap"},
		{"unaligned", func(p *memplan.Plan) { p.Offsets[1] += 8 }, "buffer 1 (b) at offset"},
		{"below the arena", func(p *memplan.Plan) { p.Offsets[0] = -64 },
			"buffer 0 (a) at offset -64"},
		{"above the arena", func(p *memplan.Plan) { p.Offsets[0] = 128 },
			"buffer 0 (a) with 64 bytes at offset 128 leaves the arena of 128"},
		{"offset near the largest int", func(p *memplan.Plan) { p.Offsets[0] = 1<<63 - 64 },
			"buffer 0 (a) with 64 bytes at offset 9223372036854775744 leaves"},
		{"too few offsets", func(p *memplan.Plan) { p.Offsets = p.Offsets[:2] },
			"2 offsets for 3 buffers"},
		{"total", func(p *memplan.Plan) { p.Total += 64 }, "total 192"},
		{"naive", func(p *memplan.Plan) { p.Naive-- }, "naive 191"},
		{"lower bound", func(p *memplan.Plan) { p.LowerBound = 64 },
			"lower bound 64 with a total of 128: want 128"},
		{"lower bound above", func(p *memplan.Plan) { p.LowerBound = 256 },
			"lower bound 256 with a total of 128"},
		{"alignment", func(p *memplan.Plan) { p.Align = 3 }, "alignment 3"},
		{"hazard lost", func(p *memplan.Plan) { p.Hazards = nil },
			"nothing orders step 3 (make c) after step"},
		{"hazard backwards", func(p *memplan.Plan) { p.Hazards[0] = [2]int{3, 2} }, "hazard [3 2]"},
		{"hazard to nowhere", func(p *memplan.Plan) { p.Hazards[0] = [2]int{0, 5} },
			"hazard [0 5]"},
		{"hazard from nowhere", func(p *memplan.Plan) { p.Hazards[0] = [2]int{-1, 3} },
			"hazard [-1 3]"},
		{"hazard on itself", func(p *memplan.Plan) { p.Hazards[0] = [2]int{3, 3} }, "hazard [3 3]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bad := clone(good)
			tt.damage(bad)
			err := memplan.Verify(buffers, steps, bad)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got error %v, want one with %q", err, tt.want)
			}
		})
	}
}

// TestVerifyKnowsBytes gives plans of single bytes, and of buffers without any, which may lie
// anywhere.
func TestVerifyKnowsBytes(t *testing.T) {
	buffers := []memplan.Buffer{{Bytes: 1, Name: "a"}, {Bytes: 1, Name: "b"}, {Name: "none"}}
	for _, c := range []struct {
		offsets []int64
		total   int64
		want    string
	}{
		{[]int64{0, 1, 0}, 2, ""},
		{[]int64{0, 1, 7}, 2, ""},
		{[]int64{0, 0, 0}, 1, "overlap at address 0"},
		{[]int64{0, 2, 0}, 2, "buffer 1 (b) with 1 bytes at offset 2 leaves the arena of 2"},
		{[]int64{0, 1, 0}, 3, "total 3"},
		{[]int64{0, 0, 0}, 0, "buffer 0 (a) with 1 bytes at offset 0 leaves the arena of 0"},
		{[]int64{0, 1, -1}, 2, "buffer 2 (none) at offset -1"},
	} {
		p := &memplan.Plan{Offsets: c.offsets, Total: c.total, LowerBound: 2, Naive: 2, Align: 1}
		err := memplan.Verify(buffers, nil, p)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("offsets %v, total %d: got %v, want an error with %q", c.offsets, c.total, err,
				c.want)
		}
	}
}

// TestVerifyOrdersTheFirstStep lets the second step read and write bytes of the first one.
func TestVerifyOrdersTheFirstStep(t *testing.T) {
	buffers := []memplan.Buffer{{Bytes: 1, End: 2}}
	for _, c := range []struct {
		steps   []memplan.Step
		hazards [][2]int
		want    string
	}{
		{[]memplan.Step{{Writes: []int{0}}, {Reads: []int{0}}, {}}, nil,
			"step 1 after step 0, which writes bytes"},
		{[]memplan.Step{{Writes: []int{0}}, {Writes: []int{0}}, {}}, nil,
			"step 1 after step 0, which writes bytes"},
		{[]memplan.Step{{Writes: []int{0}}, {Reads: []int{0}}, {Writes: []int{0}}},
			[][2]int{{0, 1}, {0, 2}}, "step 2 after step 1, which reads bytes"},
		{[]memplan.Step{{Writes: []int{0}}, {Reads: []int{0}}, {Writes: []int{0}}},
			[][2]int{{0, 1}, {1, 2}}, ""},
	} {
		p := &memplan.Plan{Offsets: []int64{0}, Total: 1, LowerBound: 1, Naive: 1, Align: 1,
			Hazards: c.hazards}
		err := memplan.Verify(buffers, c.steps, p)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("hazards %v: got %v, want an error with %q", c.hazards, err, c.want)
		}
	}
}

func TestVerifyNamesFaultsOfLanes(t *testing.T) {
	buffers := []memplan.Buffer{
		{Bytes: 64, Start: 0, End: 2, Name: "a", Lane: 1}, {Bytes: 64, Start: 3, End: 4, Name: "b",
			Lane: 2}, {Bytes: 64, Start: 3, End: 4, Name: "c", Lane: 1},
	}
	good := mustCompute(t, buffers, nil, memplan.Config{SeparateLanes: true})
	for _, tt := range []struct {
		name   string
		damage func(p *memplan.Plan)
		want   string
	}{
		{"another lane's part", func(p *memplan.Plan) { p.Offsets[1] = 0; p.Offsets[2] = 64 },
			"buffer 1 (b) with 64 bytes at offset 0 leaves the part of lane 2"},
		{"part too small", func(p *memplan.Plan) { p.Lanes[1].Bytes = 32 },
			"leaves the part of lane 2"},
		{"lane without a part", func(p *memplan.Plan) { p.Lanes = p.Lanes[:1] },
			"buffer 1 (b) with 64 bytes at offset 64 leaves the part of lane 2, 0 bytes"},
		{"an empty part", func(p *memplan.Plan) {
			p.Lanes = append(p.Lanes, memplan.Part{Lane: 7, Offset: 128})
		}, ""},
		{"two parts of a lane", func(p *memplan.Plan) { p.Lanes[1].Lane = 1 },
			"lane 1 has the part of 64 bytes at 64"},
		{"gap", func(p *memplan.Plan) { p.Lanes[1].Offset = 128 },
			"lane 2 has the part of 64 bytes at 128"},
		{"beyond the arena", func(p *memplan.Plan) { p.Lanes[1].Bytes = 128 },
			"lane 2 has the part of 128 bytes at 64"},
		{"negative", func(p *memplan.Plan) { p.Lanes[0].Bytes = -64 },
			"lane 1 has the part of -64 bytes at 0"},
	} {
		bad := clone(good)
		tt.damage(bad)
		err := memplan.Verify(buffers, nil, bad)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got error %v, want one with %q", tt.name, err, tt.want)
		}
	}
}

// validPlacement is the definition, pair by pair.
func validPlacement(buffers []memplan.Buffer, p *memplan.Plan) bool {
	top := int64(0)
	for i, a := range buffers {
		if p.Offsets[i] < 0 || p.Offsets[i]%p.Align != 0 {
			return false
		}
		if a.Bytes > 0 {
			top = max(top, p.Offsets[i]+roundUp(a.Bytes, p.Align))
		}
		for j, b := range buffers[:i] {
			if a.Bytes > 0 && b.Bytes > 0 && a.Start <= b.End && b.Start <= a.End &&
				p.Offsets[i] < p.Offsets[j]+b.Bytes && p.Offsets[j] < p.Offsets[i]+a.Bytes {
				return false
			}
		}
	}
	return top == p.Total
}

func TestVerifyJudgesMovedBuffers(t *testing.T) {
	caught, passed := 0, 0
	for _, seed := range seeds(200) {
		r := newRand(seed)
		buffers := intervals(r, 1+r.IntN(30), 12, 300)
		good := mustCompute(t, buffers, nil, memplan.Config{Align: 16})
		for range 10 {
			bad := clone(good)
			bad.Offsets[r.IntN(len(buffers))] += (r.Int64N(9) - 4) * 8
			err := memplan.Verify(buffers, nil, bad)
			if want := validPlacement(buffers, bad); (err == nil) != want {
				t.Fatalf("seed %d: Verify says %v, the definition says valid=%v", seed, err, want)
			}
			if err == nil {
				passed++
			} else {
				caught++
			}
		}
	}
	if caught < 500 || passed < 100 {
		t.Errorf("%d damaged plans caught, %d harmless moves passed: the test is too one-sided",
			caught, passed)
	}
}

// TestVerifyMissesNoEdge relies on the edges being minimal: without any one of
// them the plan must be refused.
func TestVerifyMissesNoEdge(t *testing.T) {
	for _, seed := range seeds(40) {
		r := newRand(seed)
		buffers, steps := program(r, 2+r.IntN(40))
		good := mustCompute(t, buffers, steps, memplan.Config{})
		for i, h := range good.Hazards {
			bad := clone(good)
			bad.Hazards = slices.Delete(bad.Hazards, i, i+1)
			if memplan.Verify(buffers, steps, bad) == nil {
				t.Errorf("seed %d: the plan passes without hazard %v", seed, h)
			}
		}
	}
}
