package worker

import "gomx/kvstore/wire"

// progress is how far a worker is in its program, in steps. Steps of earlier processes in the place
// count as well.
type progress struct {
	*agent
	started uint64    // steps that earlier processes have ended
	resumed uint64    // pushes to every key that are committed for certain
	begun   uint64    // pushes to the key that has most
	clock   uint64    // steps ended by Clock
	behind  wire.Node // worker that the program waits for outside of servers; zero: none
}

// Progress tells the worker how far its program is where other workers keep its values: the steps
// that earlier processes in its place have ended, the steps that have begun, and the worker that it
// waits for, the zero Node if it waits for none.
func (pg *progress) Progress(started, begun uint64, waits wire.Node) {
	pg.started, pg.resumed, pg.behind = started, started, waits
	pg.step(begun)
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
