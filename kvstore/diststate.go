package kvstore

import (
	"context"
	"encoding/binary"
	"fmt"

	"gomx/dtype"
	"gomx/engine"
	"gomx/kvstore/ps"
	"gomx/kvstore/update"
	"gomx/kvstore/wire"
	nd "gomx/ndarray"
	"gomx/op"
)

// OptimizerStates asks the servers for the states of their optimizers.
func (s *dist) OptimizerStates(ctx context.Context) ([]State, error) {
	if s.optimizer() == nil {
		return nil, errNoOptimizer
	}
	if err := s.drain(ctx); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.timeout)
	defer cancel()
	var list []State
	for _, k := range s.all() {
		if k.eng == nil {
			continue
		}
		if k.sparse != nil {
			list = append(list, State{Key: k.name}) // of each row, on its server
			continue
		}
		arrays, err := k.states(ctx)
		if err != nil {
			return nil, k.fail("optimizer state", err)
		}
		list = append(list, State{Key: k.name, Arrays: arrays})
	}
	return list, nil
}

// slices returns how many slices the key has.
func (k *distKey) slices() (total uint64, n uint16) {
	total = uint64(k.shape.Size() * k.dtype.Size())
	if k.whole {
		return total, 1
	}
	return total, wire.Slices(total, uint64(k.store.job.cfg.SliceSize))
}

// states puts the states of the key's slices together.
func (k *distKey) states(ctx context.Context) ([]*nd.Array, error) {
	_, n := k.slices()
	whole, err := joinStates(n, func(i uint16) ([]byte, error) {
		id := ps.ID{Key: k.id, Slice: i}
		shards := 0
		k.store.job.driver.do(func() { shards = k.store.job.worker.MaxShards() }, nil)
		if shards == 0 {
			return nil, ps.ErrClosed
		}
		return k.store.job.ask(ctx, wire.Message{KeySlice: wire.KeySlice{Key: k.id, Slice: i,
			Slices: n}, Shard: ps.ShardOf(id, shards)})
	})
	if err != nil {
		return nil, err
	}
	return stateArrays(whole, k.shape, k.eng)
}

// joinStates puts the states of n slices together.
func joinStates(n uint16, state func(slice uint16) ([]byte, error)) (whole []update.Array,
	err error) {
	for i := range n {
		b, err := state(i)
		if err != nil {
			return nil, err
		}
		part, err := update.ParseState(b)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			whole = part
			continue
		}
		if len(part) != len(whole) {
			return nil, fmt.Errorf("slice %d has %d arrays, the first has %d", i, len(part),
				len(whole))
		}
		for a := range whole {
			whole[a].Data = append(whole[a].Data, part[a].Data...)
		}
	}
	return whole, nil
}

// stateArrays makes arrays of a key's shape.
func stateArrays(list []update.Array, shape dtype.Shape, eng *engine.Engine) (out []*nd.Array,
	err error) {
	defer op.Recover(&err)
	for i, r := range list {
		if !r.Type.Valid() || len(r.Data) != shape.Size()*r.Type.Size() {
			return nil, fmt.Errorf("array %d has %d bytes of %v, want %d elements", i, len(r.Data),
				r.Type, shape.Size())
		}
		a := nd.Empty(shape, nd.As(r.Type), nd.Using(eng))
		if err := a.WriteBytes(r.Data); err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	return out, nil
}

// SetOptimizerStates sends states to the servers, key by key, as part of the optimizer's
// description, which all copies of a shard get. Every worker calls it; the states of worker 0
// count.
func (s *dist) SetOptimizerStates(ctx context.Context, states []State) error {
	o := s.optimizer()
	if o == nil {
		return errNoOptimizer
	}
	for _, st := range states {
		s.mu.Lock()
		k := s.keys[st.Key]
		s.mu.Unlock()
		if k == nil {
			return fmt.Errorf("kvstore: state of key %q, which has no value", st.Key)
		}
		_, n := k.slices()
		list, err := sliceStates(ctx, st, k.id, k.shape, k.dtype, n)
		if err == nil && len(list) > 0 {
			err = s.sendSpec(ctx, o, list)
		}
		if err != nil {
			return k.fail("optimizer state", err)
		}
	}
	return s.sendSpec(ctx, o, nil)
}

// sliceStates cuts the state of a key into n slices, encoded as updaters want them.
func sliceStates(ctx context.Context, st State, key uint32, shape dtype.Shape, t dtype.Type,
	n uint16) ([]update.SliceState, error) {
	if len(st.Arrays) == 0 {
		return nil, nil
	}
	total := uint64(shape.Size() * t.Size())
	list := make([]update.SliceState, n)
	for i := range list {
		b := make([]byte, update.ProgressSize, update.ProgressSize+4)
		list[i] = update.SliceState{Key: key, Slice: uint16(i),
			State: binary.LittleEndian.AppendUint32(b, uint32(len(st.Arrays)))}
	}
	for j, a := range st.Arrays {
		if a == nil || !a.Shape().Equal(shape) {
			return nil, fmt.Errorf("array %d does not fit, want shape %v", j, shape)
		}
		b := make([]byte, a.Bytes())
		if err := a.ReadBytes(ctx, b); err != nil {
			return nil, err
		}
		size, of := uint64(a.DType().Size()), uint64(t.Size())
		for i := range list {
			lo, hi := wire.Range(total, uint16(i), n)
			lo, hi = lo/of*size, hi/of*size
			x := append(list[i].State, byte(a.DType()))
			x = binary.LittleEndian.AppendUint32(x, uint32(hi-lo))
			list[i].State = append(x, b[lo:hi]...)
		}
	}
	return list, nil
}
