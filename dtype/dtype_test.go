package dtype_test

import (
	"math"
	"testing"

	"gomx/dtype"
)

func TestHalfRoundTripsEveryValue(t *testing.T) {
	for i := range 1 << 16 {
		h := dtype.Half(i)
		f := h.Float32()
		if f != f { // NaN has many encodings
			if got := dtype.HalfOf(f).Float32(); got == got {
				t.Fatalf("half %#04x: NaN became %v", i, got)
			}
			continue
		}
		if got := dtype.HalfOf(f); got != h {
			t.Fatalf("half %#04x: got %#04x back from %v", i, got, f)
		}
	}
}

func TestHalfOfRoundsToNearestEven(t *testing.T) {
	tests := []struct {
		name string
		in   float32
		want dtype.Half
	}{
		{"one", 1, 0x3c00},
		{"tie to even below", 1 + 1.0/2048, 0x3c00},
		{"tie to even above", 1 + 3.0/2048, 0x3c02},
		{"largest", 65504, 0x7bff},
		{"rounds to infinity", 65520, 0x7c00},
		{"stays finite", 65519, 0x7bff},
		{"infinity", float32(math.Inf(1)), 0x7c00},
		{"negative zero", float32(math.Copysign(0, -1)), 0x8000},
		{"smallest subnormal", 1.0 / (1 << 24), 1},
		{"half of it ties to zero", 1.0 / (1 << 25), 0},
		{"largest subnormal rounds up", 1023.75 / (1 << 24), 0x0400},
	}
	for _, tt := range tests {
		if got := dtype.HalfOf(tt.in); got != tt.want {
			t.Errorf("%s: got %#04x, want %#04x", tt.name, got, tt.want)
		}
	}
}

func TestBF16RoundTripsEveryValue(t *testing.T) {
	for i := range 1 << 16 {
		b := dtype.BF16(i)
		f := b.Float32()
		if f != f {
			continue
		}
		if got := dtype.BF16Of(f); got != b {
			t.Fatalf("bfloat16 %#04x: got %#04x back from %v", i, got, f)
		}
	}
}

func TestTypes(t *testing.T) {
	for code := range 13 {
		typ := dtype.Type(code)
		back, err := dtype.Parse(typ.String())
		if err != nil || back != typ || typ.Size() == 0 {
			t.Errorf("type %d: got %v, %v, size %d", code, back, err, typ.Size())
		}
	}
	if _, err := dtype.Parse("float8"); err == nil {
		t.Error("got no error for float8")
	}
	if dtype.Unknown.Valid() || dtype.Unknown.Size() != 0 {
		t.Error("Unknown passes for a type")
	}
}

func TestShape(t *testing.T) {
	s := dtype.Shape{2, 3, 4}
	if got, want := s.Size(), 24; got != want {
		t.Errorf("got size %d, want %d", got, want)
	}
	if st := s.Strides(); st[0] != 12 || st[1] != 4 || st[2] != 1 {
		t.Errorf("got strides %v, want [12 4 1]", st)
	}
	if (dtype.Shape)(nil).Known() || (dtype.Shape{2, -1}).Known() || !(dtype.Shape{}).Known() {
		t.Error("Known is wrong about unknown rank, unknown extent or a scalar")
	}
	if got := (dtype.Shape{5}).String() + (dtype.Shape{}).String() +
		(dtype.Shape{2, -1}).String(); got != "(5,)()(2, ?)" {
		t.Errorf("got %s", got)
	}
}

func TestShapeMerge(t *testing.T) {
	tests := []struct {
		name       string
		a, b, want dtype.Shape
		ok         bool
	}{
		{"unknown rank", nil, dtype.Shape{2}, dtype.Shape{2}, true},
		{"both fill", dtype.Shape{-1, 3}, dtype.Shape{2, -1}, dtype.Shape{2, 3}, true},
		{"extent differs", dtype.Shape{2}, dtype.Shape{3}, nil, false},
		{"rank differs", dtype.Shape{2}, dtype.Shape{2, 1}, nil, false},
	}
	for _, tt := range tests {
		got, ok := tt.a.Merge(tt.b)
		if ok != tt.ok || !got.Equal(tt.want) {
			t.Errorf("%s: got %v, %v, want %v, %v", tt.name, got, ok, tt.want, tt.ok)
		}
	}
}
