package memplan

import (
	"slices"
	"strings"
	"testing"
)

// TestInvariantsBite damages plans and the state of the planner in one place each.
func TestInvariantsBite(t *testing.T) {
	buffers := []Buffer{{Bytes: 64, Start: 0, End: 1}, {Bytes: 64, Start: 1, End: 2},
		{Bytes: 64, Start: 2, End: 3}}
	steps := []Step{{Writes: []int{0}}, {Reads: []int{0}}, {Writes: []int{2}}, {Reads: []int{2}}}
	good, err := Compute(buffers, steps, Config{})
	if err != nil {
		t.Fatal(err)
	}
	if want := [][2]int{{0, 1}, {1, 2}, {2, 3}}; !slices.Equal(good.Hazards, want) {
		t.Fatalf("got hazards %v, want %v", good.Hazards, want)
	}
	for name, c := range map[string]struct {
		damage func(p *Plan)
		want   string
	}{
		"nothing":     {func(*Plan) {}, ""},
		"overlap":     {func(p *Plan) { p.Offsets[1] = p.Offsets[0] }, "overlap"},
		"hazard lost": {func(p *Plan) { p.Hazards = p.Hazards[1:] }, "nothing orders"},
		"two hazards exchanged": {func(p *Plan) {
			p.Hazards[0], p.Hazards[1] = p.Hazards[1], p.Hazards[0]
		}, "not sorted"},
		"superfluous": {func(p *Plan) { p.Hazards = append(p.Hazards, [2]int{1, 3}) },
			"are not sorted"},
		"superfluous in its place": {func(p *Plan) {
			p.Hazards = slices.Insert(p.Hazards, 1, [2]int{0, 2})
		}, "hazard [0 2] follows"},
	} {
		bad := *good
		bad.Offsets, bad.Hazards = slices.Clone(good.Offsets), slices.Clone(good.Hazards)
		c.damage(&bad)
		err := bad.check(buffers, steps)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error with %q", name, err, c.want)
		}
	}
	large := Plan{Offsets: []int64{128}, Total: 192, Naive: 64, LowerBound: 64, Align: 64}
	if err := large.check([]Buffer{{Bytes: 64}}, nil); err == nil ||
		!strings.Contains(err.Error(), "more than 64") {
		t.Errorf("got %v, want an error about the size without sharing", err)
	}
}

// TestManyHazards demands that superfluous hazards are looked for up to a number of hazards.
func TestManyHazards(t *testing.T) {
	for n, want := range map[int]bool{mostMinimal: false, mostMinimal + 1: true} {
		p := Plan{Hazards: [][2]int{{0, 1}, {0, 2}}}
		for s := range n - 2 {
			p.Hazards = append(p.Hazards, [2]int{s + 1, s + 2})
		}
		if err := p.checkMinimal(make([]Step, n)); (err == nil) != want {
			t.Errorf("%d hazards, one superfluous: got %v, want success: %v", n, err, want)
		}
	}
	p := Plan{Hazards: [][2]int{{0, 1}, {1, 2}}}
	if err := p.checkMinimal(make([]Step, 2)); err == nil {
		t.Error("a hazard of a step that does not exist passes")
	}
}

// TestCounts asks for numbers of buffers and steps that no machine has the memory for.
func TestCounts(t *testing.T) {
	const most = 1<<30 - 1
	for _, c := range []struct {
		buffers, steps int
		ok             bool
	}{{0, 0, true}, {most, most, true}, {most + 1, 0, false}, {0, most + 1, false}} {
		if err := checkCounts(c.buffers, c.steps); (err == nil) != c.ok {
			t.Errorf("%d buffers and %d steps: got %v, want success: %v", c.buffers, c.steps, err,
				c.ok)
		}
	}
}

// TestOwnersAreChecked orders steps that write a buffer of less than no bytes.
func TestOwnersAreChecked(t *testing.T) {
	if !Invariants {
		t.Skip("wants the tag invariants")
	}
	defer func() {
		if recover() == nil {
			t.Error("an owner of less than no bytes passes")
		}
	}()
	order([]Buffer{{Bytes: -1}}, []Step{{Writes: []int{0}}}, []int64{0})
}

// TestCuts lists the addresses of buffers of which two begin where another ends.
func TestCuts(t *testing.T) {
	got := cutsOf([]Buffer{{Bytes: 4}, {Bytes: 8}, {Bytes: 2}}, &Plan{Offsets: []int64{4, 8, 8}})
	if want := []int64{4, 8, 10, 16}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestTriangle demands as many words for each set as its integers need.
func TestTriangle(t *testing.T) {
	sets := triangle(130)
	for i, want := range map[int]int{0: 0, 1: 1, 64: 1, 65: 2, 128: 2, 129: 3} {
		if got := len(sets[i]); got != want {
			t.Errorf("set %d: got %d words, want %d", i, got, want)
		}
	}
}

// TestStateIsChecked hands damaged shelves and owners to their checks.
func TestStateIsChecked(t *testing.T) {
	long := make([]placed, chunkSize+1)
	for name, c := range map[string]struct {
		s    shelf
		want string
	}{
		"empty":      {shelf{}, ""},
		"two chunks": {shelf{chunks: [][]placed{{{lo: 1}}, {{lo: 1}, {lo: 2}}}, count: 3}, ""},
		"full":       {shelf{chunks: [][]placed{long[:chunkSize]}, count: chunkSize}, ""},
		"too long":   {shelf{chunks: [][]placed{long}, count: chunkSize + 1}, "chunk 0 has 257"},
		"no item":    {shelf{chunks: [][]placed{{{lo: 1}}, {}}, count: 1}, "chunk 1 has 0"},
		"order": {shelf{chunks: [][]placed{{{lo: 2}}, {{lo: 1}}}, count: 2},
			"1 behind one at 2"},
		"count": {shelf{chunks: [][]placed{{{lo: 2}}}, count: 2},
			"has 1 rectangles and counts 2"},
	} {
		err := c.s.check()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("shelf %s: got %v, want an error with %q", name, err, c.want)
		}
	}
	for _, c := range []struct {
		owners []owner
		ok     bool
	}{
		{nil, true},
		{[]owner{{0, 4, 0}, {4, 5, 1}, {9, 10, 0}}, true},
		{[]owner{{0, 4, 0}, {3, 5, 1}}, false},
		{[]owner{{4, 4, 0}}, false},
		{[]owner{{4, 3, 0}}, false},
	} {
		if err := (&tracker{owners: c.owners}).check(); (err == nil) != c.ok {
			t.Errorf("owners %v: got %v, want an error: %v", c.owners, err, !c.ok)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a broken invariant does not panic")
		}
	}()
	demand(nil)
	demand((&tracker{owners: []owner{{4, 4, 0}}}).check())
}
