package rows_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/iotest"

	"gomx/dtype"
	"gomx/kvstore/ps"
	"gomx/kvstore/rows"
	"gomx/kvstore/wire"
)

func spec(n uint64, init rows.Init) rows.Spec {
	return rows.Spec{Key: 3, Parts: 1, Rows: n, Row: 8, DType: dtype.Float32, Init: init}
}

// TestStoreAgainstMap makes and changes random rows of a store, and the same in a map.
func TestStoreAgainstMap(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	for _, n := range []uint64{1, 50, 1 << 31} {
		s := rows.New(spec(n, rows.Init{Kind: rows.KindUniform, Scale: 2, Seed: seed}))
		want := map[uint32]uint64{}
		first := make([]byte, 8)
		for range 20000 {
			id := uint32(r.Uint64N(n))
			if r.IntN(3) == 0 {
				id = uint32(r.Uint64N(min(n, 100)))
			}
			if _, ok := want[id]; !ok {
				s.Read(id, first) // makes no row
			}
			row := s.Row(0, s.Touch(id))
			if old, ok := want[id]; ok && binary.LittleEndian.Uint64(row) != old {
				t.Fatalf("seed %d: row %d changed by itself", seed, id)
			} else if !ok && !bytes.Equal(row, first) {
				t.Fatalf("seed %d: row %d begins with %v, read before as %v", seed, id, row, first)
			}
			v := r.Uint64()
			binary.LittleEndian.PutUint64(row, v)
			want[id] = v
		}
		if s.N() != len(want) {
			t.Errorf("seed %d: %d rows, want %d", seed, s.N(), len(want))
		}
		for id, v := range want {
			s.Read(id, first)
			if binary.LittleEndian.Uint64(first) != v {
				t.Fatalf("seed %d: row %d differs", seed, id)
			}
		}
		s.Close()
		if _, ok := s.Find(0); ok || s.N() != 0 {
			t.Error("a closed store has rows")
		}
	}
}

// TestManyOfFewRows touches most rows of a store, whose index has a place for each of them in the
// end.
func TestManyOfFewRows(t *testing.T) {
	const n = 1<<20 + 100
	s := rows.New(spec(n, rows.Init{}))
	defer s.Close()
	for i := range uint32(n) {
		if i%16 > 0 {
			s.Row(0, s.Touch(n-1-i))[0] = byte(i)
		}
	}
	for i := range uint32(n) {
		slot, ok := s.Find(n - 1 - i)
		if ok != (i%16 > 0) || ok && s.Row(0, slot)[0] != byte(i) {
			t.Fatalf("row %d: found %v in slot %d", n-1-i, ok, slot)
		}
	}
}

// TestFirstValues wants values that depend on seed, key and row, and have the distribution.
func TestFirstValues(t *testing.T) {
	const n = 4096
	a, b := make([]byte, 4*n), make([]byte, 4*n)
	for _, kind := range []rows.Kind{rows.KindUniform, rows.KindNormal} {
		in := rows.Init{Kind: kind, Scale: 0.5, Seed: 7}
		in.Fill(a, dtype.Float32, 1, 2)
		in.Fill(b, dtype.Float32, 1, 2)
		if !bytes.Equal(a, b) {
			t.Error("the first values of a row differ from one time to the other")
		}
		sum, squares := 0.0, 0.0
		for i := range n {
			v := float64(math.Float32frombits(binary.LittleEndian.Uint32(a[4*i:])))
			sum, squares = sum+v, squares+v*v
		}
		want := 0.25
		if kind == rows.KindUniform {
			want /= 3
		}
		if mean, variance := sum/n, squares/n; math.Abs(mean) > 0.04 ||
			math.Abs(variance/want-1) > 0.1 {
			t.Errorf("kind %d: mean %v and variance %v, want 0 and %v", kind, mean, variance, want)
		}
		for _, other := range []struct {
			in  rows.Init
			key uint32
			row uint64
		}{{rows.Init{Kind: kind, Scale: 0.5, Seed: 8}, 1, 2}, {in, 2, 2}, {in, 1, 3}} {
			other.in.Fill(b, dtype.Float32, other.key, other.row)
			if bytes.Equal(a[:64], b[:64]) {
				t.Errorf("%+v makes the same values as seed 7, key 1, row 2", other)
			}
		}
	}
	rows.Init{Scale: 3}.Fill(a, dtype.Int32, 0, 0)
	if got := binary.LittleEndian.Uint32(a); got != 3 {
		t.Errorf("constant 3 of int32 makes %d", got)
	}
}

// list encodes rows of two floats.
func list(ids []uint32, v ...float32) []byte {
	b := wire.AppendIDs(nil, ids)
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

func read(p *rows.Part, before bool, ids ...uint32) (out []float32) {
	b := p.AppendRows(nil, wire.AppendIDs(nil, ids), before)
	for i := 0; i < len(b); i += 4 {
		out = append(out, math.Float32frombits(binary.LittleEndian.Uint32(b[i:])))
	}
	return out
}

// TestPart merges pushes, applies a sum, and reads rows as they were before it.
func TestPart(t *testing.T) {
	p := rows.NewPart(spec(10, rows.Init{Scale: 9}), list([]uint32{4}, 1, 2))
	sum := p.Merge(list([]uint32{1, 4}, 1, 1, 2, 2), list([]uint32{4, 6}, 3, 3, 5, 5))
	if want := list([]uint32{1, 4, 6}, 1, 1, 5, 5, 5, 5); !bytes.Equal(sum, want) {
		t.Errorf("sum %v, want %v", sum, want)
	}
	if p.Undoes() {
		t.Error("a part without rounds knows the values before the last one")
	}
	slots, grads := p.Begin(sum, true)
	for i, slot := range slots {
		copy(p.Store.Row(0, slot), grads[8*i:])
	}
	if got, want := read(p, false, 0, 1, 4, 6), []float32{9, 9, 1, 1, 5, 5, 5, 5}; !slices.Equal(got,
		want) {
		t.Errorf("rows %v, want %v", got, want)
	}
	if got, want := read(p, true, 0, 1, 4), []float32{9, 9, 9, 9, 1, 2}; !slices.Equal(got, want) {
		t.Errorf("rows before %v, want %v", got, want)
	}
	for name, bad := range map[string][]byte{
		"too short":   {1, 2},
		"row 10":      list([]uint32{10}, 1, 1),
		"not ordered": append([]byte{2, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0}, make([]byte, 16)...),
		"few bytes":   list([]uint32{1}, 1),
	} {
		if err := p.Check(bad, 0, ps.Plain{}, 1<<20); err == nil {
			t.Errorf("%s: a push is accepted", name)
		}
	}
	if p.CheckWanted(wire.AppendIDs(nil, []uint32{1, 2}), 15) == nil {
		t.Error("more rows are wanted than fit into a message")
	}
	if p.Check(sum, 1, ps.Plain{}, 1<<20) == nil || p.Check(sum, 0, ps.Plain{}, 20) == nil || p.CheckWanted(sum, 100) == nil {
		t.Error("a push in an encoding, or a push as a list of wanted rows, is accepted")
	}
}

// TestState takes a part over in pieces, in another order, with states, and damages its bytes.
func TestState(t *testing.T) {
	p := rows.NewPart(spec(1000, rows.Init{}), nil)
	p.Store.SetStates([]int{4, 8}, 5)
	for i := range uint32(300) {
		slot := p.Store.Touch(i * 7 % 1000)
		binary.LittleEndian.PutUint32(p.Store.Row(1, slot), i)
		binary.LittleEndian.PutUint32(p.Store.Row(2, slot), i*i)
	}
	p.Begin(list([]uint32{7, 8}, 1, 1, 2, 2), true)
	q := rows.NewPart(p.Store.Spec, nil)
	q.Store.Touch(999) // in another slot
	for i, piece := range [][2]int{{200, 302}, {0, 200}} {
		if p.Len() < piece[1] {
			piece[1] = p.Len()
		}
		b := p.Append(nil, piece[0], piece[1], piece[0] == 0)
		from := wire.SourceOf(b)
		if i == 0 {
			from = wire.SourceFrom(iotest.OneByteReader(bytes.NewReader(b)), uint64(len(b)))
		}
		s, err := rows.ReadState(from, ps.ID{Key: 3}, 1, dtype.Float32)
		if err == nil {
			err = q.Take(&s)
		}
		if err != nil || from.Left() != 0 || i == 0 && from.Sum() != wire.Checksum(b) {
			t.Fatalf("%v, %d bytes left", err, from.Left())
		}
	}
	p.Store.Touch(999)
	if p.Checksum() != q.Checksum() || !slices.Equal(read(q, true, 7, 8), read(p, true, 7, 8)) {
		t.Error("the copy differs")
	}
	whole := p.Append(nil, 0, 20, true)
	for n := range whole {
		_, err := rows.ReadState(wire.SourceOf(whole[:n]), ps.ID{Key: 3}, 1, dtype.Float32)
		if !errors.Is(err, rows.ErrState) {
			t.Fatalf("%d of %d bytes: %v, want ErrState", n, len(whole), err)
		}
	}
}

// TestCut reads a cut piece by piece while rows change and are made: it has the rows of its moment.
func TestCut(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	s := rows.New(spec(5000, rows.Init{Kind: rows.KindUniform, Scale: 1, Seed: seed}))
	change := func(n int) {
		for range n {
			binary.LittleEndian.PutUint64(s.Row(0, s.Touch(uint32(r.IntN(5000)))), r.Uint64())
		}
	}
	change(1000)
	want, got := map[string]bool{}, map[string]bool{}
	for slot := range uint32(s.N()) {
		want[string(s.AppendRecord(nil, slot))] = true
	}
	c := s.Cut()
	for {
		b, err := c.Next(100)
		if err != nil {
			t.Fatal(err)
		}
		if len(b) == 0 {
			break
		}
		for record := range slices.Chunk(b, s.Record()) {
			if got[string(record)] {
				t.Errorf("seed %d: a row comes twice", seed)
			}
			got[string(record)] = true
		}
		change(r.IntN(200))
	}
	if !maps.Equal(got, want) || c.Len() != len(want) {
		t.Errorf("seed %d: the cut has other rows than the moment", seed)
	}
	for what, end := range map[string]func(){
		"another cut": func() { s.Cut() },
		"new states":  func() { s.SetStates([]int{4}, 1) },
		"the end":     s.Close,
	} {
		change(10)
		c := s.Cut()
		end()
		if _, err := c.Next(100); !errors.Is(err, rows.ErrCut) {
			t.Errorf("a cut is read behind %s: %v, want ErrCut", what, err)
		}
	}
}
