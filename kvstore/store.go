package kvstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"gomx/dtype"
	nd "gomx/ndarray"
)

// Store shares arrays by name between devices, processes and machines. Its further abilities are
// interfaces of their own, such as Updater and Synchronizer, which As finds.
//
// Push and Pull, and PushPull of an Exchanger, start work and return; they report misuse at once,
// and everything else when somebody waits for the arrays that are pulled. Operations on one key
// happen in the order of the calls. All other methods wait, at most until ctx ends or the store's
// timeout is over. Methods may be called from any goroutine.
//
// A key keeps the shape and element type that Init gave it. When several operations are ready
// the one with the highest priority travels first.
type Store interface {
	// Name returns the name given to Open.
	Name() string
	// Init gives a key its value. Every worker calls it, for the same keys in the same order; the
	// value of worker 0 counts.
	Init(ctx context.Context, key string, value *nd.Array) error
	// Push adds up gradients, one per device of this worker, and then the sums of all workers.
	// Without an optimizer the sum becomes the value; with one it changes the value.
	Push(key string, priority int, grads ...*nd.Array) error
	// Pull copies the value into arrays, after all operations on the key that this worker began
	// before.
	Pull(key string, priority int, out ...*nd.Array) error
	// Close waits for pushes to complete and ends the use of the store.
	Close() error
}

// Kind says what all stores of one name are like, before one is open.
type Kind struct {
	Name string
	// Job says that the stores belong to a job, whose processes share them.
	Job bool

	onHost  bool // of one process: the processor makes the sums
	rounds  bool // of a job: a value changes by the sum of one push of every worker
	bounded bool // of a job: Staleness bounds how far workers drift apart
	peers   bool // of a job without servers: its workers keep the values
}

func kinds() []Kind {
	return []Kind{{Name: "local", onHost: true}, {Name: "device"},
		{Name: "dist_sync", Job: true, rounds: true},
		{Name: "dist_device_sync", Job: true, rounds: true},
		{Name: "dist_async", Job: true}, {Name: "dist_device_async", Job: true},
		{Name: "dist_ssp", Job: true, bounded: true},
		{Name: "allreduce", Job: true, rounds: true, peers: true}}
}

// KindOf describes the stores of a name, which is one of Names.
func KindOf(name string) (Kind, error) {
	for _, k := range kinds() {
		if k.Name == name {
			return k, nil
		}
	}
	return Kind{}, fmt.Errorf("kvstore: store %q, want one of %s", name,
		strings.Join(Names(), ", "))
}

// Names lists the stores that Open knows.
func Names() (list []string) {
	for _, k := range kinds() {
		list = append(list, k.Name)
	}
	return list
}

// Open returns the store with a name. Stores for several processes find their job in ctx, where
// package launch has put it; the others work in any context.
func Open(ctx context.Context, name string, opts ...Option) (*KV, error) {
	c := config{}
	for _, o := range opts {
		o(&c)
	}
	if err := c.validate(); err != nil {
		return nil, err
	}
	kind, err := KindOf(name)
	if err != nil {
		return nil, err
	}
	if !kind.Job {
		return Wrap(newLocal(kind)), nil
	}
	var s Store
	if kind.peers {
		s, err = openAllreduce(ctx, kind, c)
	} else {
		s, err = openDist(ctx, kind, c)
	}
	if err != nil {
		return nil, err
	}
	return Wrap(s), nil
}

// Option configures Open.
type Option func(*config)

// config holds the values of the options.
type config struct {
	staleness int
	timeout   time.Duration
	keep      bool
}

// Staleness says, for dist_ssp, by how many clocks a worker may run ahead of the slowest one. 0 is
// the same as dist_sync.
func Staleness(clocks int) Option { return func(c *config) { c.staleness = clocks } }

// Timeout bounds every operation of a store for several processes: a longer one fails with an error
// that names the process it waited for. The default is 5 minutes.
func Timeout(d time.Duration) Option { return func(c *config) { c.timeout = d } }

// KeepSums lets workers of allreduce keep the last sum of each key in memory of their own, also
// without an optimizer in the store. It costs a copy in each round. Without it a process that takes
// over a worker's place may miss a sum that its predecessor has sent to some workers only: calls
// for that sum end at their deadlines.
func KeepSums() Option { return func(c *config) { c.keep = true } }

const defaultTimeout = 5 * time.Minute

// validate fills in defaults and reports values that make no sense.
func (c *config) validate() error {
	if c.staleness < 0 {
		return fmt.Errorf("kvstore: staleness %d, want at least 0", c.staleness)
	}
	if c.timeout < 0 {
		return fmt.Errorf("kvstore: timeout %v, want a positive duration", c.timeout)
	}
	if c.timeout == 0 {
		c.timeout = defaultTimeout
	}
	return nil
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

// rowsFit checks the arrays of a RowSparsePull.
func rowsFit(key string, stored nd.Storage, rows, out []*nd.Array) error {
	if stored != nd.RowSparse {
		return fmt.Errorf("kvstore: RowSparsePull: the value of key %q is %v, want row_sparse", key,
			stored)
	}
	if len(rows) != len(out) {
		return fmt.Errorf("kvstore: RowSparsePull: %d arrays of row numbers for key %q, want %d: "+
			"one for each array", len(rows), key, len(out))
	}
	for i, a := range out {
		if a.Storage() != nd.RowSparse {
			return fmt.Errorf("kvstore: RowSparsePull: array %d for key %q is %v, want row_sparse",
				i, key, a.Storage())
		}
		if rows[i] == nil || rows[i].Storage() != nd.Dense {
			return fmt.Errorf("kvstore: RowSparsePull: row numbers %d for key %q are %v, want a "+
				"dense array", i, key, rows[i])
		}
	}
	return nil
}
