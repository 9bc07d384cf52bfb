package ps

// wakefulness is how long a machine has been awake. A process may stand still at any point, while
// its clock goes on and messages wait in queues: only time in which it could have heard others says
// anything about them.
type wakefulness struct {
	at    Time // of the last step
	time  Time // awake until then
	began bool
}

// step begins a step of the machine. It reports whether the machine has stood still since the step
// before.
func (a *wakefulness) step(now Time, t *Timing) (stood bool) {
	gap := now - a.at
	if !a.began {
		gap = 0
	}
	a.at, a.began = now, true
	a.time += max(0, min(gap, t.Heartbeat))
	return gap > t.Suspect
}
