package ps

import "gomx/kvstore/wire"

// rankState is a shard's knowledge of one worker's pushes. It is replicated.
type rankState struct {
	incarnation uint32
	low         uint64   // all sequences up to low are in the log
	bits        []uint64 // which of the sequences from low+1 to low+window are
	// outcomes of the sequences around low, 2 bits each, for workers that ask again
	fates []uint64
	tick  uint64
	away  bool // has joined and not said where it starts: nobody waits for its ticks
}

// has reports whether a sequence is in the log.
func (r *rankState) has(seq uint64) bool {
	n := uint64(len(r.bits)) * 64
	if seq <= r.low {
		return true
	}
	return seq-r.low <= n && r.bits[seq/64%uint64(len(r.bits))]&(1<<(seq%64)) != 0
}

// outcome returns the outcome of a sequence that is in the log.
func (r *rankState) outcome(seq uint64) wire.Outcome {
	return wire.Outcome(r.fates[seq/32%uint64(len(r.fates))]>>(seq%32*2)&3) + wire.Applied
}

// mark records that a sequence is in the log.
func (r *rankState) mark(seq uint64, o wire.Outcome) {
	n := uint64(len(r.bits)) * 64
	if seq <= r.low || seq-r.low > n {
		return
	}
	word := &r.fates[seq/32%uint64(len(r.fates))]
	*word = *word&^(3<<(seq%32*2)) | uint64(o-wire.Applied)<<(seq%32*2)
	r.bits[seq/64%uint64(len(r.bits))] |= 1 << (seq % 64)
	for {
		s := r.low + 1
		word := &r.bits[s/64%uint64(len(r.bits))]
		if *word&(1<<(s%64)) == 0 {
			return
		}
		*word &^= 1 << (s % 64)
		r.low = s
	}
}

// join makes room for a new incarnation of the worker, whose sequences begin at 1.
func (r *rankState) join(incarnation uint32) {
	r.incarnation, r.low = incarnation, 0
	clear(r.bits)
	clear(r.fates)
}
