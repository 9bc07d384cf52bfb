package node

import "gomx/kvstore/ps"

// Wakefulness is how long a machine has been awake. A process may stand still at any point, while
// its clock goes on and messages wait in queues: only time in which it could have heard others says
// anything about them.
type Wakefulness struct {
	Time  ps.Time // for how long the machine has been awake, until its last reaction
	Began bool    // there has been a reaction
	at    ps.Time // clock at the last reaction
}

// React begins a reaction of the machine. It reports whether the machine has stood still since the
// reaction before. A gap between two reactions counts as one heartbeat at most: a machine that runs
// is driven more often, so the rest of the gap is time in which it did not run.
func (a *Wakefulness) React(now ps.Time, t *ps.Timing) (stood bool) {
	gap := now - a.at
	if !a.Began {
		gap = 0
	}
	a.at, a.Began = now, true
	a.Time += max(0, min(gap, t.Heartbeat))
	return gap > t.Suspect
}
