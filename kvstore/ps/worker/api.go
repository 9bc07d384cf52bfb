package worker

import (
	"fmt"

	"gomx/kvstore/ps"
	"gomx/kvstore/wire"
)

// Clocks returns how many steps the worker has ended by Clock, including steps of earlier processes
// that are committed everywhere.
func (w *Worker) Clocks() uint64 { return w.clock }

// Resumed returns how many pushes to every key are committed for certain: an earlier process in the
// same place has made them. A program that pushes every key once per step, or that ends every step
// by Clock, continues with the step after. Pushes that it repeats of that step are recognized, to
// keys without rounds when it says so by SetClock; pulls of keys with rounds return the values of
// that step meanwhile.
func (w *Worker) Resumed() uint64 { return w.resumed }

// Cursor returns how far pushes to a slice by earlier processes in this worker's place are
// committed; ok is false when the slice did not exist when the worker joined.
func (w *Worker) Cursor(id ps.ID) (c wire.CursorEntry, ok bool) {
	c, ok = w.cursors[id]
	return c, ok
}

// Snapshot asks for a snapshot of all shards at a clock that no key has passed. It ends when the
// snapshot is complete. While keys are behind the clock training goes on; the state is that after
// the round of the clock on every key. Keys without rounds and tables are taken as they are: their
// snapshot is one of a single clock when no worker pushes meanwhile.
func (w *Worker) Snapshot(now ps.Time, clock uint64, deadline ps.Time) (uint64, error) {
	return w.askFor(now, wire.SnapshotOrder{Clock: clock}, deadline)
}

// SnapshotAll asks for a snapshot of everything as it is when all workers that count have asked for
// the one of that number. They call it when their pushes are committed, and push nothing until it
// ends: then the state is one of a single moment, for all kinds of keys. Numbers grow; a snapshot
// that exists ends the call at once.
func (w *Worker) SnapshotAll(now ps.Time, number uint64, deadline ps.Time) (uint64, error) {
	return w.askFor(now, wire.SnapshotOrder{Clock: number, All: true}, deadline)
}

// SetStaleness replaces the staleness of WorkerConfig, for stores that are chosen after the worker
// has joined. It must be called before the first key or table is initialized.
func (w *Worker) SetStaleness(clocks int) error {
	if clocks < Unbounded {
		return fmt.Errorf("ps: staleness %d: %w", clocks, ps.ErrUsage)
	}
	if len(w.keys) > 0 {
		return fmt.Errorf("ps: staleness set when there are keys: %w", ps.ErrUsage)
	}
	w.cfg.Staleness = clocks
	return nil
}

// Join waits until the worker has its place, all shards are served, and they have told how far an
// earlier process in the same place has come. It is the first call, and is made once. Resumed,
// Clocks and Cursor mean something when it has ended.
func (w *Worker) Join(now ps.Time, deadline ps.Time) (uint64, error) {
	return w.join(now, deadline)
}

// Init creates a key with a value, which it has from worker 0, on all its shards. Every worker
// calls it, for the same keys; it ends when the key exists. Other calls for the key may follow at
// once, but fail when it cannot be created. Only worker 0 needs a value, which it lends to the
// worker until the call has ended.
//
// A key is refused that the servers have no memory for, or whose slices do not fit, beside the
// slices of other keys, into the window of a shard.
func (w *Worker) Init(now ps.Time, key uint32, spec KeySpec, value []byte, deadline ps.Time,
) (uint64, error) {
	return w.create(now, key, spec, value, deadline)
}

// Push adds values to a key: to the round that this worker has not contributed to yet, or, when the
// key has no rounds, to the key. With Out it ends when the result is there; otherwise when all
// copies have the push.
//
// Value, Codes and Out belong to the worker until the call has ended: the transport reads the first
// two, and a result may arrive in the third at any time. Pushes of one key are applied in the order
// of the calls. A push that fails by its deadline may still be applied later, once.
func (w *Worker) Push(now ps.Time, op PushOp) (uint64, error) {
	return w.push(now, op)
}

// Pull copies a key's value to out. It contains all that this worker has pushed before; with rounds
// it is the result of the last of these rounds, and otherwise contains the pushes of others as far
// as the staleness says. The slices of out may be written at any time until the call has ended, and
// are undefined if it fails.
func (w *Worker) Pull(now ps.Time, key uint32, out []byte, priority int8, deadline ps.Time,
) (uint64, error) {
	return w.pull(now, key, out, priority, deadline)
}

// SetOptimizer sets the optimizer of all shards to worker 0's. Every worker calls it, with the same
// version, which must be higher than the version of the optimizer before. Pushes that are under way
// meet the old optimizer or the new one: programs call it when none is.
func (w *Worker) SetOptimizer(now ps.Time, spec wire.Spec, deadline ps.Time) (uint64, error) {
	return w.setOptimizer(now, spec, deadline)
}

// Pushes returns how many pushes to a key have begun, pushes of earlier processes included: the
// next one is one more. It is 0 for a key that is not known.
func (w *Worker) Pushes(key uint32) uint64 {
	return w.pushes(key)
}

// SetClock says how many pushes to a key count as done, for programs that do not push every key
// once per step, and for keys without rounds of programs that do: pushes that an earlier process
// has made count once. It must be called between Init and the first Push or Pull.
func (w *Worker) SetClock(key uint32, clock uint64) error {
	return w.setClock(key, clock)
}

// Skip moves on to the round of the others, when rounds close without the slowest workers: the next
// push of this worker counts in the round behind the last one that it has pulled of every key. It
// returns how many rounds it leaves out. Without it a worker that has fallen behind stays there,
// and all that it pushes is late.
//
// It is called when no push or pull is under way. Rounds that are left out count as this worker's:
// one that makes so many steps less ends with the others.
func (w *Worker) Skip() uint64 {
	return w.skip()
}

// Barrier ends when all workers that count have called it, or are beyond it. A worker that took
// over a place repeats the calls that its program makes again, which end at once where others have
// passed them. One call is under way at a time; after a deadline the next call waits for the same
// barrier.
func (w *Worker) Barrier(now ps.Time, deadline ps.Time) (uint64, error) {
	return w.enter(now, deadline)
}

// Clock ends the worker's step: the sums of its tables leave, and with them the news that the step
// is over. The call ends when all copies have it; the next step may begin at once. Other workers
// that read within a staleness wait for it.
func (w *Worker) Clock(now ps.Time, deadline ps.Time) (uint64, error) {
	return w.endStep(now, deadline)
}

// Standing returns what this worker knows of the group.
func (w *Worker) Standing() Standing { return w.standing() }

// Regroup ends when all workers of the group have called it and the group has changed: workers that
// wait are in, and workers that leave are gone. Workers call it between the same two rounds, when
// their pushes are committed (Drained). The note of the lowest rank is kept with the group, for
// workers that come later; round is kept for people.
func (w *Worker) Regroup(now ps.Time, round uint64, note []byte, deadline ps.Time) (uint64, error) {
	return w.regroup(now, round, note, deadline)
}

// Err returns why calls fail from now on: the worker was replaced, a shard is lost, or the
// scheduler is gone. It is nil while the job can go on. A scheduler that is heard of again makes it
// nil again.
func (w *Worker) Err() error {
	return w.err()
}

// Table creates a table, or joins the workers that use it. Every worker calls it, with the same
// TableSpec but for CacheRows. The table may be used when the call has
// ended.
func (w *Worker) Table(now ps.Time, key uint32, spec TableSpec, deadline ps.Time,
) (*Table, uint64, error) {
	return w.table(now, key, spec, deadline)
}
