package kvstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"gomx/dtype"
	"gomx/kvstore/ps"
	"gomx/kvstore/ps/worker"
	"gomx/kvstore/rows"
	"gomx/op"
)

// Cell is the type of a table's elements.
type Cell interface{ float32 | float64 | int32 }

// Table is a table of float32.
type Table = TableOf[float32]

// TableOf is a matrix that all workers share row by row: Get reads rows, Inc adds to them, and the
// store's Clock ends a step. Additions of a worker leave at Clock; the worker itself sees them at
// once. The kind of the store decides which additions of other workers a Get sees: all of their
// earlier steps with dist_sync, all but the last Staleness steps with dist_ssp, and all that have
// arrived with dist_async.
//
// A process that takes the place of a worker begins behind the steps that its predecessor has ended
// by Clock: a program leaves out as many steps as the store's Resumed says.
//
// Servers hold a table as they hold the keys of InitRows: a row exists from the first addition on,
// and takes no memory before.
//
// Its methods may be called from any goroutine.
type TableOf[T Cell] struct {
	name    string
	rows    int
	columns int
	back    tableBackend
}

// tableBackend is where the rows are.
type tableBackend interface {
	get(ctx context.Context, rows []uint32, out []byte) error
	inc(rows []uint32, deltas []byte) error
}

// tableOpener is a TableKeeper that makes tables of all types of elements.
type tableOpener interface {
	openTable(ctx context.Context, name string, spec RowsSpec) (tableBackend, error)
}

// TableOption configures NewTable.
type TableOption func(*RowsSpec)

// BeginRows says which values rows have before the first addition. Without it they are zeros.
func BeginRows(init rows.Init) TableOption { return func(s *RowsSpec) { s.Init = init } }

// NewTable is TableKeeper.Table for any type of elements.
func NewTable[T Cell](ctx context.Context, s Store, name string, shape dtype.Shape,
	opts ...TableOption) (*TableOf[T], error) {
	o, err := Need[tableOpener](s, fmt.Sprintf("NewTable(%q)", name))
	if err != nil {
		return nil, err
	}
	return makeTable[T](ctx, o, name, shape, opts...)
}

// makeTable checks the shape of a table and makes it.
func makeTable[T Cell](ctx context.Context, o tableOpener, name string, shape dtype.Shape,
	opts ...TableOption) (*TableOf[T], error) {
	if len(shape) != 2 || shape[0] < 1 || shape[0] > 1<<31-1 || shape[1] < 1 || shape[1] > 1<<24 {
		return nil, fmt.Errorf("kvstore: table %q of shape %v, want rows and columns, at most "+
			"2^31-1 and 2^24", name, shape)
	}
	spec := RowsSpec{Shape: shape.Clone(), DType: op.TypeOf[T]()}
	for _, opt := range opts {
		opt(&spec)
	}
	back, err := o.openTable(ctx, name, spec)
	if err != nil {
		return nil, err
	}
	return &TableOf[T]{name: name, rows: shape[0], columns: shape[1], back: back}, nil
}

// Get returns a row.
func (t *TableOf[T]) Get(ctx context.Context, row int) ([]T, error) {
	return t.BatchGet(ctx, []int{row})
}

// BatchGet returns rows, one after the other.
func (t *TableOf[T]) BatchGet(ctx context.Context, rows []int) ([]T, error) {
	numbers, err := t.numbers(rows)
	if err != nil {
		return nil, err
	}
	out := make([]T, len(rows)*t.columns)
	if err := t.back.get(ctx, numbers, rawCells(out)); err != nil {
		return nil, fmt.Errorf("kvstore: table %q: %w", t.name, err)
	}
	return out, nil
}

// Inc adds to a row.
func (t *TableOf[T]) Inc(row int, delta []T) error { return t.BatchInc([]int{row}, delta) }

// IncCell adds to one element.
func (t *TableOf[T]) IncCell(row, column int, delta T) error {
	if column < 0 || column >= t.columns {
		return fmt.Errorf("kvstore: table %q: column %d, want 0 to %d", t.name, column, t.columns-1)
	}
	deltas := make([]T, t.columns)
	deltas[column] = delta
	return t.Inc(row, deltas)
}

// BatchInc adds to rows; deltas has one row after the other.
func (t *TableOf[T]) BatchInc(rows []int, deltas []T) error {
	numbers, err := t.numbers(rows)
	if err != nil {
		return err
	}
	if len(deltas) != len(rows)*t.columns {
		return fmt.Errorf("kvstore: table %q: %d numbers for %d rows of %d", t.name, len(deltas),
			len(rows), t.columns)
	}
	if err := t.back.inc(numbers, rawCells(deltas)); err != nil {
		return fmt.Errorf("kvstore: table %q: %w", t.name, err)
	}
	return nil
}

func (t *TableOf[T]) numbers(rows []int) ([]uint32, error) {
	list := make([]uint32, len(rows))
	for i, r := range rows {
		if r < 0 || r >= t.rows {
			return nil, fmt.Errorf("kvstore: table %q: row %d, want 0 to %d", t.name, r, t.rows-1)
		}
		list[i] = uint32(r)
	}
	return list, nil
}

// rawCells views numbers as bytes.
func rawCells[T Cell](v []T) []byte {
	var one T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))),
		int(unsafe.Sizeof(one))*len(v))
}

// localTable keeps the rows in this process.
type localTable struct {
	mu   sync.Mutex
	rows *rows.Store // rows that somebody has added to
}

func (t *localTable) get(_ context.Context, ids []uint32, out []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	size := t.rows.Spec.Row
	for i, id := range ids {
		t.rows.Read(id, out[i*size:(i+1)*size])
	}
	return nil
}

func (t *localTable) inc(ids []uint32, deltas []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	size := t.rows.Spec.Row
	for i, id := range ids {
		ps.Plain{}.Add(t.rows.Row(0, t.rows.Touch(id)), deltas[i*size:(i+1)*size], t.rows.DType, 0)
	}
	return nil
}

// Table implements TableKeeper.
func (s *local) Table(ctx context.Context, name string, shape dtype.Shape) (*Table, error) {
	return makeTable[float32](ctx, s, name, shape)
}

// openTable implements tableOpener.
func (s *local) openTable(_ context.Context, _ string, spec RowsSpec) (tableBackend, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := spec.of(uint32(len(s.order) + s.tables))
	s.tables++
	return &localTable{rows: rows.New(of)}, nil
}

// Clock implements TableKeeper: there is nobody to wait for.
func (s *local) Clock(ctx context.Context) error { return ctx.Err() }

// distTable keeps the rows on the servers.
type distTable struct {
	store *dist
	table *worker.Table // used under the driver's lock
}

// cacheRows is how many rows of a table a worker remembers.
const cacheRows = 1 << 14

// Table implements TableKeeper.
func (s *dist) Table(ctx context.Context, name string, shape dtype.Shape) (*Table, error) {
	return makeTable[float32](ctx, &s.distRows, name, shape)
}

// openTable implements tableOpener.
func (d *distRows) openTable(ctx context.Context, name string, of RowsSpec) (tableBackend, error) {
	s := d.store
	k := &distKey{store: s, name: "table " + name, shape: of.Shape, dtype: of.DType}
	s.mu.Lock()
	if s.closed || s.keys[k.name] != nil {
		s.mu.Unlock()
		return nil, fmt.Errorf("kvstore: table %q exists already, or the store is closed", name)
	}
	k.id = uint32(len(s.order))
	s.keys[k.name] = k
	s.order = append(s.order, k.name)
	s.mu.Unlock()
	back := &distTable{store: s}
	spec := worker.TableSpec{DType: of.DType, Rows: uint32(of.Shape[0]), RowSize: of.DType.Size() *
		of.Shape[1], Init: of.Init, CacheRows: cacheRows, InStep: s.sync}
	_, err := s.job.wait(ctx, s.cfg.timeout, func(now, deadline ps.Time) (id uint64, err error) {
		back.table, id, err = s.job.worker.Table(now, k.id, spec, deadline)
		return id, err
	})
	if err != nil {
		if errors.Is(err, ps.ErrUsage) {
			k.forget()
		}
		return nil, k.fail("Table", err)
	}
	return back, nil
}

// get reads into memory of its own, which the call may use for longer than ctx lives.
func (t *distTable) get(ctx context.Context, rows []uint32, out []byte) error {
	s := t.store
	room := make([]byte, len(out))
	a := &awaited{ended: make(chan ps.Done, 1)}
	a.begin = func(now, deadline ps.Time) (uint64, error) {
		id, err := t.table.Get(now, rows, room, deadline)
		if err == nil && id == 0 {
			a.ended <- ps.Done{} // all rows were at hand
		}
		return id, err
	}
	if err := s.job.call(s.cfg.timeout, a); err != nil {
		return err
	}
	select {
	case d := <-a.ended:
		copy(out, room)
		return d.Err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (t *distTable) inc(rows []uint32, deltas []byte) error {
	var err error
	t.store.job.driver.do(func() { err = t.table.BatchInc(rows, deltas) },
		func() { err = ps.ErrClosed })
	return err
}

// Clock implements TableKeeper.
func (s *dist) Clock(ctx context.Context) error {
	_, err := s.job.wait(ctx, s.cfg.timeout, s.job.worker.Clock)
	return err
}

// String describes the table by its name and size.
func (t *TableOf[T]) String() string {
	if t == nil {
		return "<Table: nil>"
	}
	return fmt.Sprintf("<Table %s: %d rows of %d numbers>", t.name, t.rows, t.columns)
}
