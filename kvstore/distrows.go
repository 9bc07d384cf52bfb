package kvstore

import (
	"context"
	"errors"
	"fmt"

	"gomx/device"
	"gomx/dtype"
	"gomx/engine"
	"gomx/kvstore/compress"
	"gomx/kvstore/ps"
	"gomx/kvstore/ps/worker"
	"gomx/kvstore/rows"
	"gomx/kvstore/touched"
	"gomx/kvstore/update"
	nd "gomx/ndarray"
	"gomx/op"
	"gomx/optimizer"
)

// RowsSpec describes a matrix whose rows exist from the first push to them on. Until then a row has
// the values that Init makes of its number.
type RowsSpec struct {
	Shape nd.Shape // rows, and the shape of a row
	DType dtype.Type
	Init  rows.Init
	// Alone says that rows begin with the values of key 0, whatever the number of the key: a process
	// that does not know the number can make them too.
	Alone bool
	// First is a row_sparse array of the shape and type, with rows that exist from the beginning;
	// nil: there are none. Only worker 0's counts.
	First *nd.Array
}

// check refuses a matrix without elements.
func (r *RowsSpec) check(key string) error {
	if len(r.Shape) < 1 || r.Shape.Size() == 0 || !r.DType.Valid() {
		return fmt.Errorf("kvstore: key %q: rows of shape %v of %v, want rows", key, r.Shape,
			r.DType)
	}
	if a := r.First; a != nil && (a.Storage() != nd.RowSparse || !a.Shape().Equal(r.Shape) ||
		a.DType() != r.DType) {
		return fmt.Errorf("kvstore: key %q: first rows in a %v array of shape %v of %v, want "+
			"row_sparse of shape %v of %v", key, a.Storage(), a.Shape(), a.DType(), r.Shape, r.DType)
	}
	return nil
}

// of describes the rows of a key.
func (r *RowsSpec) of(key uint32) rows.Spec {
	s := rows.Spec{Key: key, Rows: uint64(r.Shape[0]), Row: r.Shape[1:].Size() * r.DType.Size(),
		DType: r.DType, Init: r.Init}
	if r.Alone {
		s.Init = s.Init.ForKey(key)
	}
	return s
}

// Make returns all rows with the values with which servers begin the rows of a key, given by its
// number. Rows of zeros are not stored.
func (r *RowsSpec) Make(key uint32, opts ...nd.Option) (*nd.Array, error) {
	in := r.of(key).Init
	all := op.NewSparse(op.RowSparse, r.DType, r.Shape.Clone())
	if r.Init.Scale != 0 {
		all.Room(r.Shape[0])
	}
	row := all.Row() * r.DType.Size()
	for i := range all.Indices {
		all.Indices[i] = int64(i)
		in.Fill(all.Bytes()[i*row:(i+1)*row], r.DType, key, uint64(i))
	}
	return nd.FromContent(all, opts...)
}

// distRows is the part of a dist store that is about sparse keys.
type distRows struct{ store *dist }

// InitRows implements RowKeeper.
func (s *distRows) InitRows(ctx context.Context, key string, spec RowsSpec) error {
	if err := spec.check(key); err != nil {
		return err
	}
	var first []uint64
	var value []byte
	eng := engine.Default()
	if a := spec.First; a != nil {
		eng = a.Engine()
		content, err := a.Content()
		if err != nil {
			return fmt.Errorf("kvstore: value of key %q: %w", key, err)
		}
		first, value = make([]uint64, content.N), content.Bytes()
		for i, id := range content.Indices {
			first[i] = uint64(id)
		}
	}
	k := &distKey{store: s.store, name: key, shape: spec.Shape.Clone(), dtype: spec.DType, eng: eng}
	of := spec.of(0)
	k.sparse, k.alone = &of, spec.Alone
	if o := s.store.optimizer(); o != nil {
		if err := worksOnRows(o, k.name, k.dtype); err != nil {
			return err
		}
	}
	return s.store.create(ctx, k, worker.KeySpec{DType: spec.DType, Direct: !s.store.sync,
		Sparse: k.sparse, First: first, CacheRows: cacheRows}, value)
}

// initStored is Init with a row_sparse value: rows that it does not store begin with zeros.
func (s *distRows) initStored(ctx context.Context, key string, value *nd.Array) error {
	return s.InitRows(ctx, key, RowsSpec{Shape: value.Shape().Clone(), DType: value.DType(),
		First: value})
}

// worksOnRows returns an error if an optimizer cannot change single rows of a key.
func worksOnRows(o optimizer.Optimizer, key string, t dtype.Type) (err error) {
	defer op.Recover(&err)
	u, err := optimizer.NewUpdater(o, nil)
	if err == nil && !optimizer.Elementwise(o) {
		err = errors.New("it looks at keys as a whole")
	}
	if err == nil && t.IsFloat() {
		err = update.RowStates(u.NewState, t)
	}
	if err != nil {
		return fmt.Errorf("kvstore: %s for the rows of key %q: %w", o.Name(), key, err)
	}
	return nil
}

// RowSparsePull implements RowPuller.
func (s *distRows) RowSparsePull(key string, priority int, ids, out []*nd.Array) (err error) {
	defer op.Recover(&err)
	k, err := s.store.find(key, "RowSparsePull", out)
	if err == nil {
		err = rowsFit(key, k.storage(), ids, out)
	}
	if err != nil {
		return err
	}
	for i, a := range out {
		k.pullRows(priority, ids[i].Detach().To(device.CPU()), a)
	}
	return nil
}

// storage returns the storage type of the key's value.
func (k *distKey) storage() nd.Storage {
	if k.sparse != nil {
		return nd.RowSparse
	}
	return nd.Dense
}

// rowExchange is one push or pull of rows under way. It is a request of the job.
type rowExchange struct {
	key      *distKey
	priority int8
	from     op.Tensor  // values of a push, row numbers of a pull; no shape: all rows
	to       *op.Sparse // of a pull; nil for a push
	ids      []uint64   // the rows
	codes    [][]byte   // of a push that is compressed: the values of each slice
	codec    compress.Kind
	over     bool        // all rows were at hand
	done     func(error) // of a pull
}

// pullRows starts a pull of the rows that ids numbers, of all rows without ids.
func (k *distKey) pullRows(priority int, ids, out *nd.Array) {
	x := &rowExchange{key: k, priority: clampPriority(priority), to: out.Tensor().Sparse}
	uses := []engine.Use{{Var: k.turn, Access: engine.Overwrite}, {Var: out.Var(),
		Access: engine.Overwrite}}
	if ids != nil {
		x.from = ids.Tensor()
		uses = append(uses, engine.Use{Var: ids.Var(), Access: engine.Read})
	}
	k.eng.PushUses(&engine.Task{Name: "kvstore pull of rows", Async: runRowPull, Arg: x,
		Priority: band(priority), Describe: k.say}, uses...)
	out.Touch()
}

// pullAll starts a pull of all rows into arrays of any storage type.
func (k *distKey) pullAll(priority int, out []*nd.Array) {
	for _, a := range out {
		to := a
		if a.Storage() != nd.RowSparse {
			to = nd.ZerosOf(nd.RowSparse, k.shape, nd.As(k.dtype), nd.Using(a.Engine()))
		}
		k.pullRows(priority, nil, to)
		if to != a {
			to.CopyInto(a)
			to.Close()
		}
	}
}

// pushRows starts a push of the stored rows of a sum.
func (k *distKey) pushRows(priority int, grads []*nd.Array) error {
	sum, err := k.sum.add(grads, device.CPU(), compress.Method{})
	if err != nil {
		return fmt.Errorf("kvstore: key %q: %w", k.name, err)
	}
	if sum.Storage() != nd.RowSparse {
		sum = sum.Detach().ToStorage(nd.RowSparse)
		defer sum.Close()
	}
	x := &rowExchange{key: k, priority: clampPriority(priority), from: sum.Tensor()}
	k.eng.PushUses(&engine.Task{Name: "kvstore push of rows", Fn: runRowPush, Arg: x,
		Priority: band(priority), Describe: k.say, NoSkip: true}, engine.Use{Var: k.turn,
		Access: engine.Overwrite}, engine.Use{Var: sum.Var(), Access: engine.Read})
	return nil
}

// runRowPush is the body of a push of rows: the worker copies them.
func runRowPush(r *engine.Run) error {
	x := r.Arg.(*rowExchange)
	k := x.key
	if err := k.sendable(r); err != nil {
		return err
	}
	x.ids = make([]uint64, 0, len(x.from.Sparse.Indices))
	for _, id := range x.from.Sparse.Indices {
		x.ids = append(x.ids, uint64(id))
	}
	if err := k.encodeRows(x); err != nil {
		return k.noteUnsent(k.fail("push", err))
	}
	if err := k.store.job.call(k.store.cfg.timeout, x); err != nil {
		return k.noteUnsent(k.fail("push", err))
	}
	return nil
}

// encodeRows compresses the values of a push, the rows of each slice together. The error of a row
// stays in the worker, and is added when it pushes the row again.
func (k *distKey) encodeRows(x *rowExchange) error {
	m := k.coding()
	n := uint64(k.store.job.shards())
	if m.Kind == compress.None || n == 0 {
		return nil
	}
	if k.residuals == nil {
		of := rows.Spec{Rows: k.sparse.Rows, Row: k.sparse.Row, DType: dtype.Float32}
		if err := of.Check(); err != nil {
			return fmt.Errorf("compression %v: %w", m.Kind, err)
		}
		k.residuals = rows.New(of)
	}
	row := k.sparse.Row / 4
	values := update.Floats(x.from.Sparse.Bytes())
	x.codes, x.codec = make([][]byte, n), m.Kind
	var grad, left []float32
	var slots []uint32
	for i := range n {
		grad, left, slots = grad[:0], left[:0], slots[:0]
		for at, id := range x.ids {
			if id%n == i {
				slot := k.residuals.Touch(uint32(id))
				slots = append(slots, slot)
				grad = append(grad, values[at*row:(at+1)*row]...)
				left = append(left, update.Floats(k.residuals.Row(0, slot))...)
			}
		}
		code, err := m.Append(nil, grad, left)
		if err != nil {
			return err
		}
		for j, slot := range slots {
			copy(update.Floats(k.residuals.Row(0, slot)), left[j*row:])
		}
		x.codes[i] = code
	}
	return nil
}

// runRowPull is the body of a pull of rows.
func runRowPull(r *engine.Run, done func(error)) {
	x := r.Arg.(*rowExchange)
	k := x.key
	x.done = done
	err := k.failed()
	if err == nil {
		err = x.number()
	}
	if err == nil {
		x.to.Room(len(x.ids))
		for i, id := range x.ids {
			x.to.Indices[i] = int64(id)
		}
		if err = k.store.job.call(k.store.cfg.timeout, x); err != nil {
			err = k.fail("pull", err)
		}
	}
	if err != nil || x.over {
		done(k.tell(err))
	}
}

// number lists the rows of a pull in ascending order, each once.
func (x *rowExchange) number() (err error) {
	ids := &x.from
	if x.from.Data == nil && x.from.Shape == nil {
		ids = nil
	}
	if x.ids, err = touched.Numbers(ids, x.key.sparse.Rows); err != nil {
		return x.key.fail("pull", err)
	}
	return nil
}

// start begins the call of the worker.
func (x *rowExchange) start(now, deadline ps.Time) (id uint64, err error) {
	k, w := x.key, x.key.store.job.worker
	if x.to == nil {
		return w.Push(now, worker.PushOp{Key: k.id, IDs: x.ids, Value: x.from.Sparse.Bytes(),
			Codes: x.codes, Codec: uint8(x.codec), Priority: x.priority, Deadline: deadline})
	}
	id, err = worker.PullRows(w, now, worker.RowsPull{Key: k.id, IDs: x.ids, Out: x.to.Bytes(),
		Priority: x.priority, Deadline: deadline})
	x.over = err == nil && id == 0
	return id, err
}

// end completes a pull, and takes in the end of a push.
func (x *rowExchange) end(d *ps.Done) {
	err := d.Err
	if x.to == nil {
		if err != nil {
			err = x.key.fail("push", err)
		}
		x.key.note(err)
		return
	}
	if err != nil {
		err = x.key.fail("pull", err)
	}
	x.done(x.key.tell(err))
}
