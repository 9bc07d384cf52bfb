package update_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"

	"gomx/dtype"
	"gomx/kvstore/update"
	"gomx/optimizer"
)

// encodeFloats returns the bytes of n numbers that depend on a seed.
func encodeFloats(n, seed int) (b []byte) {
	for i := range n {
		v := float32(math.Sin(float64(100*seed + i)))
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

// TestReturn takes back a round that some keys have had, or all, also the first one: the keys go on
// as keys do that have not had it.
func TestReturn(t *testing.T) {
	const keys, length = 3, 50 // two slices of a key
	begin := func(o optimizer.Optimizer) *update.Replica {
		r, err := update.NewReplica(4, 128)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = r.Close() })
		r.Undoable()
		for k := range keys {
			r.Init(uint32(k), dtype.Float32, false, encodeFloats(length, k), 0)
		}
		spec := update.Spec{Names: []string{"a", "b_weight", "c_bias"}, Rounds: true}
		s, err := spec.Encode(1, o)
		if err == nil {
			err = r.SetSpec(s)
		}
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	apply := func(r *update.Replica, round int, list ...uint32) {
		for _, k := range list {
			r.Apply(k, encodeFloats(length, 1000*round+int(k)), nil)
		}
	}
	for _, o := range []optimizer.Optimizer{optimizer.SGD{LR: 0.1}, optimizer.Adam{LR: 0.01},
		optimizer.SGD{LR: 0.1, Momentum: 0.9, Common: optimizer.Common{
			Schedule: optimizer.FactorScheduler{Step: 1, Factor: 0.5}}}} {
		for rounds := range 3 {
			for n := range keys + 1 {
				got, want := begin(o), begin(o)
				for round := range rounds {
					apply(got, round, 0, 1, 2)
					apply(want, round, 0, 1, 2)
				}
				apply(got, 77, []uint32{0, 1, 2}[:n]...)
				for _, r := range []*update.Replica{got, want} {
					if err := r.Return(uint64(rounds), 3); err != nil {
						t.Fatal(err)
					}
					apply(r, 88, 0, 1, 2)
					apply(r, 89, 0, 1, 2)
				}
				for k := range uint32(keys) {
					a, b := make([]byte, 4*length), make([]byte, 4*length)
					got.Read(k, a)
					want.Read(k, b)
					if !bytes.Equal(a, b) {
						t.Errorf("%s: key %d differs after a round of %d keys was taken back to %d "+
							"rounds", o.Name(), k, n, rounds)
					}
					for i := range got.Slices(k) {
						if !bytes.Equal(got.State(k, i), want.State(k, i)) {
							t.Errorf("%s: state of key %d, slice %d differs (%d keys, %d rounds)",
								o.Name(), k, i, n, rounds)
						}
					}
				}
			}
		}
	}
	r := begin(optimizer.SGD{LR: 0.1})
	apply(r, 0, 0)
	apply(r, 1, 0)
	if err := r.Return(0, 3); err == nil {
		t.Error("two rounds were taken back")
	}
}
