package memplan_test

import (
	"fmt"
	"hash/fnv"
	"path/filepath"
	"strings"
	"testing"

	"gomx/memplan"
)

// TestGoldenSearches pins the work of searches and the placements that they find: an order that is
// left out, or a search that goes on when it has found the best placement, changes the text.
func TestGoldenSearches(t *testing.T) {
	var text strings.Builder
	sum := func(offsets []int64) uint32 {
		h := fnv.New32a()
		for _, o := range offsets {
			fmt.Fprintln(h, o)
		}
		return h.Sum32()
	}
	show := func(name string, buffers []memplan.Buffer) {
		_, _, without := memplan.Search(buffers, 4, -1)
		if _, _, visits := memplan.Search(buffers, 4, 100); visits == without {
			return // the bound is reached without improvement
		}
		for _, rounds := range []int{-1, 0, 1, 8, 100} {
			total, offsets, visits := memplan.Search(buffers, 4, rounds)
			fmt.Fprintf(&text, "%s, %d rounds: %d bytes, offsets %08x, %d visits\n", name, rounds,
				total, sum(offsets), visits)
		}
		for _, extra := range []int64{0, 8} {
			total, offsets, visits, found := memplan.Retrace(buffers, 4, extra)
			if !found {
				total, offsets = 0, nil
			}
			fmt.Fprintf(&text, "%s, %d bytes over the bound: found %v, %d bytes, offsets %08x, %d "+
				"visits\n", name, extra, found, total, sum(offsets), visits)
		}
	}
	for seed := range uint64(120) {
		r := newRand(seed)
		n := 6 + r.IntN(30)
		var buffers []memplan.Buffer
		for range n {
			start := r.IntN(n)
			buffers = append(buffers, memplan.Buffer{Bytes: 1 + r.Int64N(60), Start: start,
				End: start + r.IntN(4)})
		}
		show(fmt.Sprint(n, " short lives, seed ", seed), buffers)
		show(fmt.Sprint(n, " intervals, seed ", seed), intervals(r, n, n, 60))
	}
	show("lstm", profile(t, filepath.Join("testdata", "alternating",
		"lstm_t10_h1024_b16_infer.txt")))
	compareGolden(t, "searches.txt", text.String())
}
