package kvstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gomx/dtype"
	"gomx/kvstore/compress"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

// Store shares arrays by name between devices, processes and machines.
//
// Push, Pull and PushPull start work and return; they report misuse at once, and everything else
// when somebody waits for the arrays that are pulled. Operations on one key happen in the order of
// the calls. All other methods wait, at most until ctx ends or the store's timeout is over. Methods
// may be called from any goroutine.
//
// A key keeps the shape and element type that Init gave it. When several operations are ready
// the one with the highest priority travels first.
type Store interface {
	// Name returns the name given to Open.
	Name() string
	// Rank returns the number of this worker, from 0.
	Rank() int
	// NumWorkers returns how many workers share the store.
	NumWorkers() int
	// Sums reports whether a value changes by the sum of one push of every worker, as in
	// dist_sync, and in dist_ssp without staleness. Otherwise every push changes the value on its
	// own.
	Sums() bool

	// Init gives a key its value. Every worker calls it, for the same keys in the same order; the
	// value of worker 0 counts.
	Init(ctx context.Context, key string, value *nd.Array) error
	// Push adds up gradients, one per device of this worker, and then the sums of all workers. Without
	// an optimizer the sum becomes the value; with one it changes the value.
	Push(key string, priority int, grads ...*nd.Array) error
	// Pull copies the value into arrays, after all operations on the key that this worker began
	// before.
	Pull(key string, priority int, out ...*nd.Array) error
	// PushPull is Push, then Pull, in one message where there are messages. Arrays may be in both
	// lists.
	PushPull(key string, priority int, grads, out []*nd.Array) error
	// Broadcast is Init, then Pull.
	Broadcast(ctx context.Context, key string, value *nd.Array, out ...*nd.Array) error
	// Barrier waits until every worker has called it, and until the pushes of this worker are
	// complete. A process that takes over a worker's place repeats the calls before the first step,
	// which end at once, and is not waited for at barriers that it has left behind.
	Barrier(ctx context.Context) error

	// SetOptimizer makes pushes change values by an optimizer, which travels as name and
	// parameters. Multipliers are looked up by key. Every worker calls it; the optimizer of
	// worker 0 counts. One that looks at whole keys, like LAMB and LARS, is set before large keys are
	// initialized: then they travel in one piece.
	SetOptimizer(ctx context.Context, o optimizer.Optimizer) error
	// SetCompression compresses gradients between devices and on their way to servers. It is called
	// before the first Push.
	SetCompression(m compress.Method) error
	// OptimizerStates returns the state of the optimizer for every key, in the order of Init.
	OptimizerStates(ctx context.Context) ([]State, error)
	// SetOptimizerStates continues with states that OptimizerStates returned.
	SetOptimizerStates(ctx context.Context, states []State) error

	// Table makes a matrix that is shared row by row and begins with zeros. Every worker calls it.
	Table(ctx context.Context, name string, shape nd.Shape) (*Table, error)
	// Clock ends a step of this worker: its additions to tables are complete. It returns when they
	// are safe on the servers.
	Clock(ctx context.Context) error

	// Close waits for pushes to complete and ends the use of the store.
	Close() error
}

// State is the state of an optimizer for one key: no array before the first update.
type State struct {
	Key    string
	Arrays []*nd.Array
}

// Names lists the stores that Open knows.
func Names() []string {
	return []string{"local", "device", "dist_sync", "dist_device_sync", "dist_async",
		"dist_device_async", "dist_ssp"}
}

// IsDist reports whether a name stands for a store of several processes.
func IsDist(name string) bool { return strings.HasPrefix(name, "dist_") }

// Open returns the store with a name. Stores for several processes find their job in ctx, where
// package launch has put it; the others work in any context.
func Open(ctx context.Context, name string, opts ...Option) (Store, error) {
	c := config{}
	for _, o := range opts {
		o(&c)
	}
	if err := c.validate(); err != nil {
		return nil, err
	}
	if !slices.Contains(Names(), name) {
		return nil, fmt.Errorf("kvstore: store %q, want one of %s", name,
			strings.Join(Names(), ", "))
	}
	if IsDist(name) {
		return openDist(ctx, name, c)
	}
	return newLocal(name), nil
}

// inOrder lists the records of keys in the order of the keys.
func inOrder[K any](order []string, keys map[string]*K) []*K {
	list := make([]*K, len(order))
	for i, key := range order {
		list[i] = keys[key]
	}
	return list
}

var (
	errClosed      = errors.New("kvstore: the store is closed")
	errNoOptimizer = errors.New("kvstore: no optimizer: call SetOptimizer first")
)

// fits checks the arrays of a call against the shape and type of a key.
func fits(key, what string, shape dtype.Shape, t dtype.Type, arrays []*nd.Array) error {
	if len(arrays) == 0 {
		return fmt.Errorf("kvstore: %s: no arrays for key %q", what, key)
	}
	for i, a := range arrays {
		if a == nil {
			return fmt.Errorf("kvstore: %s: array %d for key %q is nil", what, i, key)
		}
		if !a.Shape().Equal(shape) || a.DType() != t {
			return fmt.Errorf("kvstore: %s: array %d for key %q is %v of shape %v, want %v of "+
				"shape %v", what, i, key, a.DType(), a.Shape(), t, shape)
		}
	}
	return nil
}
