package io

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestOrderProperties checks random orders for the guarantees of each treatment of the last batch.
func TestOrderProperties(t *testing.T) {
	const seed = 11
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 300 {
		n, batch := 1+r.IntN(30), 1+r.IntN(12)
		last := Pad + LastBatch(r.IntN(4))
		shuffle := r.IntN(2) == 0
		o, err := newOrder(n, batch, last, shuffle, r.Uint64())
		if err != nil {
			if n >= batch {
				t.Fatalf("%d samples in batches of %d, %v: %v", n, batch, last, err)
			}
			continue
		}
		checkOrder(t, o)
	}
}

// checkOrder runs three epochs: samples that are no padding come once per epoch, or over all
// epochs where they roll over.
func checkOrder(t *testing.T, o *order) {
	t.Helper()
	carried := 0 // samples that the last epoch left over, or borrowed
	for epoch := range 3 {
		want := o.batches()
		seen := make([]int, o.n)
		idx := make([]int, o.batch)
		batches, real := 0, 0
		for {
			pad, ok := o.next(idx)
			if !ok {
				break
			}
			batches++
			if o.last == RollOver {
				pad = 0
			}
			for _, i := range idx[:o.batch-pad] {
				seen[i]++
				real++
			}
		}
		if _, ok := o.next(idx); ok {
			t.Fatalf("%+v: a batch after the end", o)
		}
		if batches != want {
			t.Fatalf("epoch %d of %+v: %d batches, batches() said %d", epoch, o, batches, want)
		}
		total := o.n
		switch o.last {
		case Discard:
			total = o.n / o.batch * o.batch
		case RollOver:
			total = (o.n + carried) / o.batch * o.batch
			carried = (o.n + carried) % o.batch
		case Round:
			total = o.n - carried
			carried = o.skip
		}
		if real != total {
			t.Fatalf("epoch %d of %+v: %d samples, want %d", epoch, o, real, total)
		}
		if o.last == Pad && (slices.Max(seen) != 1 || slices.Min(seen) != 1) {
			t.Fatalf("epoch %d of %+v: samples seen %v times, want once each", epoch, o, seen)
		}
		o.reset()
	}
}

// TestOrderSeek checks that an epoch's order depends on seed and number only.
func TestOrderSeek(t *testing.T) {
	a, _ := newOrder(50, 7, Pad, true, 3)
	b, _ := newOrder(50, 7, Pad, true, 3)
	x, y := make([]int, 7), make([]int, 7)
	for range 2 {
		a.next(x)
		a.reset()
	}
	a.next(x)
	b.seek(2)
	b.next(y)
	if !slices.Equal(x, y) {
		t.Errorf("epoch 2 by reset %v, by seek %v", x, y)
	}
	if b.seek(1); !func() bool { b.next(y); return !slices.Equal(x, y) }() {
		t.Error("epochs 1 and 2 have the same order")
	}
}
