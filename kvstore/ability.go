package kvstore

import (
	"context"
	"fmt"
	"reflect"

	"gomx/kvstore/compress"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

// As finds an ability of a store: one of the interfaces below.
func As[T any](s Store) (T, bool) {
	if kv, ok := s.(*KV); ok {
		s = kv.Store
	}
	t, ok := s.(T)
	return t, ok
}

// Need is As for a call that cannot do without the ability; it names the call in the error.
func Need[T any](s Store, call string) (T, error) {
	t, ok := As[T](s)
	if !ok {
		return t, fmt.Errorf("kvstore: %s: found the store %q, want one that is a %v", call,
			s.Name(), reflect.TypeFor[T]())
	}
	return t, nil
}

// Exchanger is a store that pushes and pulls a key in one message.
type Exchanger interface {
	// PushPull is Push, then Pull. Arrays may be in both lists.
	PushPull(key string, priority int, grads, out []*nd.Array) error
}

// RowPuller is a store of row_sparse values: Init with a row_sparse array makes one.
type RowPuller interface {
	// RowSparsePull copies rows of the value into row_sparse arrays, after all operations on the
	// key that this worker began before: into out[i] the rows that rows[i] numbers, each once, in
	// ascending order. The numbers may come in any order and more than once. A row that the value
	// does not store is stored as zeros.
	RowSparsePull(key string, priority int, rows, out []*nd.Array) error
}

// RowKeeper is a store of matrices by rows. It holds the rows that somebody has pushed, and no
// others. A push changes its rows alone, by the optimizer or, without one, to the sum of a round:
// other rows stay as they are, whatever the optimizer does to a dense value.
type RowKeeper interface {
	RowPuller
	// InitRows is Init for a matrix of which no process need hold more than some rows. Every worker
	// calls it.
	InitRows(ctx context.Context, key string, spec RowsSpec) error
}

// RowHolder is a RowKeeper that tells which rows exist.
type RowHolder interface {
	// HeldRows copies the rows of a key that exist into a row_sparse array. The others have the
	// values that InitRows gave them. In a job it waits for the pushes of this worker, and for the
	// rows, which come in pieces, so that a matrix of any size can be read.
	HeldRows(key string, out *nd.Array) error
	// CountRows returns how many rows of a key exist.
	CountRows(key string) (int, error)
}

// Member is a store that workers share.
type Member interface {
	// Rank returns the number of this worker, from 0.
	Rank() int
	// NumWorkers returns how many workers share the store.
	NumWorkers() int
	// Sums reports whether a value changes by the sum of one push of every worker, as in
	// dist_sync, and in dist_ssp without staleness. Otherwise every push changes the value on its
	// own.
	Sums() bool
}

// Synchronizer is a store with barriers.
type Synchronizer interface {
	// Barrier waits until every worker has called it, and until the pushes of this worker are
	// complete. A process that takes over a worker's place repeats the calls before the first step,
	// which end at once, and is not waited for at barriers that it has left behind.
	Barrier(ctx context.Context) error
}

// Updater is a store that runs an optimizer where the values are.
type Updater interface {
	// SetOptimizer makes pushes change values by an optimizer, which travels as name and
	// parameters. Multipliers are looked up by key. Every worker calls it; the optimizer of worker
	// 0 counts. One that looks at whole keys, like LAMB and LARS, is set before large keys are
	// initialized: then they travel in one piece.
	SetOptimizer(ctx context.Context, o optimizer.Optimizer) error
}

// StateKeeper is an Updater that gives and takes the states of its optimizer.
type StateKeeper interface {
	// OptimizerStates returns the state of the optimizer for every key, in the order of Init.
	OptimizerStates(ctx context.Context) ([]State, error)
	// SetOptimizerStates continues with states that OptimizerStates returned.
	SetOptimizerStates(ctx context.Context, states []State) error
}

// State is the state of an optimizer for one key: no array before the first update.
type State struct {
	Key    string
	Arrays []*nd.Array
}

// Compressor is a store that compresses gradients.
type Compressor interface {
	// SetCompression compresses gradients between devices and on their way to servers. It is called
	// before the first Push.
	SetCompression(m compress.Method) error
}

// TableKeeper is a store of matrices that are read and changed row by row.
type TableKeeper interface {
	// Table makes a matrix that is shared row by row and begins with zeros. Every worker calls it.
	Table(ctx context.Context, name string, shape nd.Shape) (*Table, error)
	// Clock ends a step of this worker: its additions to tables are complete. It returns when they
	// are safe on the servers.
	Clock(ctx context.Context) error
}

// Joint is a store of a job of several processes.
type Joint interface {
	// InitSum is Init for a key that no optimizer changes: once there is one, a push to the
	// key is added to its value, never compressed, and scaled as if all workers had contributed.
	InitSum(ctx context.Context, key string, value *nd.Array) error
	// Agree lets every worker contribute a number, and returns those of all workers by rank. Every
	// worker calls it, with the same names in the same order as Init.
	Agree(ctx context.Context, name string, number uint64) ([]uint64, error)
}

// Resumer is a store in which a process may take the place of a worker that has ended.
type Resumer interface {
	// Resumed returns how many steps an earlier process in this worker's place has completed for
	// certain: pushes to every key, or, in a job that has tables only, calls of Clock. A program
	// that pushes every key once per step skips so many steps, in every kind of store. A repeated
	// push counts once; until the worker has caught up, pulls of keys with rounds return the values
	// of the earlier rounds.
	Resumed() uint64
}

// Skipper is a store whose rounds may close without the slowest workers.
type Skipper interface {
	// Backups returns how many workers a round closes without at most: a worker that is late then
	// contributes to none of its rounds.
	Backups() int
	// Skip moves on to the round of the other workers, and returns how many rounds this worker
	// leaves out: a program that pushes every key once per step counts them as steps. It is called
	// when all pulled values are there and nothing else is under way. Without it a worker that has
	// fallen behind stays there, and nothing that it pushes counts.
	Skip() uint64
}

// Snapshotter is a store of a job whose JobConfig.Snapshots names a folder.
type Snapshotter interface {
	// Snapshot writes everything that the servers hold, values, optimizers and how far every worker
	// is, to files, all as of one moment. Every worker calls it with the same number, after the
	// same step; the call waits for this worker's pushes and for the calls of the others. Numbers
	// grow from one to the next; the call for one that exists returns at once, so that a worker
	// which repeats steps after a crash may repeat the call.
	//
	// A job with as many workers and shards continues from the files: see JobConfig.Restore. There
	// Resumed tells how many steps are in them.
	Snapshot(ctx context.Context, number uint64) error
}
