package worker

import (
	"errors"
	"testing"

	"gomx/dtype"
	"gomx/kvstore/ps"
	"gomx/kvstore/ps/node"
	"gomx/kvstore/wire"
)

// TestWorkerSettings tries settings at the bounds, and looks at the defaults.
func TestWorkerSettings(t *testing.T) {
	for name, tt := range map[string]struct {
		c  Config
		ok bool
	}{
		"good":            {Config{Nonce: 1, Workers: 2, Rank: 1}, true},
		"nonce 0":         {Config{Workers: 2}, false},
		"come later":      {Config{Nonce: 1, Workers: 2, Rank: 2}, true},
		"unbounded":       {Config{Nonce: 1, Workers: 1, Staleness: Unbounded}, true},
		"staleness of -2": {Config{Nonce: 1, Workers: 1, Staleness: -2}, false},
	} {
		w, err := New(tt.c)
		if (err == nil) != tt.ok || err != nil && !errors.Is(err, ps.ErrUsage) {
			t.Errorf("%s: got %v, want success %v", name, err, tt.ok)
		}
		if err == nil && (w.cfg.SliceSize != 1<<20 || w.cfg.Timeout != 120*ps.Second) {
			t.Errorf("%s: slices of %d bytes, timeout %d", name, w.cfg.SliceSize, w.cfg.Timeout)
		}
	}
	w, err := New(Config{Nonce: 1, Workers: 1, SliceSize: 8, Timeout: 1})
	if err != nil || w.cfg.SliceSize != 8 || w.cfg.Timeout != 1 {
		t.Errorf("%+v, %v: settings are replaced", w, err)
	}
	d := joinedDrill(t, Config{}, 1)
	d.refused("staleness of -2", d.SetStaleness(-2))
	if err := d.SetStaleness(Unbounded); err != nil || d.cfg.Staleness != Unbounded {
		t.Errorf("staleness %d, %v, want none", d.cfg.Staleness, err)
	}
	d.key(1, KeySpec{Total: 8})
	d.refused("staleness behind the first key", d.SetStaleness(1))
}

// TestJoinAsksEveryShard joins, with answers that count and answers that do not.
func TestJoinAsksEveryShard(t *testing.T) {
	d := newDrill(t, Config{}, 2)
	if _, err := d.Join(d.at, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Join(d.at, 0); !errors.Is(err, ps.ErrUsage) {
		t.Errorf("a second join: %v", err)
	}
	qs := d.sent()
	if len(qs) != 2 || qs[0].Shard == qs[1].Shard || qs[0].Type != wire.TypeAskCursor {
		t.Fatalf("asks %v, want both shards", qs)
	}
	for name, m := range map[string]wire.Message{
		"of another type": {Type: wire.TypeInit, Seq: qs[0].Seq},
		"damaged":         {Type: wire.TypeCursor, Seq: qs[0].Seq, Payload: []byte{1}},
		"of another name": {Type: wire.TypeCursor, Seq: qs[0].Seq + 1<<20},
	} {
		d.serve(qs[0].Shard, m)
		if d.joined || d.joining.left != 3 {
			t.Errorf("an answer %s counts: %d parts are left", name, d.joining.left)
		}
	}
	// The answer of the other shard under this one's name.
	c := wire.Cursor{}
	d.serve(qs[1].Shard, wire.Message{Type: wire.TypeCursor, Seq: qs[0].Seq,
		Payload: c.Append(nil)})
	if d.joining.left != 3 {
		t.Error("another shard's answer counts")
	}
	c = wire.Cursor{Entries: []wire.CursorEntry{{Key: 4, Clock: 6, Slices: 1},
		{Key: 9, Clock: 3, Slices: 2, Direct: true, Table: true}}}
	d.cursor(&qs[0], c)
	d.cursor(&qs[0], c)
	if d.joined || len(d.me.Out.Done) > 0 {
		t.Fatal("it has joined before all shards have answered")
	}
	c = wire.Cursor{Entries: []wire.CursorEntry{{Key: 5, Clock: 7, Slices: 1},
		{Key: 9, Slice: 1, Clock: 2, Slices: 2, Direct: true, Table: true}}}
	d.cursor(&qs[1], c)
	d.done(1)
	if !d.joined || d.resumed != 6 || d.clock != 2 || d.started != 6 {
		t.Errorf("joined %v, resumed %d, clock %d, started %d, want 6, 2, 6", d.joined, d.resumed,
			d.clock, d.started)
	}
	if _, err := d.Join(d.at, 0); !errors.Is(err, ps.ErrUsage) {
		t.Errorf("a join behind the first: %v", err)
	}
	if c, ok := d.Cursor(ps.ID{Key: 5}); !ok || c.Clock != 7 {
		t.Errorf("cursor %+v, %v", c, ok)
	}
}

// TestALooseWorkerSaysWhereItStarts joins where rounds close without the worker.
func TestALooseWorkerSaysWhereItStarts(t *testing.T) {
	for _, c := range []Config{{Policy: ps.Shrink}, {Backups: 1}} {
		d := newDrill(t, c, 2)
		if _, err := d.Join(d.at, 0); err != nil {
			t.Fatal(err)
		}
		qs := d.sent()
		d.cursor(&qs[0], wire.Cursor{Entries: []wire.CursorEntry{
			{Key: 9, Slices: 2, Direct: true, Table: true, Clock: 1, Version: 9},
			{Key: 1, Slices: 1, Clock: 3, Version: 5}, {Key: 2, Slices: 1, Direct: true, Clock: 8,
				Version: 7}}})
		d.cursor(&qs[1], wire.Cursor{Entries: []wire.CursorEntry{
			{Key: 9, Slice: 1, Slices: 2, Direct: true, Table: true, Clock: 4, Version: 8},
			{Key: 3, Slices: 1, Clock: 6, Version: 2}, {Key: 4, Slices: 1, Direct: true, Clock: 1,
				Version: 2}}})
		want := wire.StartPoint{Round: 6, Push: 8, Step: 9}
		starts := d.sent()
		if len(starts) != 2 || starts[0].Shard == starts[1].Shard || d.joined {
			t.Fatalf("joined %v, messages %v, want the start to both shards", d.joined, starts)
		}
		for i := range starts {
			if p := starts[i].StartPoint(); p != want || starts[i].Flags&wire.FlagStart == 0 {
				t.Errorf("it starts at %+v, want %+v", p, want)
			}
			// An answer to the first question is none to this one.
			d.serve(starts[i].Shard, wire.Message{Type: wire.TypeCursor, Seq: starts[i].Seq})
		}
		if len(d.me.Out.Done) > 0 {
			t.Fatal("another answer counts")
		}
		d.cursor(&starts[0], wire.Cursor{})
		if d.joined {
			t.Error("it has joined before all shards know its start")
		}
		d.cursor(&starts[1], wire.Cursor{})
		d.done(1)
		if !d.joined || d.resumed != 6 || d.clock != 9 || d.started != 9 {
			t.Errorf("joined %v, resumed %d, clock %d, started %d", d.joined, d.resumed, d.clock,
				d.started)
		}
		if got := d.resume(wire.CursorEntry{Direct: true, Clock: 1}); got != 8 {
			t.Errorf("direct pushes resume behind %d, want 8", got)
		}
		if got := d.resume(wire.CursorEntry{Clock: 1}); got != 6 {
			t.Errorf("rounds resume behind %d, want 6", got)
		}
	}
}

// TestWhereAWorkerResumes works it out from what shards have said.
func TestWhereAWorkerResumes(t *testing.T) {
	round := func(key uint32, clock uint64) wire.CursorEntry {
		return wire.CursorEntry{Key: key, Clock: clock, Slices: 1}
	}
	direct := func(key uint32, clock uint64) wire.CursorEntry {
		return wire.CursorEntry{Key: key, Clock: clock, Slices: 1, Direct: true}
	}
	table := func(key uint32, clock uint64) wire.CursorEntry {
		return wire.CursorEntry{Key: key, Clock: clock, Slices: 1, Direct: true, Table: true}
	}
	for name, tt := range map[string]struct {
		list           []wire.CursorEntry
		resumed, clock uint64
	}{
		"nothing":           {nil, 0, 0},
		"rounds":            {[]wire.CursorEntry{round(1, 5), round(2, 4)}, 4, 0},
		"key aside":         {[]wire.CursorEntry{round(1, 5), round(Aside, 1)}, 5, 0},
		"key before aside":  {[]wire.CursorEntry{round(1, 5), round(Aside-1, 1)}, 1, 0},
		"direct":            {[]wire.CursorEntry{direct(1, 5), direct(2, 3)}, 3, 0},
		"both":              {[]wire.CursorEntry{direct(1, 2), round(2, 3)}, 3, 0},
		"tables":            {[]wire.CursorEntry{table(1, 3), table(2, 2)}, 2, 2},
		"tables and direct": {[]wire.CursorEntry{table(1, 3), direct(2, 2)}, 2, 2},
		"direct and tables": {[]wire.CursorEntry{table(1, 3), direct(2, 7)}, 3, 3},
		"tables and rounds": {[]wire.CursorEntry{table(1, 3), round(2, 7)}, 7, 3},
	} {
		d := newDrill(t, Config{}, 1)
		for _, e := range tt.list {
			d.cursors[ps.ID{Key: e.Key}] = e
		}
		if d.findResume(); d.resumed != tt.resumed || d.clock != tt.clock {
			t.Errorf("%s: resumes behind %d, clock %d, want %d and %d", name, d.resumed, d.clock,
				tt.resumed, tt.clock)
		}
	}
	// All slices of a direct key count as far as the slowest.
	d := newDrill(t, Config{}, 1)
	for i, clock := range []uint64{4, 3, 5} {
		d.cursors[ps.ID{Key: 1, Slice: uint16(i)}] = wire.CursorEntry{Key: 1, Slice: uint16(i),
			Slices: 3, Direct: true, Clock: clock}
	}
	for i := range uint16(3) {
		if got := d.resume(d.cursors[ps.ID{Key: 1, Slice: i}]); got != 3 {
			t.Errorf("slice %d resumes behind %d, want 3", i, got)
		}
	}
}

// TestWhereANewWorkerEnters joins the group of a running job, in which one of the shards says that
// nobody waits for the worker yet.
func TestWhereANewWorkerEnters(t *testing.T) {
	aside := wire.CursorEntry{Key: Aside, Slices: 1, Clock: 3, Version: 3}
	asideDirect := wire.CursorEntry{Key: Aside + 1, Slices: 1, Clock: 2, Version: 5, Direct: true}
	rounds := wire.CursorEntry{Key: 1, Slices: 1, Clock: 6, Version: 6}
	slower := wire.CursorEntry{Key: 2, Slices: 1, Clock: 4, Version: 4}
	direct := wire.CursorEntry{Key: 3, Slices: 1, Clock: 1, Version: 8, Direct: true}
	table := wire.CursorEntry{Key: 4, Slices: 1, Clock: 5, Version: 7, Direct: true, Table: true}
	for name, tt := range map[string]struct {
		c              Config
		list           []wire.CursorEntry
		resumed, clock uint64
		behind         []uint64 // pushes to the keys of list
	}{
		"nothing":         {Config{}, nil, 0, 0, nil},
		"rounds":          {Config{}, []wire.CursorEntry{rounds, slower}, 4, 0, []uint64{6, 4}},
		"rounds, a table": {Config{}, []wire.CursorEntry{rounds, table}, 6, 7, []uint64{6, 7}},
		"pushes":          {Config{}, []wire.CursorEntry{direct}, 8, 0, []uint64{8}},
		"pushes, a table": {Config{}, []wire.CursorEntry{direct, table}, 8, 7, []uint64{8, 7}},
		"keys aside": {Config{}, []wire.CursorEntry{direct, aside, asideDirect}, 8, 0,
			[]uint64{8, 3, 2}},
		"backups": {Config{Backups: 1}, []wire.CursorEntry{rounds, slower, direct}, 6, 0,
			[]uint64{6, 6, 8}},
	} {
		d := newDrill(t, tt.c, 2)
		if _, err := d.Join(d.at, 0); err != nil {
			t.Fatal(err)
		}
		qs := d.sent()
		d.cursor(&qs[0], wire.Cursor{Away: true, Entries: tt.list})
		d.cursor(&qs[1], wire.Cursor{})
		starts := d.sent()
		if len(starts) != 2 || d.joined {
			t.Fatalf("%s: joined %v, %d messages, want the start to both shards", name, d.joined,
				len(starts))
		}
		for i := range starts {
			d.cursor(&starts[i], wire.Cursor{})
		}
		d.done(1)
		if d.resumed != tt.resumed || d.clock != tt.clock {
			t.Errorf("%s: resumes behind %d, clock %d, want %d and %d", name, d.resumed, d.clock,
				tt.resumed, tt.clock)
		}
		for i, e := range tt.list {
			if got := d.resume(e); !e.Table && got != tt.behind[i] {
				t.Errorf("%s: key %d resumes behind %d, want %d", name, e.Key, got, tt.behind[i])
			}
		}
	}
}

// TestJoinNamesTheServerThatIsMissing asks for the reason of a join that cannot go on.
func TestJoinNamesTheServerThatIsMissing(t *testing.T) {
	d := newDrill(t, Config{}, 0)
	if n := d.blameJoin(); !n.IsZero() {
		t.Errorf("it waits for %s", n)
	}
	if _, err := d.Join(d.at, d.at+ps.Second); err != nil {
		t.Fatal(err)
	}
	d.v.Servers = []wire.Member{{Node: srv(0), Alive: true}, {Node: srv(1)}, {Node: srv(2)}}
	d.tell()
	d.at += ps.Second
	d.Tick(d.at)
	var e *ps.Error
	if err := d.done(1)[0].Err; !errors.As(err, &e) || e.Peer != node.Scheduler ||
		e.Waits != srv(1) {
		t.Errorf("got %v, want that it waits for server 1", err)
	}
	w, err := New(Config{Nonce: 1, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	if n := w.blameJoin(); !n.IsZero() {
		t.Errorf("without a view it waits for %s", n)
	}
}

// TestInitIsChecked tries keys at the bounds.
func TestInitIsChecked(t *testing.T) {
	d := joinedDrill(t, Config{Window: 64, SliceSize: 64}, 1)
	d.key(1, KeySpec{Total: 8})
	for name, tt := range map[string]struct {
		key  uint32
		spec KeySpec
		n    int
		ok   bool
	}{
		"exists":           {1, KeySpec{Total: 8}, 8, false},
		"another":          {2, KeySpec{Total: 8}, 8, true},
		"no such type":     {3, KeySpec{DType: 99, Total: 8}, 8, false},
		"half an element":  {3, KeySpec{DType: dtype.Float32, Total: 6}, 6, false},
		"value too short":  {3, KeySpec{Total: 8}, 7, false},
		"whole, too large": {3, KeySpec{Total: node.MaxSlice + 1, Whole: true}, 8, false},
		"empty":            {3, KeySpec{}, 0, true},
		"too many slices":  {4, KeySpec{Total: 64 * 65}, 64 * 65, false},
	} {
		_, err := d.Init(d.at, tt.key, tt.spec, make([]byte, tt.n), 0)
		if !tt.ok {
			d.refused(name, err)
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		d.created()
	}
	d.key(5, KeySpec{Total: 64 * 61}) // the window takes one push of each: 3 others, and 61
	if _, err := d.Init(d.at, 6, KeySpec{Total: 8}, make([]byte, 8), 0); !errors.Is(err,
		ps.ErrUsage) {
		t.Errorf("a slice more than the window takes: %v", err)
	}
	// A whole key is not cut. Worker 1 sends no value.
	d = joinedDrill(t, Config{SliceSize: 64}, 1)
	if _, err := d.Init(d.at, 1, KeySpec{Total: 128, Whole: true, Direct: true}, make([]byte, 128),
		0); err != nil {
		t.Fatal(err)
	}
	if m := d.one(wire.TypeInit); m.Flags != wire.FlagDirect|wire.FlagCreate ||
		len(m.Payload) != 128 || m.Slices != 1 {
		t.Errorf("init %+v", m)
	}
	if w := d.waitsFor(); w != -1 {
		t.Errorf("waits for %d, want -1", w)
	}
}

// TestCallsAreChecked tries pushes, pulls and settings of keys that make no sense.
func TestCallsAreChecked(t *testing.T) {
	d := joinedDrill(t, Config{SliceSize: 64}, 1)
	d.key(1, KeySpec{Total: 128})
	if _, _, err := d.Table(d.at, 2, TableSpec{Rows: 2, RowSize: 8}, 0); err != nil {
		t.Fatal(err)
	}
	d.created()
	b := make([]byte, 128)
	for name, op := range map[string]PushOp{
		"no such key": {Key: 9, Value: b},
		"table":       {Key: 2, Value: b[:8]},
		"too short":   {Key: 1, Value: b[:127]},
		"codes":       {Key: 1, Codec: 1, Codes: [][]byte{b}},
		"small room":  {Key: 1, Value: b, Out: b[:127]},
		"empty room":  {Key: 1, Value: b, Out: b[:0]},
	} {
		_, err := d.Push(d.at, op)
		d.refused("push: "+name, err)
	}
	for name, tt := range map[string]struct {
		key uint32
		n   int
	}{"no such key": {9, 128}, "table": {2, 8}, "small room": {1, 127}} {
		_, err := d.Pull(d.at, tt.key, b[:tt.n], 0, 0)
		d.refused("pull: "+name, err)
	}
	d.refused("set clock", d.SetClock(9, 1))
	if n := d.Pushes(9); n != 0 {
		t.Errorf("%d pushes of a key that is not known", n)
	}
	if err := d.SetClock(1, 4); err != nil || d.Pushes(1) != 4 {
		t.Errorf("%d pushes, %v, want 4", d.Pushes(1), err)
	}
	if _, err := d.Push(d.at, PushOp{Key: 1, Codec: 1, Codes: [][]byte{b[:2], b[:3]}}); err != nil {
		t.Fatal(err)
	}
	if d.SetClock(1, 9) == nil || d.Pushes(1) != 5 || d.position() != 5 {
		t.Errorf("%d pushes at position %d: the clock is set while pushes are under way",
			d.Pushes(1),
			d.position())
	}
	list := d.sent()
	if len(list) != 2 || list[0].Codec != 1 || len(list[0].Payload)+len(list[1].Payload) != 5 ||
		list[0].Clock != 5 {
		t.Fatalf("pushes %v", list)
	}
	d.ack(&list[0])
	if d.SetClock(1, 9) == nil {
		t.Error("the clock is set while a slice is under way")
	}
	d.ack(&list[1])
	d.done(1)
	if err := d.SetClock(1, 9); err != nil {
		t.Error(err)
	}
	// Keys aside are no steps.
	d.key(Aside, KeySpec{Total: 8})
	for range 20 {
		if _, err := d.Push(d.at, PushOp{Key: Aside, Value: b[:8]}); err != nil {
			t.Fatal(err)
		}
		d.ack(d.one(wire.TypePush))
		d.done(1)
	}
	if d.position() != 5 {
		t.Errorf("position %d, want 5", d.position())
	}
}

// TestPullsWantVersions looks at the versions that pulls ask for.
func TestPullsWantVersions(t *testing.T) {
	for name, tt := range map[string]struct {
		cfg       Config
		direct    bool
		sl        slice
		need, own uint64
		exact     bool
	}{
		"rounds":          {Config{}, false, slice{clock: 5, old: 3}, 5, 5, false},
		"repeated rounds": {Config{}, false, slice{clock: 5, old: 6}, 5, 5, true},
		"last repeated":   {Config{}, false, slice{clock: 5, old: 5}, 5, 5, false},
		"loose": {Config{Backups: 1}, false, slice{clock: 5, base: 4, old: 9, there: 2},
			5, 5, false},
		"loose, at start": {Config{Backups: 1}, false, slice{clock: 5, base: 5, old: 9, there: 2},
			2, 5, false},
		"at start":    {Config{}, false, slice{clock: 5, base: 5, there: 2}, 5, 5, false},
		"unbounded":   {Config{Staleness: Unbounded}, true, slice{clock: 5}, 0, 5, false},
		"staleness 0": {Config{}, true, slice{clock: 5}, 5, 5, false},
		"staleness 2": {Config{Staleness: 2}, true, slice{clock: 5}, 3, 5, false},
		"staleness 5": {Config{Staleness: 5}, true, slice{clock: 5}, 0, 5, false},
	} {
		d := newDrill(t, tt.cfg, 1)
		sl := tt.sl
		sl.key = &workerKey{direct: tt.direct}
		p := &part{slice: &sl}
		if d.want(p); p.need != tt.need || p.own != tt.own ||
			(p.flags&wire.FlagExact != 0) != tt.exact {
			t.Errorf("%s: needs %d, own %d, flags %v, want %d, %d, exact %v", name, p.need, p.own,
				p.flags, tt.need, tt.own, tt.exact)
		}
	}
	// The staleness of a successor counts from its slowest key.
	d := newDrill(t, Config{Staleness: 1}, 1)
	add := func(key uint32, clock uint64) *slice {
		k := &workerKey{key: key, direct: true}
		sl := &slice{key: k, id: ps.ID{Key: key}, clock: clock, old: clock}
		k.slices = []*slice{sl}
		d.keys[key] = k
		return sl
	}
	a, b := add(1, 9), add(2, 7)
	for _, c := range []wire.CursorEntry{{Key: 1, Direct: true, Clock: 9},
		{Key: 2, Direct: true, Clock: 2}, {Key: 3, Direct: true, Clock: 6},
		{Key: 4, Clock: 1}, {Key: 5, Direct: true, Table: true, Clock: 1}} {
		d.cursors[ps.ID{Key: c.Key}] = c
	}
	for _, sl := range []*slice{a, b} {
		if got := d.reached(sl); got != 6 {
			t.Errorf("key %d counts from %d, want 6", sl.id.Key, got)
		}
	}
	if a.pushed = true; d.reached(a) != 9 {
		t.Errorf("a key that was pushed counts from %d, want 9", d.reached(a))
	}
	if b.old = 0; d.reached(b) != 7 {
		t.Errorf("a new key counts from %d, want 7", d.reached(b))
	}
	d.cursors[ps.ID{Key: 1, Slice: 1}] = wire.CursorEntry{Key: 1, Slice: 1, Direct: true, Clock: 4}
	if b.old = 1; d.reached(b) != 4 {
		t.Errorf("a slice that is not there counts as %d, want 4", d.reached(b))
	}
}

// TestSkipLeavesRoundsOut moves on behind the round that all keys show.
func TestSkipLeavesRoundsOut(t *testing.T) {
	for _, tt := range []struct {
		backups      int
		clocks, seen [2]uint64
		want         uint64
		after        [2]uint64
	}{
		{1, [2]uint64{2, 2}, [2]uint64{6, 5}, 3, [2]uint64{5, 5}},
		{1, [2]uint64{2, 3}, [2]uint64{5, 5}, 3, [2]uint64{5, 5}},
		{1, [2]uint64{2, 7}, [2]uint64{5, 1}, 3, [2]uint64{5, 7}},
		{1, [2]uint64{5, 6}, [2]uint64{4, 5}, 0, [2]uint64{5, 6}},
		{0, [2]uint64{2, 2}, [2]uint64{5, 5}, 0, [2]uint64{2, 2}},
	} {
		d := newDrill(t, Config{Backups: tt.backups}, 1)
		for i := range 3 {
			k := &workerKey{key: uint32(i), direct: i == 2}
			sl := &slice{key: k, clock: 1, seen: 1}
			if i < 2 {
				sl.clock, sl.seen = tt.clocks[i], tt.seen[i]
			}
			k.slices = []*slice{sl}
			d.keys[k.key] = k
		}
		got := d.Skip()
		after := [2]uint64{d.keys[0].slices[0].clock, d.keys[1].slices[0].clock}
		if got != tt.want || after != tt.after || d.keys[2].slices[0].clock != 1 {
			t.Errorf("%+v: left out %d, clocks %v and %d", tt, got, after,
				d.keys[2].slices[0].clock)
		}
		if begun := d.begun; begun != 0 && got == 0 || got > 0 && begun != 5 {
			t.Errorf("%+v: begun %d", tt, begun)
		}
	}
	d := newDrill(t, Config{Backups: 1}, 1)
	if got := d.Skip(); got != 0 {
		t.Errorf("without keys %d rounds are left out", got)
	}
}

// TestBarriersHaveNumbers calls barriers, one of which runs out of time.
func TestBarriersHaveNumbers(t *testing.T) {
	d := joinedDrill(t, Config{}, 1)
	call := func(deadline ps.Time) wire.BarrierCall {
		t.Helper()
		if _, err := d.Barrier(d.at, deadline); err != nil {
			t.Fatal(err)
		}
		return d.one(wire.TypeBarrier).BarrierCall()
	}
	end := func(n uint64) {
		m := wire.Message{Type: wire.TypeBarrierDone}
		m.SetBarrierCalls(n)
		d.schedule(m)
	}
	d.started, d.begun = 2, 3
	want := wire.BarrierCall{Number: 1, Begun: 3, Before: 2}
	if got := call(d.at + ps.Second); got != want {
		t.Errorf("call %+v, want %+v", got, want)
	}
	if _, err := d.Barrier(d.at, 0); !errors.Is(err, ps.ErrUsage) {
		t.Errorf("a second call: %v", err)
	}
	d.begun = 4 // the call stays one of the step before
	d.at += d.me.Timing.Resend - 1
	d.Tick(d.at)
	for _, m := range d.sent() {
		if m.Type == wire.TypeBarrier {
			t.Error("the call is repeated before it is time")
		}
	}
	d.at++
	d.Tick(d.at)
	if got := d.one(wire.TypeBarrier).BarrierCall(); got != want {
		t.Errorf("repeated call %+v, want %+v", got, want)
	}
	d.at += ps.Second
	d.Tick(d.at)
	var e *ps.Error
	if err := d.done(1)[0].Err; !errors.Is(err, ps.ErrTimeout) || !errors.As(err, &e) ||
		e.Peer != node.Scheduler || d.barrier != nil {
		t.Errorf("got %v, want that time is up", err)
	}
	d.sent()
	if got := call(0); got != want {
		t.Errorf("the call again %+v, want %+v", got, want)
	}
	if end(0); d.barrier == nil {
		t.Error("it ends with the barrier before")
	}
	end(1)
	if err := d.done(1)[0].Err; err != nil || d.barrier != nil {
		t.Errorf("it ends with %v", err)
	}
	want = wire.BarrierCall{Number: 2, Begun: 4, Before: 2}
	if got := call(0); got != want {
		t.Errorf("the next call %+v, want %+v", got, want)
	}
	if end(1); d.barrier == nil {
		t.Error("the next call ends with the first")
	}
	end(2)
	d.done(1)
	// A barrier is passed whose call has run out of time.
	call(d.at + 1)
	d.at++
	d.Tick(d.at)
	d.done(1)
	d.sent()
	end(3)
	if got := call(0); got.Number != 4 {
		t.Errorf("call %d, want 4", got.Number)
	}
}

// TestSnapshotsAreAskedFor asks for a snapshot, whose ends come with every failure.
func TestSnapshotsAreAskedFor(t *testing.T) {
	d := joinedDrill(t, Config{}, 1)
	end := func(clock uint64, f wire.Failure) {
		m := wire.Message{Type: wire.TypeSnapshotDone}
		m.SetSnapshotResult(wire.SnapshotResult{Clock: clock, Failure: f})
		d.schedule(m)
	}
	for f, want := range map[wire.Failure]string{0: "",
		wire.FailureLate:      "a key has passed clock 5",
		wire.FailureUnwritten: "a server could not write its part"} {
		if _, err := d.SnapshotAll(d.at, 5, 0); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Snapshot(d.at, 6, 0); !errors.Is(err, ps.ErrUsage) {
			t.Errorf("a second call: %v", err)
		}
		order := wire.SnapshotOrder{Clock: 5, All: true}
		if got := d.one(wire.TypeSnapshot).SnapshotOrder(); got != order {
			t.Errorf("order %+v, want %+v", got, order)
		}
		d.at += d.me.Timing.Resend - 1
		d.repeatIn(wire.TypeSnapshot, 0)
		d.at++
		d.repeatIn(wire.TypeSnapshot, 1)
		end(4, f)
		d.done(0)
		end(5, f)
		err := d.done(1)[0].Err
		var e *ps.Error
		if want == "" && err != nil || want != "" && (!errors.Is(err, ps.ErrRejected) ||
			!errors.As(err, &e) || e.Peer != node.Scheduler ||
			e.Err.Error() != ps.ErrRejected.Error()+": "+want) {
			t.Errorf("failure %d: %v, want %q", f, err, want)
		}
		end(5, f)
		d.done(0)
		d.repeatIn(wire.TypeSnapshot, 0)
	}
}

// repeatIn lets the worker tick, and counts messages of a type.
func (d *drill) repeatIn(t wire.Type, want int) {
	d.t.Helper()
	d.Tick(d.at)
	n := 0
	for _, m := range d.sent() {
		if m.Type == t {
			n++
		}
	}
	if n != want {
		d.t.Errorf("%d messages %s, want %d", n, t, want)
	}
}
