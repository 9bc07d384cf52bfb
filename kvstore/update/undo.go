package update

import (
	"fmt"

	"gomx/kvstore/ps"
	"gomx/kvstore/wire"
	"gomx/optimizer"
)

// In an elastic job a replica takes back its last round: the workers that are left when one has
// died agree on the rounds that all of them have. For that it keeps the optimizer's states before
// the last round, beside the values before it.

// Undoable lets the last round of every key be taken back from now on.
func (r *Replica) Undoable() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.undo = true
}

// note keeps the optimizer's states of a key before a round.
func (r *Replica) note(key uint32, v *values) {
	if v.states == nil {
		v.states = make([][]byte, v.slices)
	}
	for i := range v.slices {
		id := ps.ID{Key: key, Slice: i}
		lo, hi := wire.Range(uint64(len(v.last)), i, v.slices)
		if _, err := r.u.slot(id, v.dtype, int(hi-lo)); err != nil {
			continue // the update fails with the same error and changes nothing
		}
		v.states[i] = r.u.AppendState(v.states[i][:0], id)
	}
}

// Return takes all keys back to the values after so many rounds, of which each has had as many, or
// one more. From now on sums have the contributions of so many workers.
func (r *Replica) Return(rounds uint64, workers int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = workers
	var back []uint32
	for key, v := range r.keys {
		switch {
		case v.version == rounds:
			v.program = rounds
		case v.version == rounds+1 && v.states != nil && len(v.before) == len(v.last):
			back = append(back, key)
		default:
			return fmt.Errorf("kvstore: key %d has the values after %d rounds, and the workers of "+
				"the job go on after %d", key, v.version, rounds)
		}
	}
	if len(back) == 0 {
		return nil
	}
	r.copy.valid = false
	r.rewind(back)
	for _, key := range back {
		v := r.keys[key]
		v.last, v.before = v.before, v.last[:0]
		v.version, v.program = rounds, rounds
	}
	return nil
}

// rewind gives the optimizer the states that keys had before the last round. The state that all
// keys share is that of the key which was updated first.
func (r *Replica) rewind(keys []uint32) {
	u := r.u
	if u.updater == nil {
		return
	}
	var first optimizer.Progress
	var forget []int
	some := false
	for _, key := range keys {
		for i, state := range r.keys[key].states {
			forget = append(forget, index(ps.ID{Key: key, Slice: uint16(i)}))
			if len(state) >= ProgressSize {
				if p := progressOf(state); !some || p.Updates < first.Updates {
					first, some = p, true
				}
			}
		}
	}
	if !some {
		return // no key has had an update
	}
	u.updater.Rewind(first, forget...)
	for _, key := range keys {
		for i, state := range r.keys[key].states {
			id := ps.ID{Key: key, Slice: uint16(i)}
			u.name(id)
			if len(state) < ProgressSize+4 {
				continue
			}
			p := progressOf(state)
			p.Updates, p.Shared = first.Updates, first.Shared
			appendProgress(state[:0], p)
			s := u.slots[id]
			s.pending = append(s.pending[:0], state...)
		}
	}
}
