package io

import (
	"fmt"
	"math/rand/v2"
)

// LastBatch is the treatment of the samples that do not fill a batch.
type LastBatch uint8

// The treatments of the last batch.
const (
	Auto     LastBatch = iota // default of MXNet's iterator of that name
	Pad                       // fill the batch with samples from the beginning of the epoch
	Discard                   // drop the batch
	RollOver                  // keep the samples for the next epoch; meant for training
	Round                     // pad, and begin the next epoch after the borrowed samples
)

var lastBatchNames = [...]string{Auto: "auto", Pad: "pad", Discard: "discard",
	RollOver: "roll_over", Round: "round"}

// String returns MXNet's name of l.
func (l LastBatch) String() string {
	if int(l) >= len(lastBatchNames) {
		return fmt.Sprintf("LastBatch(%d)", l)
	}
	return lastBatchNames[l]
}

// ParseLastBatch parses the text of String.
func ParseLastBatch(s string) (LastBatch, error) {
	for l, n := range lastBatchNames {
		if n == s {
			return LastBatch(l), nil
		}
	}
	return Auto, fmt.Errorf("io: unknown treatment of the last batch %q, want pad, discard, "+
		"roll_over or round", s)
}

// order computes the samples of each batch. It does not use the data.
//
// Invariants:
//
//  1. perm is a permutation of 0..n-1 that depends only on seed and epoch.
//  2. left holds samples of the previous epoch, which come first; it is empty unless last is
//     RollOver.
//  3. 0 ≤ pos ≤ n.
type order struct {
	n, batch int
	last     LastBatch
	padNew   bool // in a batch of two epochs, the samples of the new one are its padding
	shuffle  bool
	seed     uint64

	epoch int
	perm  []int
	pos   int
	left  []int
	skip  int  // position at which the next epoch begins (Round)
	used  bool // next has taken samples from this epoch
	done  bool
}

func newOrder(n, batch int, last LastBatch, shuffle bool, seed uint64) (*order, error) {
	if batch < 1 {
		return nil, fmt.Errorf("io: batch size %d, want at least 1", batch)
	}
	if n < 1 {
		return nil, fmt.Errorf("io: no samples, want at least one")
	}
	if n < batch && (last == Discard || last == RollOver) {
		return nil, fmt.Errorf("io: batch size %d with %d samples: %s would give no batch", batch,
			n, last)
	}
	if last == Auto || int(last) >= len(lastBatchNames) {
		return nil, fmt.Errorf("io: last batch %v, want pad, discard, roll_over or round", last)
	}
	o := &order{n: n, batch: batch, last: last, shuffle: shuffle, seed: seed, perm: make([]int, n)}
	o.arrange()
	return o, nil
}

// arrange computes the permutation of the current epoch.
func (o *order) arrange() {
	for i := range o.perm {
		o.perm[i] = i
	}
	if o.shuffle {
		r := rand.New(rand.NewPCG(o.seed, uint64(o.epoch)))
		r.Shuffle(o.n, func(i, j int) { o.perm[i], o.perm[j] = o.perm[j], o.perm[i] })
	}
}

// reset begins the next epoch unless no samples were taken from the current one.
func (o *order) reset() {
	if !o.used {
		return
	}
	o.epoch++
	o.pos, o.skip = o.skip, 0
	o.used, o.done = false, false
	o.arrange()
}

// seek begins the given epoch, and drops the samples left over from earlier epochs.
func (o *order) seek(epoch int) {
	o.epoch, o.pos, o.skip, o.left = epoch, 0, 0, o.left[:0]
	o.used, o.done = false, false
	o.arrange()
}

// next fills idx, whose length is the batch size, with the samples of the next batch. pad is the
// number of samples that are padding; ok is false at the end of the epoch.
func (o *order) next(idx []int) (pad int, ok bool) {
	if o.done {
		return 0, false
	}
	o.used = true
	if len(o.left) > 0 {
		// Like MXNet, count the samples that roll over as padding of their batch.
		pad = copy(idx, o.left)
		o.left = o.left[:0]
		o.pos = copy(idx[pad:], o.perm)
		if o.padNew {
			pad = len(idx) - pad
		}
		return pad, true
	}
	got := copy(idx, o.perm[o.pos:])
	if got == len(idx) {
		o.pos += got
		return 0, true
	}
	o.done = true
	rest := o.perm[o.pos:]
	o.pos = o.n
	switch {
	case got == 0 || o.last == Discard:
		return 0, false
	case o.last == RollOver:
		o.left = append(o.left[:0], rest...)
		return 0, false
	}
	pad = len(idx) - got
	for i := range pad {
		idx[got+i] = o.perm[i%o.n]
	}
	if o.last == Round {
		o.skip = pad % o.n
	}
	return pad, true
}

// batches returns the number of batches of the whole current epoch.
func (o *order) batches() int {
	n := o.n
	if !o.used {
		n += len(o.left) - o.pos
	}
	if o.last == Discard || o.last == RollOver {
		return n / o.batch
	}
	return (n + o.batch - 1) / o.batch
}
