package gluon

import (
	"errors"
	"fmt"
	"hash/fnv"
	"slices"

	"gomx/device"
	"gomx/initializer"
	"gomx/kvstore/rows"
	"gomx/kvstore/touched"
	nd "gomx/ndarray"
	"gomx/op"
	"gomx/trainer"
)

// rowTable says which rows of a row_sparse parameter its array does not store.
type rowTable struct {
	begin rows.Init // values of the rows without memory
	// The array stores the rows of the last batch alone. The store that had the other rows has been
	// closed, so that their values are lost.
	partial bool
}

// wholeTable is the size in bytes of the row_sparse parameters that a process makes as a whole
// where it has to: for initializers that do not make each row alone, for files, and at the end of
// a job.
const wholeTable = 256 << 20

// table is the part of a parameter's work that is about a row_sparse array, or about an array
// whose present rows are in a store.
type table struct{ p *Param }

// errPartial is the error of reading rows that only a closed store had.
var errPartial = errors.New("it has the rows of the last batch only, the store with the " +
	"others has been closed")

// none returns an array of the parameter's name and type that stores no row.
func (t table) none(shape nd.Shape) *nd.Array {
	return nd.ZerosOf(t.p.Storage, shape, nd.As(t.p.DType), nd.Name(t.p.name))
}

// given notes that the array has all rows that are not zeros.
func (r *paramRows) given() { r.table.Store(nil) }

// fill makes the array of a row_sparse parameter whose rows can be made one by one. It reports
// whether it has done so. The caller holds mu.
func (t table) fill(shape nd.Shape) (done bool, err error) {
	if t.p.Storage == nd.Dense {
		return false, nil
	}
	if err := t.check(t.p.start.devices); err != nil {
		return false, err
	}
	t.p.rows.given()
	init := t.p.Init
	if init == nil {
		init = t.p.start.init
	}
	name := fnv.New64a()
	name.Write([]byte(t.p.name))
	begin, ok := trainer.RowInit(init, initializer.Desc{Seed: t.p.start.seed ^ name.Sum64()})
	if ok {
		t.p.rows.table.Store(&rowTable{begin: begin})
		t.p.place(shape, []*nd.Array{t.none(shape)})
		return true, nil
	}
	if n := shape.Size() * t.p.DType.Size(); n > wholeTable {
		return false, fmt.Errorf("%T makes no row alone, and all rows take %d bytes, want at most "+
			"%d, or one of Zero, One, Constant, Uniform and Normal", init, n, wholeTable)
	}
	return false, nil
}

// check reports a declaration or devices that do not suit a row_sparse parameter.
func (t table) check(devices []device.Device) error {
	_, fixed := t.p.Fixed.Get()
	switch {
	case t.p.Storage == nd.Dense:
		return nil
	case t.p.Storage != nd.RowSparse:
		return fmt.Errorf("a %v parameter, want a dense or a row_sparse one", t.p.Storage)
	case t.p.State || fixed:
		return errors.New("a row_sparse parameter whose Spec has State or Fixed, want a dense one")
	case len(devices) != 1 || devices[0].Kind != device.KindCPU:
		return fmt.Errorf("a row_sparse parameter on %v, want one processor", devices)
	}
	return nil
}

// here reports a row_sparse parameter whose rows are in a store. The caller may hold mu.
func (t table) here() error {
	s := t.p.rows.source.Load()
	if t.p.Storage == nd.Dense || s == nil {
		return nil
	}
	return fmt.Errorf("the parameter is row_sparse, and its rows are in the store %s until "+
		"Close of the trainer", s.t.config.kind.Name)
}

// matrix returns the rows of a row_sparse parameter that are in this process.
func (t table) matrix() (m touched.Matrix, err error) {
	m.Array = t.p.values()[0]
	if r := t.p.rows.table.Load(); r != nil {
		if r.partial {
			return m, errPartial
		}
		m.Begin.Init = r.begin
	}
	return m, nil
}

// touch gives rows of a row_sparse parameter memory.
func (t table) touch(ids []int64) error {
	m, err := t.matrix()
	if err != nil || len(ids) == 0 {
		return err
	}
	list := nd.FromSlice(ids, len(ids))
	defer list.Close()
	m.Touch(list)
	return nil
}

// RowSparseData returns a new row_sparse array with the rows that ids numbers, in ascending order,
// each once: from the store that keeps them, or else from this process. It gives no row memory in
// the parameter.
//
// MXNet: Parameter.row_sparse_data.
func (p *Param) RowSparseData(ids *nd.Array) (*nd.Array, error) {
	a, err := table{p}.read(ids)
	if err != nil {
		return nil, fmt.Errorf("gluon: parameter %s: %w", p.Name(), err)
	}
	return a, nil
}

func (t table) read(ids *nd.Array) (*nd.Array, error) {
	list := t.p.values()
	switch {
	case t.p.Storage == nd.Dense:
		return nil, errors.New("it is dense, want a row_sparse parameter, or Data")
	case len(list) == 0:
		return nil, errors.New("it has no values: call Init or Load first")
	}
	numbers, err := rowNumbers(ids, list[0].Shape()[0])
	if err != nil {
		return nil, err
	}
	to := nd.ZerosOf(nd.RowSparse, list[0].Shape(), nd.As(t.p.DType), nd.Using(list[0].Engine()))
	if len(numbers) == 0 {
		return to, nil
	}
	if s := t.p.rows.source.Load(); s != nil {
		return to, s.t.core.Store().ReadRows(s.name, numbers, to)
	}
	m, err := t.matrix()
	if err != nil {
		return nil, err
	}
	m.Read("gluon: RowSparseData", to, nd.FromSlice(slices.Clone(numbers)))
	return to, nil
}

// leave gives a row_sparse parameter the rows of a store that is about to be closed.
func (t table) leave(r *rowSource) error {
	s, a := r.t.core.Store(), t.p.values()[0]
	held, err := s.HeldRows(r.name, a, wholeTable)
	if err != nil {
		return err
	}
	if begin, ok := s.Begins(r.name); !held {
		t.p.rows.table.Store(&rowTable{partial: true})
	} else if ok {
		t.p.rows.table.Store(&rowTable{begin: begin})
	}
	return nil
}

// written returns the values for a file, nil before there are some. With held a row_sparse
// parameter has the rows with memory, otherwise all rows that are not zeros.
func (t table) written(held bool) (*nd.Array, error) {
	p, list := t.p, t.p.values()
	if p.Storage == nd.Dense || len(list) == 0 {
		return p.merged(), nil
	}
	m, err := t.matrix()
	if err != nil {
		return nil, err
	}
	shape := list[0].Shape()
	if s := p.rows.source.Load(); s != nil {
		m.Array = t.none(shape)
		store := s.t.core.Store()
		if _, err := store.HeldRows(s.name, m.Array, 0); err != nil {
			return nil, err
		}
		m.Begin.Init, _ = store.Begins(s.name)
	}
	if held || m.Begin.Init.Scale == 0 {
		return m.Array, nil
	}
	if bytes := shape.Size() * p.DType.Size(); bytes > wholeTable {
		return nil, fmt.Errorf("all its rows take %d bytes, want at most %d: gluon.HeldRows saves "+
			"the rows with memory alone", bytes, wholeTable)
	}
	all := t.none(shape)
	m.Read("gluon: Save", all, nil)
	return all, nil
}

// put gives rows of a row_sparse parameter the values of an array that stores them. The other rows
// stay as they are.
func (t table) put(values *nd.Array) (err error) {
	defer op.Recover(&err)
	list := t.p.values()
	if t.p.Storage == nd.Dense || values.Storage() != nd.RowSparse || len(list) == 0 {
		return t.p.Set(values)
	}
	var m touched.Matrix
	switch err = t.here(); {
	case err != nil:
	case !values.Shape().Equal(list[0].Shape()):
		err = fmt.Errorf("values of shape %v, want %v", values.Shape(), list[0].Shape())
	default:
		m, err = t.matrix()
	}
	if err != nil {
		return fmt.Errorf("gluon: parameter %s: %w", t.p.Name(), err)
	}
	m.TouchLike(values.Detach().AsType(t.p.DType), true)
	return nil
}

// kept returns the arrays of a parameter for the file of a run. The servers of a job keep rows
// themselves.
func (t table) kept() ([]*nd.Array, error) {
	if t.p.Storage == nd.Dense {
		return t.p.kept(), nil
	}
	if t.p.rows.source.Load() != nil || len(t.p.values()) == 0 {
		return nil, nil
	}
	m, err := t.matrix()
	if err != nil {
		return nil, fmt.Errorf("parameter %s: %w", t.p.Name(), err)
	}
	return []*nd.Array{m.Array}, nil
}

// restore gives a row_sparse parameter the rows of the file of a run. The others begin as before.
func (t table) restore(rows *nd.Array) error {
	r := t.p.rows.table.Load()
	if err := t.p.Set(rows); err != nil {
		return err
	}
	t.p.rows.table.Store(r)
	return nil
}

// tables describes the rows without memory of the row_sparse parameters.
func (r *Run) tables() string {
	text := ""
	for name, p := range r.params.distinct() {
		if p.Storage == nd.Dense {
			continue
		}
		text += name + " begins with "
		if b := p.rows.table.Load(); b != nil {
			text += fmt.Sprintf("values of kind %d, scale %v, seed %d; ", b.begin.Kind,
				b.begin.Scale, b.begin.Seed)
		} else {
			text += "zeros; "
		}
	}
	return text
}
