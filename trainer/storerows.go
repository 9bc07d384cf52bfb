package trainer

import (
	"context"
	"fmt"
	"slices"
	"unsafe"

	"gomx/device"
	"gomx/dtype"
	"gomx/engine"
	"gomx/kvstore"
	"gomx/kvstore/rows"
	"gomx/kvstore/touched"
	"gomx/kvstore/update"
	nd "gomx/ndarray"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/prim"
	"gomx/optimizer"
)

// RowUse describes a parameter whose batches read some of its rows.
type RowUse struct {
	// Whole says why the rows of a batch are not known. Nil: PullRows is called before each forward
	// pass.
	Whole error
	// Made says how the rows begin of a row_sparse parameter without values. Nil: the parameter has
	// values.
	Made *rows.Init
	// Alone says that such rows begin with the values of key 0, whatever the number of the key is, and
	// that the rows which the parameter stores exist already.
	Alone bool
	// First has rows of such a parameter that exist already; nil: there are none.
	First *nd.Array
	// Make gives such a parameter all its rows, in this process. It is called if the store does not
	// keep rows of the parameter.
	Make func() error
}

// storedRows is the part of a storedKey of which the store keeps rows. This process has the rows of
// its batches: a dense parameter has old values in its other rows, a row_sparse one does not store
// them.
type storedRows struct {
	made    *rows.Init // nil: the parameter has values
	alone   bool       // see RowUse
	first   *nd.Array  // see RowUse
	present []int64    // rows that have been pulled for the present batch
	pushed  bool       // the batch of the last PullRows has ended
	next    []int64    // rows that PullAhead was given; nil: it has not been called
	rest    []int64    // rows among next that have not been pulled yet
	// row_sparse arrays on the way to the parameter, made at the first use: rows that were pulled
	// ahead, and the others
	ahead, pulled *nd.Array
}

// rowsOf decides whether the store keeps rows of a parameter: nil if it does not. A dense parameter
// then has a dense key. For a row_sparse one that is an error.
func (s *Store) rowsOf(p *Param, g *nd.Array, o optimizer.Optimizer, use RowUse) (*storedRows,
	error) {
	w := p.Weights[0]
	sparse := w.Storage() == nd.RowSparse
	if !sparse && (s.joint == nil || g.Storage() != nd.RowSparse) {
		return nil, nil
	}
	why := use.Whole
	if s.joint == nil && why == nil {
		why = StepsByRows(w, o)
	}
	if _, ok := kvstore.As[kvstore.RowKeeper](s.kv); !ok {
		why = fmt.Errorf("the store %s keeps no rows", s.kv.Name())
	} else if why == nil && !sparse {
		why = keptByRows(p.Weights, o)
	}
	switch {
	case why == nil:
		return &storedRows{made: use.Made, alone: use.Alone, first: use.First}, nil
	case s.joint == nil && use.Made == nil:
		return nil, nil
	case s.joint == nil:
		return nil, use.Make()
	case sparse:
		return nil, fmt.Errorf("the store %s cannot keep the rows of %s, which is row_sparse: %w",
			s.kv.Name(), p.Name, why)
	}
	op.Notice("the store %s keeps %s as a whole, not by rows: %v", s.kv.Name(), p.Name, why)
	return nil, nil
}

// wholeLimit is the size in bytes above which all rows of a parameter cannot travel to one server
// in a message.
const wholeLimit = 200 << 20

// keptByRows says why the copies of a dense parameter cannot have rows in a store; nil: they can,
// and training does the same as with a dense key of one process.
func keptByRows(copies []*nd.Array, o optimizer.Optimizer) error {
	for _, w := range copies {
		if w.Device().Kind != device.KindCPU {
			return fmt.Errorf("it is on %v", w.Device())
		}
	}
	if n := copies[0].Bytes(); n > wholeLimit {
		return fmt.Errorf("it has %d bytes, want at most %d; a row_sparse parameter may be larger",
			n, wholeLimit)
	}
	return StepsByRows(copies[0], o)
}

// StepsByRows says why an optimizer cannot change just the rows of a parameter that have gradients,
// by the steps that it makes for a whole parameter; nil: it can.
func StepsByRows(w *nd.Array, o optimizer.Optimizer) error {
	if !optimizer.Elementwise(o) {
		return fmt.Errorf("%s looks at parameters as a whole", o.Name())
	}
	return worksOnRows(o, w.DType(), w.Storage())
}

// worksOnRows says why an optimizer cannot change the rows of a row_sparse gradient alone, of
// parameters of a type and storage type: it changes others too, or its states do not begin with
// zeros.
func worksOnRows(o optimizer.Optimizer, t dtype.Type, stored nd.Storage) (err error) {
	defer op.Recover(&err)
	u, err := optimizer.NewUpdater(o, nil)
	if err != nil {
		return err
	}
	if err := update.RowStates(u.NewState, t); err != nil {
		return err
	}
	shape := nd.Shape{2, 1}
	w := nd.Ones(shape, nd.As(t)).ToStorage(stored)
	defer w.Close()
	second := func() (float64, error) { return w.ToStorage(nd.Dense).Slice(1, 2).Item() }
	var before float64
	for _, row := range []int{1, 0} { // row 1 gets states, then has no gradient
		if before, err = second(); err != nil {
			return err
		}
		g := nd.RowSparseFromSlices([]float32{1}, []int{row}, shape).AsType(t)
		if err := u.Update(0, w, g); err != nil {
			return err
		}
	}
	after, err := second()
	if err == nil && after != before {
		err = fmt.Errorf("%s changes rows without gradients", o.Name())
	}
	return err
}

// initRows gives a key of rows its first values.
func (s *Store) initRows(ctx context.Context, k *storedKey) error {
	w := k.value[0]
	switch {
	case k.rows.made != nil:
		if s.joint != nil {
			seeds, err := s.joint.Agree(ctx, "rows of "+k.name, k.rows.made.Seed)
			if err != nil {
				return err
			}
			k.rows.made.Seed = seeds[0] // worker 0's values count
		}
		spec := kvstore.RowsSpec{Shape: w.Shape(), DType: w.DType(), Init: *k.rows.made,
			Alone: k.rows.alone, First: k.rows.first}
		if spec.Alone {
			spec.First = w
		}
		return s.kv.InitRows(ctx, k.name, spec)
	case w.Storage() == nd.RowSparse:
		return s.kv.Init(ctx, k.name, w)
	}
	stored := w.Detach().ToStorage(nd.RowSparse)
	defer stored.Close()
	return s.kv.Init(ctx, k.name, stored)
}

// RowKeys lists the parameters of which the store keeps rows.
func (s *Store) RowKeys() (names []string) {
	for i := range s.keys {
		if s.keys[i].rows != nil {
			names = append(names, s.keys[i].name)
		}
	}
	return names
}

// rowKey returns the key of a parameter, with its number. It is an error if the store keeps no rows
// of it.
func (s *Store) rowKey(name string) (int, *storedKey, error) {
	for i := range s.keys {
		if k := &s.keys[i]; k.name == name && k.rows != nil {
			return i, k, nil
		}
	}
	return 0, nil, fmt.Errorf("the store %s keeps no rows of parameter %s", s.kv.Name(), name)
}

// PullRows starts to pull rows of a parameter, given in ascending order, for the batch that comes
// next. A row_sparse parameter has no other rows then.
func (s *Store) PullRows(name string, ids []int64) error {
	i, k, err := s.rowKey(name)
	if err != nil {
		return err
	}
	r := k.rows
	ahead := r.next != nil && slices.Equal(r.next, ids)
	pull := ids
	if ahead {
		pull = r.rest
	}
	if r.pushed || r.present == nil {
		r.present, r.pushed = ids, false
	} else {
		r.present = loop.Merge(r.present, ids)
	}
	r.next, r.rest = nil, nil
	w := k.value[0]
	if w.Storage() == nd.RowSparse && !ahead {
		if err := s.pullInto(i, w, pull); err != nil {
			return err
		}
		Spread(k.value)
		return nil
	}
	parts := []*nd.Array{k.stage(&r.pulled)}
	if err := s.pullInto(i, parts[0], pull); err != nil {
		return err
	}
	if ahead {
		parts = append(parts, r.ahead)
	}
	return k.take(parts)
}

// EndBatch tells the store that the next PullRows is for another batch, though no gradient has been
// pushed: this worker repeats a step.
func (s *Store) EndBatch() {
	for i := range s.keys {
		if r := s.keys[i].rows; r != nil {
			r.pushed = true
		}
	}
}

// AddRows is PullRows for rows that the present batch reads, too: a row_sparse parameter keeps the
// others, and tapes on which it has been recorded stay valid.
func (s *Store) AddRows(name string, ids []int64) error {
	i, k, err := s.rowKey(name)
	if err != nil {
		return err
	}
	if k.rows.pushed || k.rows.present == nil || k.value[0].Storage() != nd.RowSparse {
		return s.PullRows(name, ids)
	}
	fresh, _ := apart(ids, k.rows.present)
	if len(fresh) == 0 {
		return nil
	}
	k.rows.present = loop.Merge(k.rows.present, fresh)
	more := k.stage(&k.rows.pulled)
	if err := s.pullInto(i, more, fresh); err != nil {
		return err
	}
	for _, a := range k.value {
		touched.Matrix{Array: a}.Join(more)
	}
	return nil
}

// PullAhead starts to pull the rows of the batch after the present one, before the gradient of the
// present one is pushed: the rows that the present batch does not read. PullRows pulls the others.
// In a store with rounds the rows would miss the round of the present batch, and nothing happens.
func (s *Store) PullAhead(name string, ids []int64) error {
	i, k, err := s.rowKey(name)
	if err != nil {
		return err
	}
	if s.kv.Sums() || len(ids)*k.rowBytes() < aheadBytes {
		return nil
	}
	r := k.rows
	fresh, rest := apart(ids, r.present)
	if len(fresh)*k.rowBytes() < aheadBytes {
		return nil
	}
	r.next, r.rest = ids, rest
	return s.pullInto(i, k.stage(&r.ahead), fresh)
}

// aheadBytes is the size in bytes of the rows that are worth a message ahead of the others.
const aheadBytes = 128 << 10

// apart divides ascending numbers into the ones that are not in another ascending list and the
// others. The lists are not nil.
func apart(list, other []int64) (out, in []int64) {
	out, in = []int64{}, []int64{}
	for _, id := range list {
		for len(other) > 0 && other[0] < id {
			other = other[1:]
		}
		if len(other) > 0 && other[0] == id {
			in = append(in, id)
		} else {
			out = append(out, id)
		}
	}
	return out, in
}

// rowBytes is the size of a row.
func (k *storedKey) rowBytes() int {
	w := k.value[0]
	return w.Shape()[1:].Size() * w.DType().Size()
}

// stage returns a row_sparse array like the parameter, kept in slot.
func (k *storedKey) stage(slot **nd.Array) *nd.Array {
	if *slot == nil {
		w := k.value[0]
		*slot = nd.ZerosOf(nd.RowSparse, w.Shape(), nd.As(w.DType()), nd.Using(w.Engine()))
	}
	return *slot
}

// pullInto starts to pull rows of key number i into a row_sparse array.
func (s *Store) pullInto(i int, to *nd.Array, ids []int64) error {
	if len(ids) == 0 {
		to.Fill(0)
		return nil
	}
	numbers := nd.Empty(nd.Shape{len(ids)}, nd.As(dtype.Int64), nd.Using(to.Engine()))
	defer numbers.Close()
	err := numbers.WriteBytes(unsafe.Slice((*byte)(unsafe.Pointer(&ids[0])), 8*len(ids)))
	if err != nil {
		return err
	}
	return s.kv.RowSparsePull(s.keys[i].name, -i, []*nd.Array{numbers}, []*nd.Array{to})
}

// ReadRows starts to pull rows of a parameter of which the store keeps rows into a row_sparse array of
// its shape. The rows of the present batch stay as they are. The numbers ascend.
func (s *Store) ReadRows(name string, ids []int64, to *nd.Array) error {
	i, _, err := s.rowKey(name)
	if err != nil {
		return err
	}
	return s.pullInto(i, to, ids)
}

// HeldRows is ReadRows of the rows that exist. From a store that processes share they come unless
// they have more bytes than limit, 0 for none; ok reports whether they do.
func (s *Store) HeldRows(name string, to *nd.Array, limit int) (ok bool, err error) {
	_, k, err := s.rowKey(name)
	if err != nil {
		return false, err
	}
	h, err := kvstore.Need[kvstore.RowHolder](s.kv, "HeldRows")
	if err != nil {
		return false, err
	}
	if s.joint != nil && limit > 0 {
		n, err := h.CountRows(name)
		if err != nil || n*k.rowBytes() > limit {
			return false, err
		}
	}
	return true, h.HeldRows(name, to)
}

// Begins returns how the rows begin of a parameter without values of which the store keeps rows: as
// worker 0 has said. ok is false for a parameter that had values.
func (s *Store) Begins(name string) (in rows.Init, ok bool) {
	_, k, err := s.rowKey(name)
	if err != nil || k.rows.made == nil {
		return in, false
	}
	return *k.rows.made, true
}

// take gives pulled rows to all copies of the parameter. No row is in two of the parts.
func (k *storedKey) take(parts []*nd.Array) error {
	w := k.value[0]
	if w.Storage() == nd.RowSparse {
		if err := nd.InvokeInto(prim.ElemwiseAdd.Op, nil, parts, k.value[:1]); err != nil {
			return err
		}
		Spread(k.value)
		return nil
	}
	for _, a := range k.value {
		for _, part := range parts {
			putRows(a, part)
		}
	}
	return nil
}

// putRows starts to copy the rows that a row_sparse array stores into a dense array of its shape.
func putRows(to, from *nd.Array) {
	p := &rowsPut{to: unsafe.Slice((*byte)(to.Pointer()), to.Bytes()), from: from.Stored()}
	to.Engine().PushUses(&engine.Task{Name: "rows into parameter", Fn: runPutRows, Arg: p},
		engine.Use{Var: to.Var(), Access: engine.Update},
		engine.Use{Var: from.Var(), Access: engine.Read})
	to.Touch()
}

// rowsPut is the argument of runPutRows.
type rowsPut struct {
	to   []byte
	from *op.Sparse
}

// runPutRows is the body of putRows.
func runPutRows(r *engine.Run) error {
	p := r.Arg.(*rowsPut)
	row := p.from.Row() * p.from.DType.Size()
	for i, id := range p.from.Indices {
		copy(p.to[int(id)*row:(int(id)+1)*row], p.from.Bytes()[i*row:])
	}
	return nil
}

// PullWhole starts to pull all rows of the parameters of which the store keeps rows. Of a large
// row_sparse parameter whose rows begin with zeros it waits for the rows that exist. It leaves
// parameters with more bytes of them than limit alone, and others with more bytes than limit; it
// returns their names.
func (s *Store) PullWhole(limit int) (left []string, err error) {
	for i := range s.keys {
		k := &s.keys[i]
		if k.rows == nil {
			continue
		}
		w := k.value[0]
		if n := w.Bytes(); w.Storage() == nd.RowSparse && n > min(limit, wholeLimit) {
			ok, err := s.pullHeld(k, limit)
			if err != nil {
				return left, err
			}
			if !ok && n > limit {
				left = append(left, k.name)
			}
			if ok || n > limit {
				continue
			}
		}
		k.rows.next = nil
		if err := s.kv.Pull(k.name, -i, k.value...); err != nil {
			return left, err
		}
	}
	return left, nil
}

// pullHeld gives a row_sparse parameter the rows that exist, if the others are zeros. With limit 0,
// or more bytes of rows than limit, it does nothing and reports false.
func (s *Store) pullHeld(k *storedKey, limit int) (ok bool, err error) {
	if limit == 0 || k.rows.made != nil && k.rows.made.Scale != 0 {
		return false, nil
	}
	if ok, err = s.HeldRows(k.name, k.value[0], limit); ok && err == nil {
		k.rows.next = nil
		Spread(k.value)
	}
	return ok, err
}

// closeRows closes the arrays on the way to parameters.
func (s *Store) closeRows() {
	for i := range s.keys {
		if r := s.keys[i].rows; r != nil {
			for _, a := range []*nd.Array{r.ahead, r.pulled} {
				if a != nil {
					a.Close()
				}
			}
			r.ahead, r.pulled, r.next = nil, nil, nil
		}
	}
}
