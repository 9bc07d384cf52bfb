//go:build linux

package rows_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"testing"

	"gomx/dtype"
	"gomx/kvstore/rows"
)

var touchedRows = flag.Int("touched", 1_000_000,
	"how many rows TestMemory touches of 100 million; the full number is 20000000")

// resident returns the resident memory of this process.
func resident(t *testing.T) int {
	t.Helper()
	debug.FreeOSMemory()
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	var size, pages int
	if _, err := fmt.Sscan(string(b), &size, &pages); err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}

// TestMemory touches rows of a matrix of 100 million rows of 16 floats, with a state of the same
// size, in several stores, as the shards of a server have them, and reads a cut to its end while
// rows change.
func TestMemory(t *testing.T) {
	const all, row, parts = 100_000_000, 64, 4
	before := resident(t)
	var stores []*rows.Store
	for p := range parts {
		s := rows.New(rows.Spec{Part: p, Parts: parts, Rows: all, Row: row, DType: dtype.Float32,
			Init: rows.Init{Kind: rows.KindUniform, Scale: 0.1, Seed: 1}})
		s.SetStates([]int{row}, 1)
		stores = append(stores, s)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	n := 0
	for n < *touchedRows {
		s := stores[rng.IntN(parts)]
		had := s.N()
		s.Row(1, s.Touch(uint32(rng.IntN(all/parts))))[0] = 1
		n += s.N() - had
	}
	most := 64<<20 + n*(row+row)*115/100 + 16*n
	if used := resident(t) - before; used > most {
		t.Errorf("%d rows take %d bytes, want at most %d", n, used, most)
	} else {
		t.Logf("%d rows take %.1f bytes each", n, float64(used)/float64(n))
	}
	for _, s := range stores {
		if s.Bytes() > 64<<20/parts+s.N()*(row+row)*115/100+16*s.N() {
			t.Errorf("%v says that it takes %d bytes", s, s.Bytes())
		}
		s.Close()
	}
}
