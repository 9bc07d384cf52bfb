package trainer

import (
	"context"
	"fmt"
	"math"

	"gomx/kvstore"
	"gomx/kvstore/compress"
	nd "gomx/ndarray"
	"gomx/op"
)

// sums adds up the gradients of the devices, and of all workers in a store that processes share.
type sums struct {
	name string
	// has no optimizer: the sum of the pushed arrays replaces the value
	kv          *kvstore.KV
	compression compress.Method
	known       map[string]bool
	shared      bool // by several processes: gradients are pushed even from one device
}

// ReduceWith chooses the store of this process that adds up the gradients of several devices.
func (t *Trainer) ReduceWith(ctx context.Context, name string, c compress.Method) error {
	if t.sums != nil && name == t.sums.name && c == t.sums.compression {
		return nil
	}
	kv, err := kvstore.Open(ctx, name)
	if err != nil {
		return err
	}
	if err := kv.SetCompression(c); err != nil {
		return err
	}
	if t.sums != nil {
		if err := t.sums.kv.Close(); err != nil {
			return err
		}
	}
	t.sums = &sums{name: name, kv: kv, compression: c, known: map[string]bool{}}
	return nil
}

// ReduceIn lets a store add up the gradients of all devices and of all workers; the optimizer stays
// in this process. In a store of one process that is all. Every worker of a store of several
// processes calls it. There the trained parameters take the values of worker 0; those of a worker
// that takes the place of another one, or of a job that continues from a snapshot, keep their
// values.
func (t *Trainer) ReduceIn(ctx context.Context, store kvstore.Store) error {
	kv := kvstore.Wrap(store)
	if !kv.Sums() {
		return fmt.Errorf("the store %s applies each push by itself and adds up no gradients, "+
			"want dist_sync or another store with rounds", kv.Name())
	}
	s := &sums{name: kv.Name(), kv: kv, known: map[string]bool{}}
	if _, s.shared = kvstore.As[kvstore.Joint](kv); !s.shared {
		t.sums = s
		return nil
	}
	for i, p := range t.params {
		if p.Fixed || len(p.Weights) == 0 {
			continue
		}
		s.known[p.Name] = true
		if err := kv.Init(ctx, p.Name, p.Weights[0]); err != nil {
			return err
		}
		if kv.Resumed() > 0 {
			continue // the store has the last sums, not the parameters
		}
		if err := kv.Pull(p.Name, -i, p.Weights...); err != nil {
			return err
		}
	}
	t.sums = s
	return nil
}

// Reduce replaces the gradients of the first device by the sums over all devices, and over all
// workers after ReduceIn. It adds them in the order of the devices, by pairs, so that results
// repeat. It begins with the last parameter, whose gradient is ready first.
func (t *Trainer) Reduce(g Gradients) error { return t.reduce(g, 1, (*sums).add) }

// ReduceAll is Reduce that replaces the gradients of all devices by the sums.
func (t *Trainer) ReduceAll(g Gradients) error { return t.reduce(g, math.MaxInt, (*sums).add) }

// Recall replaces the gradients of all devices by the sums of the last round of the store. It is
// Reduce for a worker that takes the place of another one, which has taken part in the round.
func (t *Trainer) Recall(g Gradients) error { return t.reduce(g, math.MaxInt, (*sums).recall) }

// reduce replaces the gradients of so many devices by the sums that take finds.
func (t *Trainer) reduce(g Gradients, devices int, take func(s *sums, name string, priority int,
	grads []*nd.Array, n int) error) error {
	for i := len(t.params) - 1; i >= 0; i-- {
		p := &t.params[i]
		if len(p.Weights) == 1 && (t.sums == nil || !t.sums.shared) {
			continue
		}
		list := g.Of(p.Name)
		if list == nil {
			continue
		}
		if t.sums == nil {
			err := t.ReduceWith(context.Background(), "device", compress.Method{})
			if err != nil {
				return err
			}
		}
		if err := take(t.sums, p.Name, -i, list, min(devices, len(list))); err != nil {
			return err
		}
	}
	return nil
}

// add replaces the first n gradients of a parameter by the sum of all.
func (s *sums) add(name string, priority int, grads []*nd.Array, n int) error {
	// The stores of one process add up row_sparse gradients as they are.
	asIs := grads[0].Storage() == nd.Dense || grads[0].Storage() == nd.RowSparse && !s.shared
	if !s.known[name] {
		first := grads[0]
		if !asIs {
			first = first.ToStorage(nd.Dense)
		}
		if err := s.kv.Init(context.Background(), name, first); err != nil {
			return err
		}
		s.known[name] = true
	}
	if asIs {
		return s.kv.PushPull(name, priority, grads, grads[:n])
	}
	list := make([]*nd.Array, len(grads))
	for i, g := range grads {
		list[i] = densely(g, name, s.kv.Name())
	}
	defer closeAll(list)
	if err := s.kv.PushPull(name, priority, list, list[:n]); err != nil {
		return err
	}
	for i, a := range list[:n] {
		a.CopyInto(grads[i])
	}
	return nil
}

// densely returns a dense copy of a sparse gradient for a store.
func densely(g *nd.Array, name, store string) *nd.Array {
	op.Notice("the gradient of %s is %v and made dense for the store %s", name, g.Storage(), store)
	return g.ToStorage(nd.Dense)
}

// recall replaces the first n gradients of a parameter by the sum of the last round.
func (s *sums) recall(name string, priority int, grads []*nd.Array, n int) error {
	return s.kv.Pull(name, priority, grads[:n]...)
}
