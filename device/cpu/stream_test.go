//go:build cgo

package cpu_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"gomx/device/cpu"
)

// TestCopyPast copies pieces of every alignment and leaves the bytes around them alone.
func TestCopyPast(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	src := make([]byte, 5000)
	for i := range src {
		src[i] = byte(rng.Uint32())
	}
	for range 2000 {
		n := rng.IntN(len(src) >> rng.IntN(12))
		from, to := rng.IntN(len(src)-n), rng.IntN(130)
		got := bytes.Repeat([]byte{0xa5}, n+260)
		want := bytes.Clone(got)
		copy(want[to:], src[from:from+n])
		cpu.CopyPast(got[to:to+n], src[from:from+n])
		if !bytes.Equal(got, want) {
			t.Fatalf("%d bytes from offset %d to offset %d differ", n, from, to)
		}
	}
}
