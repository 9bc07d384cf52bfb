package kvstore

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"gomx/dtype"
	"gomx/engine"
	"gomx/kvstore/ps"
	"gomx/kvstore/rows"
	"gomx/kvstore/update"
	"gomx/kvstore/wire"
	nd "gomx/ndarray"
	"gomx/op"
	"gomx/op/loop"
	"gomx/optimizer"
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
		states := k.states
		if k.sparse != nil {
			states = k.rowStates
		}
		arrays, err := states(ctx)
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
		shards := k.store.job.shards()
		if shards == 0 {
			return nil, ps.ErrClosed
		}
		a, err := k.store.job.ask(ctx, wire.Message{KeySlice: wire.KeySlice{Key: k.id, Slice: i,
			Slices: n}, Shard: ps.ShardOf(ps.ID{Key: k.id, Slice: i}, shards)})
		if err != nil {
			return nil, err
		}
		return a.Payload, nil
	})
	if err != nil {
		return nil, err
	}
	return stateArrays(whole, k.shape, k.eng)
}

// shards returns the number of shards, 0 when the job is over.
func (j *Job) shards() (n int) {
	j.driver.do(func() { n = j.worker.MaxShards() }, nil)
	return n
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
		var err error
		if k.sparse != nil {
			err = k.sendRowStates(ctx, o, st)
		} else {
			_, n := k.slices()
			var list []update.SliceState
			list, err = sliceStates(ctx, st, k.id, k.shape, k.dtype, n)
			if err == nil && len(list) > 0 {
				err = s.sendSpec(ctx, o, list, nil)
			}
		}
		if err != nil {
			return k.fail("optimizer state", err)
		}
	}
	return s.sendSpec(ctx, o, nil, nil)
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

// rowStates asks the servers for the optimizer's states of the rows that exist, and returns an array
// of rows for each state, none before the first update.
func (k *distKey) rowStates(ctx context.Context) ([]*nd.Array, error) {
	types, err := k.stateTypes(k.store.optimizer())
	if err != nil {
		return nil, err
	}
	shards := k.store.job.shards()
	var ids []int64 // in the order of the servers
	states := make([][]byte, len(types))
	for i := range shards {
		list, err := k.sliceRows(ctx, uint16(i), shards, false)
		if err != nil {
			return nil, err
		}
		for _, st := range list {
			if len(st.Widths) == 0 {
				continue
			}
			if err := k.fitStates(st.Widths, types); err != nil {
				return nil, err
			}
			for r := range slices.Chunk(st.Records, st.Record()) {
				ids = append(ids, int64(binary.LittleEndian.Uint32(r))*int64(shards)+int64(i))
				at := 4
				for j, w := range st.Widths {
					states[j] = append(states[j], r[at:at+w]...)
					at += w
				}
			}
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	return k.stateRows(ids, states, types)
}

// stateRows makes arrays of the states of rows, which come in any order.
func (k *distKey) stateRows(ids []int64, states [][]byte, types []dtype.Type) (out []*nd.Array,
	err error) {
	defer op.Recover(&err)
	order := make([]int, len(ids))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return int(ids[a] - ids[b]) })
	for j, t := range types {
		c := op.NewSparse(op.RowSparse, t, k.shape.Clone())
		c.Room(len(ids))
		row, to := k.width(t), c.Bytes()
		for at, i := range order {
			c.Indices[at] = ids[i]
			copy(to[at*row:(at+1)*row], states[j][i*row:])
		}
		a, err := nd.FromContent(c, nd.Using(k.eng))
		if err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	return out, nil
}

// width returns the bytes of a row of a type.
func (k *distKey) width(t dtype.Type) int { return k.shape[1:].Size() * t.Size() }

// stateTypes returns the types of the states that an optimizer keeps for rows of the key.
func (k *distKey) stateTypes(o optimizer.Optimizer) (types []dtype.Type, err error) {
	defer op.Recover(&err)
	if !k.dtype.IsFloat() {
		return nil, nil
	}
	u, err := optimizer.NewUpdater(o, nil)
	if err != nil {
		return nil, err
	}
	for _, a := range u.NewState(nd.Ones(nd.Shape{1}, nd.As(k.dtype))) {
		types = append(types, a.DType())
	}
	return types, nil
}

// fitStates refuses states whose rows have other lengths than those of the optimizer.
func (k *distKey) fitStates(widths []int, types []dtype.Type) error {
	var want []int
	for _, t := range types {
		want = append(want, k.width(t))
	}
	if !slices.Equal(widths, want) {
		return fmt.Errorf("states with rows of %d bytes, want %d", widths, want)
	}
	return nil
}

// sliceRows asks for the states of a slice, piece by piece, or with bare for the numbers of its
// rows alone. A copy that has taken over has its rows in another order: then all is asked for again.
func (k *distKey) sliceRows(ctx context.Context, i uint16, shards int, bare bool) (
	list []rows.States, err error) {
	from, epoch := uint64(0), uint64(0)
	for {
		st, at, err := k.askRows(ctx, i, shards, wire.RowsAsk{From: from, Bare: bare})
		if err != nil {
			return nil, err
		}
		if len(list) > 0 && at != epoch {
			list, from = nil, 0
			continue
		}
		epoch = at
		list = append(list, st)
		from += uint64(len(st.Records) / st.Record())
		if len(st.Records) == 0 || !bare && len(st.Widths) == 0 || from >= st.Rows {
			return list, nil
		}
	}
}

// askRows asks for a piece of the rows of a slice, and returns the epoch of its shard.
func (k *distKey) askRows(ctx context.Context, i uint16, shards int, which wire.RowsAsk) (
	st rows.States, epoch uint64, err error) {
	m := wire.Message{Flags: wire.FlagSparse, KeySlice: wire.KeySlice{Key: k.id, Slice: i,
		Slices: uint16(shards)}, Shard: ps.ShardOf(ps.ID{Key: k.id, Slice: i}, shards)}
	m.SetRowsAsk(which)
	a, err := k.store.job.ask(ctx, m)
	if err != nil {
		return st, 0, err
	}
	st, err = rows.ReadStates(wire.SourceOf(a.Payload))
	return st, a.Epoch, err
}

// sendRowStates sends states of rows to the servers, piece by piece, as part of the optimizer's
// description.
func (k *distKey) sendRowStates(ctx context.Context, o optimizer.Optimizer, st State) error {
	if len(st.Arrays) == 0 {
		return nil
	}
	types, err := k.stateTypes(o)
	if err != nil {
		return err
	}
	contents, err := k.contents(ctx, st.Arrays, types)
	if err != nil {
		return err
	}
	tag, err := update.RowTag(o)
	if err != nil {
		return err
	}
	var ids []int64 // of rows that one of the arrays has
	var widths []int
	for j, c := range contents {
		ids, widths = append(ids, c.Indices...), append(widths, k.width(types[j]))
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	n := int64(k.store.job.shards())
	if n == 0 {
		return ps.ErrClosed
	}
	record := (&rows.States{Widths: widths}).Record()
	for piece := range slices.Chunk(ids, max(1, statePiece/record)) {
		parts := make([]rows.States, n)
		for i := range parts {
			parts[i] = rows.States{ID: ps.ID{Key: k.id, Slice: uint16(i)}, Tag: tag, Widths: widths}
		}
		for _, id := range piece {
			p := &parts[id%n]
			p.Records = binary.LittleEndian.AppendUint32(p.Records, uint32(id/n))
			for j, c := range contents {
				if at, ok := slices.BinarySearch(c.Indices, id); ok {
					p.Records = append(p.Records, c.Bytes()[at*widths[j]:(at+1)*widths[j]]...)
				} else {
					p.Records = append(p.Records, make([]byte, widths[j])...)
				}
			}
		}
		var b []byte
		for i := range parts {
			b = parts[i].Append(b)
		}
		if err := k.store.sendSpec(ctx, o, nil, b); err != nil {
			return err
		}
	}
	return nil
}

// contents returns the rows of the arrays of a state, which must be as the optimizer keeps them.
func (k *distKey) contents(ctx context.Context, arrays []*nd.Array, types []dtype.Type) (
	list []*op.Sparse, err error) {
	defer op.Recover(&err)
	if len(arrays) != len(types) {
		return nil, fmt.Errorf("%d arrays, the optimizer wants %d", len(arrays), len(types))
	}
	for i, a := range arrays {
		if a == nil || !a.Shape().Equal(k.shape) || a.DType() != types[i] {
			return nil, fmt.Errorf("array %d does not fit, want %v of shape %v", i, types[i], k.shape)
		}
		if a.Storage() != nd.RowSparse {
			a = a.ToStorage(nd.RowSparse)
			defer a.Close()
		}
		if err := a.Wait(ctx); err != nil {
			return nil, err
		}
		c, err := a.Content()
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}

// heldPiece is about how many bytes of rows HeldRows pulls at a time.
const heldPiece = 16 << 20

// HeldRows implements RowHolder: the servers tell which rows exist, and the rows are pulled piece by
// piece.
func (s *distRows) HeldRows(key string, out *nd.Array) (err error) {
	defer op.Recover(&err)
	k, err := s.holder("HeldRows", key, out)
	if err != nil {
		return err
	}
	ids, err := k.heldIDs()
	if err != nil {
		return k.fail("rows that exist", err)
	}
	out.Fill(0)
	part := nd.ZerosOf(nd.RowSparse, k.shape, nd.As(k.dtype), nd.Using(out.Engine()))
	defer part.Close()
	for piece := range slices.Chunk(ids, max(1, heldPiece/k.sparse.Row)) {
		if err := k.pullPiece(piece, part); err != nil {
			return err
		}
		err := out.WriteContent(func(c *op.Sparse) error {
			n := len(c.Bytes())
			loop.Insert(c, piece) // behind the others
			copy(c.Bytes()[n:], part.Stored().Bytes())
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// pullPiece pulls rows and waits for them.
func (k *distKey) pullPiece(ids []int64, to *nd.Array) error {
	numbers := nd.FromSlice(slices.Clone(ids), len(ids))
	defer numbers.Close()
	k.pullRows(0, numbers, to)
	ctx, cancel := context.WithTimeout(context.Background(), k.store.cfg.timeout)
	defer cancel()
	return to.Wait(ctx)
}

// CountRows implements RowHolder.
func (s *distRows) CountRows(key string) (n int, err error) {
	k, err := s.holder("CountRows", key)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.store.cfg.timeout)
	defer cancel()
	shards := s.store.job.shards()
	if shards == 0 {
		return 0, ps.ErrClosed
	}
	for i := range shards {
		st, _, err := k.askRows(ctx, uint16(i), shards, wire.RowsAsk{From: math.MaxUint64, Bare: true})
		if err != nil {
			return 0, k.fail("number of rows", err)
		}
		n += int(st.Rows)
	}
	return n, nil
}

// holder returns a sparse key whose rows are wanted, after the pushes of this worker.
func (s *distRows) holder(call, key string, out ...*nd.Array) (*distKey, error) {
	k, err := knownKey(s.store, key, call)
	if err == nil && len(out) > 0 {
		err = fits(key, call, k.shape, k.dtype, out)
	}
	if err != nil {
		return nil, err
	}
	for _, a := range out {
		if a.Storage() != nd.RowSparse {
			return nil, fmt.Errorf("kvstore: %s: the array for key %q is %v, want row_sparse", call,
				key, a.Storage())
		}
	}
	if k.sparse == nil {
		return nil, fmt.Errorf("kvstore: %s: the value of key %q is dense, want row_sparse", call,
			key)
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.store.cfg.timeout)
	defer cancel()
	return k, s.store.drain(ctx)
}

// heldIDs returns the numbers of the rows that exist, in ascending order.
func (k *distKey) heldIDs() (ids []int64, err error) {
	shards := k.store.job.shards()
	if shards == 0 {
		return nil, ps.ErrClosed
	}
	for i := range shards {
		ctx, cancel := context.WithTimeout(context.Background(), k.store.cfg.timeout)
		list, err := k.sliceRows(ctx, uint16(i), shards, true)
		cancel()
		if err != nil {
			return nil, err
		}
		for _, st := range list {
			for r := range slices.Chunk(st.Records, st.Record()) {
				ids = append(ids, int64(binary.LittleEndian.Uint32(r))*int64(shards)+int64(i))
			}
		}
	}
	slices.Sort(ids)
	return ids, nil
}
