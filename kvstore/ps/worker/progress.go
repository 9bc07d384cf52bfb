package worker

// progress is how far a worker is in its program, in steps. Steps of earlier processes in the place
// count as well.
type progress struct {
	*agent
	started uint64   // steps that earlier processes have ended
	resumed uint64   // pushes to every key that are committed for certain
	begun   uint64   // pushes to the key that has most
	clock   uint64   // steps ended by Clock
	ticks   []uint64 // steps that earlier processes have ended by Clock, by shard
}

// position returns how many steps the worker has begun, steps of processes before it included.
// Programs push keys once per step or end steps by Clock: the count that is furthest is the step.
func (pg *progress) position() uint64 { return max(pg.started, pg.clock, pg.begun) }

// step notes that a step has begun. Barriers may wait until a worker that took over a place has
// begun its first, so the heartbeat that says so leaves at once.
func (pg *progress) step(n uint64) {
	pg.me.Asked = pg.me.Asked || pg.started > 0 && pg.begun <= pg.started && n > pg.started
	pg.begun = max(pg.begun, n)
}
