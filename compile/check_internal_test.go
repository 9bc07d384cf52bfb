package compile

import (
	"slices"
	"strings"
	"testing"

	"gomx/dtype"
	"gomx/graph"
	"gomx/memplan"
	"gomx/op"
	"gomx/op/prim"
	"gomx/op/update"
)

// touches makes a step that reads or writes bytes of a room.
func touches(name string, room int, from, bytes int64, writes bool) Step {
	t := []op.Tensor{{Desc: op.Desc{DType: dtype.Uint8, Bytes: int(bytes)}}}
	s := Step{Node: &op.Node{Name: name}, Kernel: &op.Prepared{}, Scratch: -1}
	if writes {
		s.Call.Out = t
	} else {
		s.Call.In = t
	}
	s.Internal = []Operand{{Out: writes, Room: room, Offset: from}}
	return s
}

// works makes a step with scratch memory only.
func works(name string, room int, from, bytes int64) Step {
	return Step{Node: &op.Node{Name: name}, Kernel: &op.Prepared{Scratch: int(bytes)}, Scratch: from,
		Room: room}
}

// wantError compares an error with a part of its text; no text wants no error.
func wantError(t *testing.T, name string, err error, want string) {
	t.Helper()
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("%s: got %v, want an error with %q", name, err, want)
	}
}

// TestCheckOrder gives pairs of steps in segments of their own, which share bytes or do not.
func TestCheckOrder(t *testing.T) {
	first := touches("first", 1, 64, 16, true)
	skipped := touches("other", 1, 64, 16, true)
	skipped.Skip = true
	const shared = "first in segment 0 and other in segment 1 share bytes without order"
	for name, c := range map[string]struct {
		other Step
		want  string
	}{
		"the same bytes":  {touches("other", 1, 64, 16, true), shared},
		"the last byte":   {touches("other", 1, 79, 16, true), shared},
		"the first byte":  {touches("other", 1, 49, 16, true), shared},
		"a reader":        {touches("other", 1, 64, 16, false), shared},
		"scratch":         {works("other", 1, 79, 16), shared},
		"one byte":        {works("other", 1, 79, 1), shared},
		"above":           {touches("other", 1, 80, 16, true), ""},
		"below":           {touches("other", 1, 48, 16, true), ""},
		"scratch above":   {works("other", 1, 80, 16), ""},
		"scratch below":   {works("other", 1, 48, 16), ""},
		"another room":    {touches("other", 2, 64, 16, true), ""},
		"skipped":         {skipped, ""},
		"without scratch": {works("other", 1, 64, 0), ""},
	} {
		p := &Program{Steps: []Step{first, c.other}, Segments: []Segment{{To: 1}, {From: 1, To: 2}}}
		wantError(t, name, p.checkOrder(), c.want)
		p.Segments[1].Needs = []int{0}
		wantError(t, name+", ordered", p.checkOrder(), "")
		p.Segments = []Segment{{To: 2}}
		wantError(t, name+", in one segment", p.checkOrder(), "")
		// A step that is skipped does not hide the steps behind it.
		p = &Program{Steps: []Step{skipped, first, c.other},
			Segments: []Segment{{To: 2}, {From: 2, To: 3}}}
		wantError(t, name+", behind another", p.checkOrder(), c.want)
	}
	r, w := touches("r", 1, 64, 16, false), touches("w", 1, 64, 16, true)
	p := &Program{Steps: []Step{r, r}, Segments: []Segment{{To: 1}, {From: 1, To: 2}}}
	wantError(t, "two readers", p.checkOrder(), "")
	p = &Program{Steps: []Step{w, touches("far", 2, 0, 1, true), r}, Segments: []Segment{{To: 1},
		{From: 1, To: 2, Needs: []int{0}}, {From: 2, To: 3, Needs: []int{1}}}}
	wantError(t, "ordered by a third", p.checkOrder(), "")
}

// TestCheckSegments gives lists of segments over three steps.
func TestCheckSegments(t *testing.T) {
	at := func(needs []int, from, to int) Segment {
		return Segment{From: from, To: to, Needs: needs}
	}
	for name, c := range map[string]struct {
		list             []Segment
		derived, forward int
		want             string
	}{
		"one":            {[]Segment{at(nil, 0, 3)}, 0, 1, ""},
		"three":          {[]Segment{at(nil, 0, 1), at([]int{0}, 1, 2), at(nil, 2, 3)}, 1, 3, ""},
		"only forms":     {[]Segment{at(nil, 0, 3)}, 1, 1, ""},
		"empty":          {[]Segment{at(nil, 0, 3), at(nil, 3, 3)}, 0, 1, "segment 1 has steps 3 to 3"},
		"overlap":        {[]Segment{at(nil, 0, 2), at(nil, 1, 3)}, 0, 1, "want them from 2 on"},
		"later":          {[]Segment{at([]int{1}, 0, 1), at(nil, 1, 3)}, 0, 1, "0 waits for segment 1"},
		"nobody":         {[]Segment{at([]int{-1}, 0, 3)}, 0, 1, "segment 0 waits for segment -1"},
		"too short":      {[]Segment{at(nil, 0, 2)}, 0, 1, "2 of 3 steps in segments"},
		"forms behind":   {[]Segment{at(nil, 0, 3)}, 2, 1, "2 make forms"},
		"forward beyond": {[]Segment{at(nil, 0, 3)}, 0, 2, "2 of 1 belong to the forward part"},
	} {
		p := &Program{Steps: make([]Step, 3), Segments: c.list, Derived: c.derived,
			Forward: c.forward}
		wantError(t, name, p.checkSegments(), c.want)
	}
}

// TestCheckOperands gives steps with operands and scratch memory at the ends of a room of 80 bytes.
func TestCheckOperands(t *testing.T) {
	missing, none := touches("s", 0, 0, 16, true), touches("s", 0, 0, 0, false)
	missing.Internal, none.Internal = nil, nil
	skipped := touches("s", 0, 99, 16, true)
	skipped.Skip = true
	for name, c := range map[string]struct {
		s    Step
		want string
	}{
		"at the beginning":   {touches("s", 0, 0, 16, true), ""},
		"at the end":         {touches("s", 0, 64, 16, true), ""},
		"beyond":             {touches("s", 0, 65, 16, true), "s uses bytes 65 to 81 of 80"},
		"below":              {touches("s", 0, -1, 16, false), "s uses bytes -1 to 15 of 80"},
		"without a place":    {missing, "s has 0 operands with a place, want 1"},
		"without bytes":      {none, ""},
		"skipped":            {skipped, ""},
		"scratch at the end": {works("s", 0, 64, 16), ""},
		"scratch beyond":     {works("s", 0, 65, 16), "scratch memory of s ends at 81"},
		"scratch below":      {works("s", 0, -1, 16), "scratch memory of s ends at 15"},
		"scratch of nothing": {works("s", 0, 99, 0), ""},
		"a byte of scratch":  {works("s", 0, 80, 1), "scratch memory of s ends at 81"},
	} {
		if c.s.Node.Op == nil {
			c.s.Node.Op = &op.Op{}
		}
		p := &Program{Steps: []Step{skipped, c.s}}
		p.Memory.Rooms = []Room{{Bytes: 80}}
		wantError(t, name, p.checkOperands(), c.want)
	}
}

// TestOverwrite overwrites bytes beside and in a buffer of room 1, whose value has reads to come.
func TestOverwrite(t *testing.T) {
	p := &Program{}
	p.Memory.Buffers = []memplan.Buffer{{Bytes: 16, Lane: 1}, {Bytes: 16, Lane: 0}}
	p.Memory.Plan = &memplan.Plan{Offsets: []int64{164, 64}}
	p.Memory.Rooms = []Room{{}, {From: 100}}
	value := memory{number: 0}
	for _, c := range []struct {
		room        int
		from, bytes int64
		but         int
		meets       bool
	}{
		{1, 64, 16, 1, true}, {1, 79, 1, 1, true}, {1, 80, 16, 1, false}, {1, 48, 16, 1, false},
		{1, 49, 16, 1, true}, {0, 64, 16, 1, false}, {1, 64, 16, 0, false},
		{1, 64, 16, noBuffer, true},
	} {
		for pending, want := range map[int]string{0: "", 1: "entry 7, which has 1 reads to come"} {
			r := &replay{p: p, pending: make([]int, 8), holds: map[memory][]int{value: {5, 7},
				{slot: true}: {6}}}
			r.pending[6], r.pending[7] = 1, pending
			if !c.meets {
				want = ""
			}
			wantError(t, "overwrite", r.overwrite(c.room, c.from, c.bytes, c.but), want)
			if held := len(r.holds[value]) > 0; held == c.meets && pending == 0 {
				t.Errorf("%+v: the value is held: %v, want %v", c, held, !c.meets)
			}
			if len(r.holds) == 0 {
				t.Errorf("%+v: bytes of a slot are overwritten", c)
			}
		}
	}
}

// TestRename gives content another name, if memory still holds it.
func TestRename(t *testing.T) {
	p := &Program{Outside: map[int]int{3: 0}}
	p.Memory.Store = &graph.Storage{Root: []int{0, 1, 2, 3, 4}}
	m := memory{slot: true, number: 0}
	for e, want := range map[int][]int{3: {3, 9}, 1: {3}} {
		r := &replay{p: p, holds: map[memory][]int{m: {3}}}
		if r.rename(e, 9); !slices.Equal(r.holds[m], want) || len(r.holds) != 1 {
			t.Errorf("entry %d: got %v, want %v in one memory", e, r.holds, want)
		}
	}
	r := &replay{p: p, holds: map[memory][]int{m: {4}}}
	if r.rename(3, 9); !slices.Equal(r.holds[m], []int{4}) {
		t.Errorf("content that is lost: got %v, want entry 4 alone", r.holds[m])
	}
}

// TestReads lists the entries that a step reads: inputs with bytes.
func TestReads(t *testing.T) {
	a, b := op.Var("a").Entry(0), op.Var("b").Entry(0)
	n, err := op.NewNode(prim.GradAdd.Op, "n", nil, a, b)
	if err != nil {
		t.Fatal(err)
	}
	p := &Program{Graph: graph.Index([]op.Entry{n.Entry(0)})}
	s := Step{Node: n}
	s.Call.In = []op.Tensor{{Desc: op.Desc{Bytes: 1}}, {Desc: op.Desc{Bytes: 0}}}
	for _, skip := range []bool{false, true} {
		var got, want []int
		if s.Skip = skip; !skip {
			want = []int{p.Graph.Entry(a)}
		}
		r := replay{p: p}
		if r.reads(&s, func(e int) { got = append(got, e) }); !slices.Equal(got, want) {
			t.Errorf("skip %v: got %v, want %v", skip, got, want)
		}
	}
}

// TestFormKeys demands another key for another operator and for each other parameter, those that
// kernels read at run time included.
func TestFormKeys(t *testing.T) {
	p := update.SignSGDUpdateParams{LR: 1, WD: 2}
	key := func(o *op.Op, p any) string { return formKey(&op.Node{Op: o, Params: p}) }
	want := key(update.SignSGDUpdate.Op, p)
	if got := key(update.SignSGDUpdate.Op, p); got != want {
		t.Errorf("equal nodes: got the keys %q and %q", want, got)
	}
	rate, decay := p, p
	rate.LR, decay.WD = 3, 3
	for name, got := range map[string]string{
		"another rate":     key(update.SignSGDUpdate.Op, rate),
		"another decay":    key(update.SignSGDUpdate.Op, decay),
		"another operator": key(prim.GradAdd.Op, op.NoParams{}),
	} {
		if got == want {
			t.Errorf("%s: got the key %q again", name, got)
		}
	}
}

// TestAddSlot demands the shape and the type of the array that a slot stands for.
func TestAddSlot(t *testing.T) {
	v := op.Var("v").Entry(0)
	have := op.Plain(dtype.Float32, dtype.Shape{2})
	for want, ok := range map[*op.Desc]bool{
		{DType: dtype.Float32, Shape: dtype.Shape{2}}: true,
		{DType: dtype.Float32, Shape: dtype.Shape{3}}: false,
		{DType: dtype.Float64, Shape: dtype.Shape{2}}: false,
	} {
		p := &Program{Graph: graph.Index([]op.Entry{v}), Descs: []op.Desc{have},
			Outside: map[int]int{}}
		if _, err := p.addSlot(Slot{}, v, *want); (err == nil) != ok {
			t.Errorf("%v %v: got %v, want success: %v", want.DType, want.Shape, err, ok)
		}
	}
}
