package ps

import (
	"bytes"
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"gomx/dtype"
)

// encode writes values of a type as bytes.
func encode(t dtype.Type, values ...float64) (b []byte) {
	le := binary.LittleEndian
	for _, v := range values {
		switch {
		case t == dtype.Float32:
			b = le.AppendUint32(b, math.Float32bits(float32(v)))
		case t == dtype.Float64:
			b = le.AppendUint64(b, math.Float64bits(v))
		case t == dtype.Float16:
			b = le.AppendUint16(b, uint16(dtype.HalfOf(float32(v))))
		case t == dtype.BFloat16:
			b = le.AppendUint16(b, uint16(dtype.BF16Of(float32(v))))
		case t.Size() == 1:
			b = append(b, byte(int64(v)))
		case t.Size() == 2:
			b = le.AppendUint16(b, uint16(int64(v)))
		case t.Size() == 4:
			b = le.AppendUint32(b, uint32(int64(v)))
		default:
			b = le.AppendUint64(b, uint64(int64(v)))
		}
	}
	return b
}

// TestPlainAdds adds values of every type, of lengths around the unrolled loop, at every alignment.
func TestPlainAdds(t *testing.T) {
	types := 0
	for kind := dtype.Type(0); kind.Valid(); kind++ {
		types++
		for n := range 11 {
			for shift := range 4 {
				var a, b, want []float64
				for i := range n {
					a, b = append(a, float64(i+1)), append(b, float64(2*i+3))
					want = append(want, float64(3*i+4))
					if kind == dtype.Bool {
						a[i], b[i], want[i] = float64(i%2), float64(i/2%2), float64(i%2|i/2%2)
					}
				}
				x := append(make([]byte, 8), encode(kind, a...)...)
				// memory in front of the values and behind them does not change
				room := append(make([]byte, shift), x...)
				dst := room[8+shift : len(room) : len(room)]
				src := append(make([]byte, shift), encode(kind, b...)...)[shift:]
				Plain{}.Add(dst, src, kind, 0)
				if got := encode(kind, want...); !bytes.Equal(dst, got) {
					t.Fatalf("%d values of %s at %d: got % x, want % x", n, kind, shift, dst, got)
				}
				if !bytes.Equal(room[:8+shift], make([]byte, 8+shift)) {
					t.Fatalf("%d values of %s at %d: memory in front changes", n, kind, shift)
				}
			}
		}
	}
	if types < 10 {
		t.Errorf("%d types, want all", types)
	}
	dst := encode(dtype.Int8, 127)
	if (Plain{}).Add(dst, encode(dtype.Int8, 1), dtype.Int8, 0); dst[0] != 128 {
		t.Errorf("127+1 of int8 is %#x, want that it wraps", dst[0])
	}
	room := make([]byte, 4)
	if (Plain{}).Store(room, []byte{1, 2, 3, 4}, dtype.Float32, 0); !bytes.Equal(room, []byte{1, 2, 3,
		4}) {
		t.Errorf("stored % x", room)
	}
}

// TestPlainChecks wants payloads of the right length, type and encoding alone.
func TestPlainChecks(t *testing.T) {
	for _, tt := range []struct {
		bytes, n int
		kind     dtype.Type
		codec    uint8
		want     string
	}{
		{8, 8, dtype.Float32, 0, ""},
		{0, 0, dtype.Float32, 0, ""},
		{8, 8, dtype.Float32, 1, "encoding 1 is not known"},
		{8, 8, dtype.Type(99), 0, "element type 99 is not known"},
		{4, 8, dtype.Float32, 0, "4 bytes of float32, want 8"},
		{6, 6, dtype.Float32, 0, "6 bytes of float32, want 6"},
	} {
		err := Plain{}.Check(make([]byte, tt.bytes), tt.n, tt.kind, tt.codec)
		if (err == nil) != (tt.want == "") || err != nil && err.Error() != tt.want {
			t.Errorf("%+v: got %v", tt, err)
		}
	}
}

// TestAddFloat32Blocks adds more than the unrolled loop takes, of which both sides are aligned.
func TestAddFloat32Blocks(t *testing.T) {
	for n := range 20 {
		a, b := make([]float64, n), make([]float64, n)
		want := make([]float64, n)
		for i := range n {
			a[i], b[i] = float64(i), float64(100*i+1)
			want[i] = a[i] + b[i]
		}
		dst, src := encode(dtype.Float32, a...), encode(dtype.Float32, b...)
		if addFloat32(dst, src); !bytes.Equal(dst, encode(dtype.Float32, want...)) {
			t.Errorf("%d values: got % x", n, dst)
		}
	}
}

// TestKeysSpread wants slices of a key, and keys that follow each other, on all shards.
func TestKeysSpread(t *testing.T) {
	for i, want := range []uint32{0, 1, 2, 0} {
		if got := ShardOf(ID{Slice: uint16(i)}, 3); got != want {
			t.Errorf("slice %d of key 0 is on shard %d, want %d", i, got, want)
		}
	}
	if got := ShardOf(ID{Key: 2, Slice: 1}, 5); got != uint32((2*0x9E3779B1+1)%5) {
		t.Errorf("slice 1 of key 2 is on shard %d", got)
	}
	if !strings.Contains(Wait.String(), "wait") || Shrink.String() != "shrink" {
		t.Errorf("policies %s and %s", Wait, Shrink)
	}
}
