package kvstore

import (
	"context"
	"encoding/binary"
	"fmt"

	"gomx/dtype"
	"gomx/kvstore/ps"
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
	var whole []rawArray
	for i := range n {
		id := ps.ID{Key: k.id, Slice: i}
		shards := 0
		k.store.job.driver.do(func() { shards = k.store.job.worker.MaxShards() }, nil)
		if shards == 0 {
			return nil, ps.ErrClosed
		}
		b, err := k.store.job.ask(ctx, wire.Message{KeySlice: wire.KeySlice{Key: k.id, Slice: i,
			Slices: n},
			Shard: ps.ShardOf(id, shards)})
		if err != nil {
			return nil, err
		}
		part, err := parseState(b)
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
			whole[a].data = append(whole[a].data, part[a].data...)
		}
	}
	return k.arrays(whole)
}

// rawArray is an array of an encoded state.
type rawArray struct {
	typ  dtype.Type
	data []byte
}

// parseState reads the bytes that serverUpdater.AppendState writes.
func parseState(b []byte) ([]rawArray, error) {
	if len(b) == 0 {
		return nil, nil
	}
	if len(b) < progressSize+4 {
		return nil, errStateLength
	}
	n := binary.LittleEndian.Uint32(b[progressSize:])
	b = b[progressSize+4:]
	var list []rawArray
	for range n {
		if len(b) < 5 {
			return nil, errStateLength
		}
		t, size := dtype.Type(b[0]), uint64(binary.LittleEndian.Uint32(b[1:]))
		if b = b[5:]; uint64(len(b)) < size {
			return nil, errStateLength
		}
		list = append(list, rawArray{t, append([]byte(nil), b[:size]...)})
		b = b[size:]
	}
	return list, nil
}

// arrays makes arrays of the key's shape.
func (k *distKey) arrays(list []rawArray) (out []*nd.Array, err error) {
	defer op.Recover(&err)
	for i, r := range list {
		if !r.typ.Valid() || len(r.data) != k.shape.Size()*r.typ.Size() {
			return nil, fmt.Errorf("array %d has %d bytes of %v, want %d elements", i, len(r.data),
				r.typ, k.shape.Size())
		}
		a := nd.Empty(k.shape, nd.As(r.typ), nd.Using(k.eng))
		if err := a.WriteBytes(r.data); err != nil {
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
		list, err := k.specStates(ctx, st)
		if err == nil && len(list) > 0 {
			err = s.sendSpec(ctx, o, list)
		}
		if err != nil {
			return k.fail("optimizer state", err)
		}
	}
	return s.sendSpec(ctx, o, nil)
}

// specStates cuts a state into slices, encoded as servers want them.
func (k *distKey) specStates(ctx context.Context, st State) ([]specState, error) {
	if len(st.Arrays) == 0 {
		return nil, nil
	}
	total, n := k.slices()
	list := make([]specState, n)
	for i := range list {
		b := make([]byte, progressSize, progressSize+4)
		list[i] = specState{Key: k.id, Slice: uint16(i), State: binary.LittleEndian.AppendUint32(b,
			uint32(len(st.Arrays)))}
	}
	for j, a := range st.Arrays {
		if a == nil || !a.Shape().Equal(k.shape) {
			return nil, fmt.Errorf("array %d does not fit, want shape %v", j, k.shape)
		}
		b := make([]byte, a.Bytes())
		if err := a.ReadBytes(ctx, b); err != nil {
			return nil, err
		}
		size, of := uint64(a.DType().Size()), uint64(k.dtype.Size())
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
