package update_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"gomx/dtype"
	"gomx/kvstore/ps"
	"gomx/kvstore/ps/server"
	"gomx/kvstore/update"
	"gomx/optimizer"
)

// TestSumsAreThoseOfTheProtocol compares the fast sum of float32 values with the protocol's own,
// bit for bit: infinities, their differences, tiny values, odd lengths and odd addresses included.
func TestSumsAreThoseOfTheProtocol(t *testing.T) {
	const seed = 1
	r := rand.New(rand.NewPCG(seed, 2))
	special := []float32{0, float32(math.Copysign(0, -1)), float32(math.Inf(1)),
		float32(math.Inf(-1)), math.MaxFloat32, 1e-45, -1e-40}
	for _, n := range []int{0, 1, 255, 256, 257, 1000, 4096, 7850} {
		for _, shift := range []int{0, 1, 4, 12} {
			got, add := make([]byte, 4*n+shift)[shift:], make([]byte, 4*n+shift)[shift:]
			for i := 0; i+4 <= len(got); i += 4 {
				for _, b := range [][]byte{got, add} {
					x := math.Float32bits(special[r.IntN(len(special))])
					if r.IntN(4) > 0 {
						x = math.Float32bits(float32(r.NormFloat64()))
					}
					b[i], b[i+1], b[i+2], b[i+3] = byte(x), byte(x>>8), byte(x>>16), byte(x>>24)
				}
			}
			want := bytes.Clone(got)
			update.Arithmetic{}.Add(got, add, dtype.Float32, 0)
			ps.Plain{}.Add(want, add, dtype.Float32, 0)
			if !bytes.Equal(got, want) {
				t.Errorf("seed %d: sums of %d values at offset %d differ", seed, n, shift)
			}
		}
	}
}

// TestStatePassesOn gives a state to a process that has no optimizer yet, and wants it to pass the
// state on: another process may ask for it at that time.
func TestStatePassesOn(t *testing.T) {
	o := optimizer.Adam{LR: 0.1}
	spec, err := (&update.Spec{Names: []string{"w"}}).Encode(1, o)
	if err != nil {
		t.Fatal(err)
	}
	id := ps.ID{}
	step := func(u *update.Updater, w []byte) []byte {
		t.Helper()
		out := make([]byte, len(w))
		u.Update(server.Update{ID: id, DType: dtype.Float32, Dst: out, Value: w,
			Grad: []byte{0, 0, 0x80, 0x3f}, Contributors: 1, Count: 1})
		return out
	}
	first := newUpdater(t)
	if err := first.SetSpec(spec); err != nil {
		t.Fatal(err)
	}
	w := step(first, make([]byte, 4))
	state := first.AppendState(nil, id)
	between, last := newUpdater(t), newUpdater(t)
	if err := between.SetState(id, state); err != nil {
		t.Fatal(err)
	}
	if err := last.SetState(id, between.AppendState(nil, id)); err != nil {
		t.Fatal(err)
	}
	if err := last.SetSpec(spec); err != nil {
		t.Fatal(err)
	}
	if got, want := step(last, w), step(first, w); !bytes.Equal(got, want) {
		t.Errorf("value %v after a step with the state that was passed on, want %v", got, want)
	}
}

func newUpdater(t *testing.T) *update.Updater {
	t.Helper()
	u, err := update.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = u.Close() })
	return u
}
