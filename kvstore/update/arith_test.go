package update_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"gomx/dtype"
	"gomx/kvstore/ps"
	"gomx/kvstore/ps/server"
	"gomx/kvstore/ring"
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

// TestSumsOfManyParts compares sums of 1 to 20 parts with the definition, bit for bit, at odd lengths
// and addresses, in place of the first part, and written to a second array that may be a part.
func TestSumsOfManyParts(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 300 {
		n, shift := r.IntN(9000), []int{0, 1, 4, 12}[r.IntN(4)]
		parts := make([][]byte, 1+r.IntN(20))
		for i := range parts {
			parts[i] = make([]byte, 4*n+shift)[shift:]
			for j := 0; j < len(parts[i]); j += 4 {
				x := math.Float32bits(float32(r.NormFloat64() * math.Pow(2, float64(r.IntN(40)))))
				binary.LittleEndian.PutUint32(parts[i][j:], x)
			}
		}
		want, second := make([]byte, 4*n), make([]byte, 4*n)
		ring.Plain{}.Sum(want, second, parts, dtype.Float32)
		dst, out := make([]byte, 4*n), []byte(nil)
		if r.IntN(2) == 0 {
			dst = parts[0]
		}
		switch r.IntN(3) {
		case 0:
			out = make([]byte, 4*n)
		case 1:
			out = parts[len(parts)-1]
		}
		update.Sums{}.Sum(dst, out, parts, dtype.Float32)
		if !bytes.Equal(dst, want) || out != nil && !bytes.Equal(out, second) {
			t.Fatalf("seed %d: sums of %d parts of %d values at offset %d differ", seed, len(parts),
				n, shift)
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
