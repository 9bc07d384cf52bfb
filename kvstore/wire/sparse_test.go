package wire_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"gomx/kvstore/wire"
)

func TestSparse(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	for range 300 {
		var ids []uint32
		last := uint64(0)
		for range r.IntN(20) {
			last += 1 + r.Uint64N(1<<r.IntN(30))
			if last < 1<<32 {
				ids = append(ids, uint32(last-1))
			}
		}
		data := make([]byte, 12*len(ids))
		b := append(wire.AppendIDs(nil, ids), data...)
		s, err := wire.DecodeSparse(b, 12, 1<<32)
		if err != nil || s.N != len(ids) || !slices.Equal(s.IDs(nil), ids) ||
			len(s.Rows) != len(data) {
			t.Fatalf("seed %d: %v decodes as %v, %v", seed, ids, s.IDs(nil), err)
		}
		if len(ids) == 0 {
			continue
		}
		for name, err := range map[string]error{
			"limit": fault(wire.DecodeSparse(b, 12, uint64(ids[len(ids)-1]))),
			"row":   fault(wire.DecodeSparse(b, 16, 1<<32)),
			"short": fault(wire.DecodeSparse(b[:len(b)-1], 12, 1<<32)),
		} {
			if !errors.Is(err, wire.ErrBody) {
				t.Fatalf("seed %d: %s: %v, want ErrBody", seed, name, err)
			}
		}
		// Whatever the bytes are, decoding does not panic and keeps the promise of order.
		b[r.IntN(len(b))] = byte(r.Uint32())
		if s, err := wire.DecodeSparse(b, 12, 1<<32); err == nil && !slices.IsSorted(s.IDs(nil)) {
			t.Fatalf("seed %d: rows %v are accepted", seed, s.IDs(nil))
		}
	}
}

func fault(_ wire.Sparse, err error) error { return err }
