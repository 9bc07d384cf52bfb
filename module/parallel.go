package module

import (
	"context"
	"fmt"

	"gomx/kvstore"
	"gomx/kvstore/compress"
)

// sums adds up the gradients of the devices.
type sums struct {
	name string
	// has no optimizer: the sum of the pushed arrays replaces the value
	kv          kvstore.Store
	compression compress.Method
	known       map[string]bool
}

// reduceWith chooses the store that adds up the gradients of the devices.
func (m *Module) reduceWith(ctx context.Context, name string, c compress.Method) error {
	if len(m.config.places()) == 1 {
		return nil
	}
	if m.sums != nil && name == m.sums.name && c == m.sums.compression {
		return nil
	}
	kv, err := kvstore.Open(ctx, name)
	if err != nil {
		return fmt.Errorf("module: %w", err)
	}
	if err := kv.SetCompression(c); err != nil {
		return fmt.Errorf("module: %w", err)
	}
	if m.sums != nil {
		if err := m.sums.kv.Close(); err != nil {
			return fmt.Errorf("module: %w", err)
		}
	}
	m.sums = &sums{name, kv, c, map[string]bool{}}
	return nil
}

// reduce replaces the gradients of the first device by the sums over all devices. It adds them in
// the order of the devices, by pairs, so that results repeat.
func (m *Module) reduce() error {
	if len(m.replicas.current.parts) == 1 {
		return nil
	}
	if m.sums == nil {
		if err := m.reduceWith(context.Background(), "device", compress.Method{}); err != nil {
			return err
		}
	}
	s := m.sums
	for i, name := range m.net.params {
		list := m.replicas.current.gradsOf(name)
		if list == nil {
			continue
		}
		if !s.known[name] {
			if err := s.kv.Init(context.Background(), name, list[0]); err != nil {
				return fmt.Errorf("module: %w", err)
			}
			s.known[name] = true
		}
		if err := s.kv.PushPull(name, -i, list, list[:1]); err != nil {
			return fmt.Errorf("module: %w", err)
		}
	}
	return nil
}
