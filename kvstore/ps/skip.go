package ps

// Skip moves on to where the others are, when rounds close without the slowest workers: what this worker pushes next counts in the
// round behind the last one that it has pulled of every key. It returns how many rounds it leaves out. Without it a worker that has
// fallen behind stays there, and all that it pushes is late.
//
// It is called when no push or pull is under way. Rounds that are left out count as this worker's: one that makes so many steps less
// ends with the others.
func (w *Worker) Skip() uint64 {
	own, there := uint64(never), uint64(never)
	for _, k := range w.keys {
		for _, sl := range k.slices {
			if !k.direct {
				own, there = min(own, sl.clock), min(there, max(sl.clock, sl.seen))
			}
		}
	}
	if w.cfg.Backups == 0 || there <= own {
		return 0
	}
	for _, k := range w.keys {
		for _, sl := range k.slices {
			if !k.direct {
				sl.clock = max(sl.clock, there)
			}
		}
	}
	w.begun = max(w.begun, there)
	return there - own
}
