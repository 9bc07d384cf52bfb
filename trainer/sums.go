package trainer

import (
	"context"

	"gomx/kvstore"
	"gomx/kvstore/compress"
	nd "gomx/ndarray"
)

// sums adds up the gradients of the devices.
type sums struct {
	name string
	// has no optimizer: the sum of the pushed arrays replaces the value
	kv          *kvstore.KV
	compression compress.Method
	known       map[string]bool
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
	t.sums = &sums{name, kv, c, map[string]bool{}}
	return nil
}

// Reduce replaces the gradients of the first device by the sums over all devices. It adds them in
// the order of the devices, by pairs, so that results repeat.
func (t *Trainer) Reduce(g Gradients) error {
	for i := range t.params {
		p := &t.params[i]
		if len(p.Weights) == 1 {
			return nil
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
		if err := t.sums.add(p.Name, -i, list); err != nil {
			return err
		}
	}
	return nil
}

// add replaces the first gradient of a parameter by the sum of all.
func (s *sums) add(name string, priority int, grads []*nd.Array) error {
	if !s.known[name] {
		if err := s.kv.Init(context.Background(), name, grads[0]); err != nil {
			return err
		}
		s.known[name] = true
	}
	return s.kv.PushPull(name, priority, grads, grads[:1])
}
