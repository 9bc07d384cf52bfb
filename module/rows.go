package module

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"gomx/initializer"
	dataio "gomx/io"
	"gomx/kvstore"
	"gomx/kvstore/compress"
	"gomx/kvstore/rows"
	nd "gomx/ndarray"
	"gomx/op"
	sym "gomx/symbol"
	"gomx/trainer"
)

// RowIDs gives a function that returns, by the names of parameters, the numbers of the rows that a
// batch reads. The module pulls them before the batch from a store that keeps rows. It finds the
// rows of other parameters itself: the numbers that Embedding and take look up, and the columns of
// csr matrices that parameters are multiplied by.
//
// MXNet: sparse_row_id_fn of Module.prepare.
func RowIDs(f func(b *dataio.Batch) (map[string]*nd.Array, error)) Option {
	return func(c *config) { c.rowIDs = f }
}

// pulls brings the rows that batches read from a store that keeps rows of parameters.
type pulls struct{ m *Module }

// tables is a network's part in the rows of parameters.
type tables struct {
	readers map[*sym.Symbol]map[string]*trainer.RowReader // by network, then parameter
	made    map[string]rowStart                           // row_sparse parameters without values
	first   map[string]*nd.Array                          // of made: rows that exist; nil: none
	own     bool                                          // the trainer's store is the module's own
	// row_sparse parameters with the rows of some batches only, after the store with the others has
	// been closed
	partial []string
	// batch whose rows have been pulled ahead, and the rows that it reads; nil: none
	ahead *dataio.Batch
	ids   map[string][]int64
}

// reader returns the reader of a parameter in a network, nil if the network does not have the
// parameter. The error says why the rows of a batch are not known.
func (p pulls) reader(s *sym.Symbol, name string) (*trainer.RowReader, error) {
	net := &p.m.net
	if r, ok := net.tables.readers[s][name]; ok {
		return r, nil
	}
	args := p.m.replicas.current.first().Args
	stored := func(v *op.Node) op.Storage {
		if a := args[v.Name]; a != nil {
			return a.Storage()
		}
		return nd.Dense
	}
	data := func(v *op.Node) bool { return slices.Contains(net.dataNames, v.Name) }
	var r *trainer.RowReader
	for _, v := range s.Nodes() {
		if !v.IsVar() || v.Name != name {
			continue
		}
		var err error
		if r, err = trainer.NewRowReader(s.Entries(), v, args[name].Shape()[0], data,
			stored); err != nil {
			return nil, fmt.Errorf("%w: module.RowIDs says which ones a batch reads", err)
		}
	}
	if net.tables.readers == nil {
		net.tables.readers = map[*sym.Symbol]map[string]*trainer.RowReader{}
	}
	if net.tables.readers[s] == nil {
		net.tables.readers[s] = map[string]*trainer.RowReader{}
	}
	net.tables.readers[s][name] = r
	return r, nil
}

// use describes a parameter for a store.
func (p pulls) use(name string) (u trainer.RowUse) {
	if start, ok := p.m.net.tables.made[name]; ok {
		u.Made, u.First = &start.Init, p.m.net.tables.first[name]
		u.Make = func() error { return p.m.net.makeRowsOf(name) }
	}
	if p.m.config.rowIDs == nil {
		_, u.Whole = p.reader(p.m.net.symbol, name)
	}
	return u
}

// of finds the rows of the parameters that a batch reads, in ascending order.
func (p pulls) of(b *dataio.Batch, names []string) (map[string][]int64, error) {
	out, err := p.given(b, names)
	if err != nil {
		return nil, err
	}
	s, fed := p.m.net.symbol, p.m.net.fed
	if p.m.buckets != nil {
		bk, err := p.m.buckets.of(p.m, b.Bucket)
		if err != nil {
			return nil, err
		}
		s, fed = bk.symbol, bk.fed
	}
	value := func(v *op.Node) *nd.Array {
		i := slices.IndexFunc(fed, func(f feed) bool { return f.name == v.Name })
		if i < 0 {
			return nil
		}
		return fed[i].of(b)
	}
	cache := trainer.RowCache{}
	for _, name := range names {
		if out[name] != nil {
			continue
		}
		r, err := p.reader(s, name)
		if err == nil && r != nil {
			out[name], err = r.Read(value, cache)
		}
		if err != nil {
			return nil, prefixed(err)
		}
	}
	return out, nil
}

// given returns the rows that the function of RowIDs gives.
func (p pulls) given(b *dataio.Batch, names []string) (map[string][]int64, error) {
	out := map[string][]int64{}
	if p.m.config.rowIDs == nil {
		return out, nil
	}
	given, err := p.m.config.rowIDs(b)
	if err != nil {
		return nil, fmt.Errorf("module: RowIDs: %w", err)
	}
	for name, a := range given {
		if !slices.Contains(names, name) {
			continue
		}
		rows := p.m.net.first().args[name].Shape()[0]
		if out[name], err = trainer.RowNumbers(a, rows); err != nil {
			return nil, fmt.Errorf("module: RowIDs: %s: %w", name, err)
		}
	}
	return out, nil
}

// pull pulls the rows that a batch reads from a store that keeps rows.
func (p pulls) pull(b *dataio.Batch) error {
	s := p.m.trainer.Store()
	if s == nil {
		return nil
	}
	names := s.RowKeys()
	if len(names) == 0 {
		return nil
	}
	t := &p.m.net.tables
	ids := t.ids
	if t.ahead != b {
		var err error
		if ids, err = p.of(b, names); err != nil {
			return err
		}
	}
	t.ahead, t.ids = nil, nil
	for _, name := range names {
		if ids[name] == nil {
			continue // the network of this bucket does not have the parameter
		}
		if err := s.PullRows(name, ids[name]); err != nil {
			return prefixed(err)
		}
	}
	return nil
}

// ahead pulls rows of the batch after the present one.
func (p pulls) ahead(b *dataio.Batch) error {
	s := p.m.trainer.Store()
	names := s.RowKeys()
	ids, err := p.of(b, names)
	if err != nil {
		return err
	}
	p.m.net.tables.ahead, p.m.net.tables.ids = b, ids
	for _, name := range names {
		if ids[name] == nil {
			continue
		}
		if err := s.PullAhead(name, ids[name]); err != nil {
			return prefixed(err)
		}
	}
	return nil
}

// canAhead reports whether rows can be pulled before the present batch has been pushed.
func (p pulls) canAhead() bool {
	s := p.m.trainer.Store()
	return s != nil && !s.KV().Sums() && len(s.RowKeys()) > 0
}

// keptTable is the size in bytes of the row_sparse parameters that a process has whole when the
// store with their rows is closed.
const keptTable = 256 << 20

// whole pulls all rows of the parameters that a store keeps by rows, if they are not larger than
// limit. It returns the names of the others.
func (p pulls) whole(limit int) (left []string, err error) {
	s := p.m.trainer.Store()
	if s == nil {
		return nil, nil
	}
	left, err = s.PullWhole(limit)
	return left, prefixed(err)
}

// whole reports parameters of which the module does not have all rows.
func (n *network) whole(call string) error {
	if len(n.tables.partial) == 0 {
		return nil
	}
	return fmt.Errorf("module: %s: the module has rows of %s for the last batch only, the store "+
		"with the others has been closed", call, quoted(n.tables.partial))
}

// rowsElsewhere reports whether the store of Fit keeps the rows of row_sparse parameters, so that no
// process needs all of them.
func (f *fitting) rowsElsewhere() bool {
	c := &f.config
	if f.m.pipe != nil {
		return false
	}
	if c.kv == nil {
		return c.kind.Job
	}
	_, keeps := kvstore.As[kvstore.RowKeeper](c.kv)
	return keeps
}

// rowStart says how the rows of a row_sparse parameter begin.
type rowStart struct {
	rows.Init
	number int // of the parameter's key in a store
}

// beginsByRows notes that a parameter is row_sparse and has rows of which each can be made alone.
func (n *network) beginsByRows(name string, d initializer.Desc, init initializer.Initializer,
	fixed []string) bool {
	a := n.first().args[name]
	if a == nil || a.Storage() != nd.RowSparse || slices.Contains(fixed, name) {
		return false
	}
	in, ok := trainer.RowInit(init, d)
	if !ok {
		return false
	}
	start := rowStart{Init: in}
	for _, p := range n.params {
		if p == name {
			break
		}
		if !slices.Contains(fixed, p) {
			start.number++
		}
	}
	if n.tables.made == nil {
		n.tables.made = map[string]rowStart{}
	}
	n.tables.made[name] = start
	return true
}

// makeRows makes the rows of the parameters that beginsByRows has noted, unless the servers of a
// store do so.
func (n *network) makeRows(elsewhere bool) error {
	if elsewhere {
		return nil
	}
	for name := range n.tables.made {
		if err := n.makeRowsOf(name); err != nil {
			return err
		}
	}
	n.tables.made, n.tables.first = nil, nil
	return nil
}

// makeRowsOf makes the rows of a parameter that beginsByRows has noted.
func (n *network) makeRowsOf(name string) error {
	start := n.tables.made[name]
	if n.tables.first[name] != nil {
		return fmt.Errorf("module: %s: the rows that gradients have touched are in no store that "+
			"keeps rows", name)
	}
	if err := makeRows(n.first().args[name], start.Init, start.number); err != nil {
		return fmt.Errorf("module: values of %s: %w", name, err)
	}
	n.spread(name)
	return nil
}

// makeRows gives a row_sparse parameter the rows that the servers of a store would make. Number is
// the number of its key.
func makeRows(a *nd.Array, in rows.Init, number int) error {
	spec := kvstore.RowsSpec{Shape: a.Shape(), DType: a.DType(), Init: in}
	whole, err := spec.Make(uint32(number), nd.Using(a.Engine()))
	if err != nil {
		return err
	}
	defer whole.Close()
	whole.CopyInto(a)
	return nil
}

// A module without a store holds row_sparse parameters by touched rows too: Fit opens a store of one
// process for them, which is the module's own. It stays open after Fit, because it has the rows.

// ownTable is the size in bytes from which on Fit keeps a row_sparse parameter, whose rows begin
// with other values than zeros, by touched rows.
const ownTable = 64 << 20

// savedTable is the size in bytes up to which all rows of a parameter whose rows begin with other
// values than zeros are made at once, for Params and Save.
const savedTable = 1 << 30

// mayOwnRows reports whether Fit can keep rows in a store of the module's own.
func mayOwnRows(f *fitting) bool {
	c, m := &f.config, f.m
	return c.kv == nil && !c.kind.Job && m.pipe == nil && len(m.config.places()) == 1 &&
		c.resume.prefix == "" && c.compression == (compress.Method{})
}

// mayKeepRows reports whether a store of the module's own can keep the touched rows of a job.
func mayKeepRows(f *fitting) bool {
	return f.m.pipe == nil && len(f.m.config.places()) == 1
}

// ownRows decides whether Fit keeps rows in a store of the module's own: where a large parameter
// would otherwise get all its rows. Else it makes the rows.
func ownRows(f *fitting) error {
	n := &f.m.net
	if f.rowsElsewhere() {
		return nil
	}
	if mayOwnRows(f) {
		for name, start := range n.tables.made {
			if start.Scale != 0 && n.first().args[name].Bytes() >= ownTable {
				f.own = true
				return nil
			}
		}
	}
	return n.makeRows(false)
}

// openOwnStore gives the rows of row_sparse parameters to a store of the module's own.
func (p pulls) openOwnStore(ctx context.Context) error {
	m := p.m
	kv, err := kvstore.Open(ctx, "local")
	if err != nil {
		return prefixed(err)
	}
	if err := m.UseStore(ctx, kv); err != nil {
		return errors.Join(err, kv.Close())
	}
	m.net.tables.own = true
	return nil
}

// takeRows takes the touched rows of parameters from the present store, which is closed then: the
// next store gets them, and makes the others as this one did. It returns the parameters whose rows
// did not come, because they have more bytes than limit, 0 for none, and leaves the store open if
// there are any.
func (p pulls) takeRows(names []string, limit int) (left []string, err error) {
	m := p.m
	s, t := m.trainer.Store(), &m.net.tables
	made, first := map[string]rowStart{}, map[string]*nd.Array{}
	for _, name := range names {
		a := m.net.first().args[name]
		in, ok := s.Begins(name)
		if ok {
			held := nd.ZerosOf(nd.RowSparse, a.Shape(), nd.As(a.DType()), nd.Using(a.Engine()))
			if ok, err = s.HeldRows(name, held, limit); err != nil {
				return nil, prefixed(err)
			}
			made[name], first[name] = rowStart{Init: in}, held
		}
		if !ok {
			left = append(left, name)
		}
	}
	if len(left) > 0 {
		return left, nil
	}
	if err := m.Wait(context.Background()); err != nil {
		return nil, err
	}
	m.trainer.LeaveStore()
	t.made, t.first, t.own = made, first, false
	return nil, prefixed(s.Close())
}

// leaveOwnStore takes the rows back from the module's own store, for another store.
func (p pulls) leaveOwnStore() error {
	if !p.m.net.tables.own {
		return nil
	}
	_, err := p.takeRows(p.m.trainer.Store().RowKeys(), 0)
	return err
}

// HeldRows returns the rows of a row_sparse parameter that have memory, as a row_sparse array: rows
// that gradients have touched, where a store keeps rows. Other rows have the values with which they
// began; Rows returns these too.
func HeldRows(m *Module, name string) (*nd.Array, error) {
	a, s, err := pulls{m}.stored("HeldRows", name)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return a.Copy(), nil
	}
	out := nd.ZerosOf(nd.RowSparse, a.Shape(), nd.As(a.DType()), nd.Using(a.Engine()))
	_, err = s.HeldRows(name, out, 0)
	return out, prefixed(err)
}

// Rows returns rows of a row_sparse parameter, whether gradients have touched them or not, as a
// row_sparse array. The ids are a vector of row numbers in any order. Where a store keeps rows it
// makes those that do not exist yet, without keeping them.
func Rows(m *Module, name string, ids *nd.Array) (out *nd.Array, err error) {
	defer op.Recover(&err)
	a, s, err := pulls{m}.stored("Rows", name)
	if err != nil {
		return nil, err
	}
	values, err := ids.Float64s()
	if err != nil {
		return nil, fmt.Errorf("module: Rows: %s: %w", name, err)
	}
	for _, v := range values {
		if v < 0 || v >= float64(a.Shape()[0]) {
			return nil, fmt.Errorf("module: Rows: %s: row %v, want 0 to %d", name, v,
				a.Shape()[0]-1)
		}
	}
	numbers, err := trainer.RowNumbers(ids, a.Shape()[0])
	if err != nil {
		return nil, fmt.Errorf("module: Rows: %s: %w", name, err)
	}
	if s == nil {
		return nd.Retain(a, nd.FromSlice(numbers, len(numbers))), nil
	}
	out = nd.ZerosOf(nd.RowSparse, a.Shape(), nd.As(a.DType()), nd.Using(a.Engine()))
	return out, prefixed(s.ReadRows(name, numbers, out))
}

// stored returns a row_sparse parameter, and the store that keeps its rows, nil where the array has
// them.
func (p pulls) stored(call, name string) (*nd.Array, *trainer.Store, error) {
	m := p.m
	if err := m.usable(call); err != nil {
		return nil, nil, err
	}
	if !m.net.inited {
		return nil, nil, fmt.Errorf("module: %s: the parameters have no values yet", call)
	}
	a := m.net.first().args[name]
	switch {
	case a == nil || !slices.Contains(m.net.params, name):
		return nil, nil, fmt.Errorf("module: %s: found no parameter %q", call, name)
	case a.Storage() != nd.RowSparse:
		return nil, nil, fmt.Errorf("module: %s: parameter %q is dense, want row_sparse: Params "+
			"has all of it", call, name)
	case slices.Contains(m.net.tables.partial, name):
		return nil, nil, m.net.whole(call)
	}
	s := m.trainer.Store()
	if s == nil || !slices.Contains(s.RowKeys(), name) {
		return a, nil, nil
	}
	return a, s, nil
}

// large lists the parameters of which a store keeps rows, and which are too large to make all of
// them.
func (p pulls) large() (names []string) {
	s := p.m.trainer.Store()
	if s == nil {
		return nil
	}
	for _, name := range s.RowKeys() {
		in, ok := s.Begins(name)
		if ok && in.Scale != 0 && p.m.net.first().args[name].Bytes() > savedTable {
			names = append(names, name)
		}
	}
	return names
}
