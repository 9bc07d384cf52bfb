package gluon

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	nd "gomx/ndarray"
	"gomx/op"
	"gomx/trainer"
)

// paramRows is the part of a parameter that is about its rows. In a job whose servers keep the
// parameter by rows this process has the rows that its networks have read last.
type paramRows struct {
	reads  atomic.Uint32 // ways in which networks have read the parameter
	source atomic.Pointer[rowSource]
	table  atomic.Pointer[rowTable] // of a row_sparse parameter; nil: rows without memory are zeros
}

// The ways of reading a parameter.
const (
	readRows uint32 = 1 << iota
	readWhole
)

// byRows reports whether networks have read rows of the parameter, and never all of it.
func (r *paramRows) byRows() bool { return r.reads.Load() == readRows }

// rowSource is a trainer whose store keeps a parameter by rows.
type rowSource struct {
	t    *Trainer
	name string
}

// rows pulls rows. In training the rows that were pulled since the last step stay, as the backward
// pass may read them.
func (s *rowSource) rows(ids []int64, training bool) error {
	if training {
		return s.t.core.Store().AddRows(s.name, ids)
	}
	return s.t.core.Store().PullRows(s.name, ids)
}

// whole pulls all rows of a dense parameter.
func (s *rowSource) whole() error {
	_, err := s.t.core.Store().PullWhole(0)
	return err
}

// settle gives a dense parameter its present values in all rows.
func (p *Param) settle() {
	if s := p.rows.source.Load(); s != nil {
		if err := s.whole(); err != nil {
			panic(p.misuse("pulling its rows: %v", err))
		}
	}
}

// Rows is At for a layer that reads only the rows that ids numbers; of a csr matrix the numbers are
// its columns. Numbers out of range become the nearest row, as in a lookup. Rows of a row_sparse
// parameter have memory afterwards. In a job whose servers keep the parameter by rows it starts to
// pull them.
func (p *Param) Rows(x, ids *nd.Array) *nd.Array {
	p.rows.reads.Or(readRows)
	a := p.at(x, nil)
	if x.Traced() || !(table{p}).apart() {
		return a
	}
	list, err := rowNumbers(ids, a.Shape()[0])
	if err == nil {
		err = table{p}.hold(list, x.Tape() != nil)
	}
	if err != nil {
		panic(p.misuse("its rows: %v", err))
	}
	return a
}

// apart reports whether the array of the parameter need not have all present rows.
func (t table) apart() bool { return t.p.Storage != nd.Dense || t.p.rows.source.Load() != nil }

// hold lets the array of the parameter have rows with their present values, asynchronously. The
// numbers ascend. In training other rows that it has may be needed too.
func (t table) hold(ids []int64, training bool) error {
	if s := t.p.rows.source.Load(); s != nil {
		return s.rows(ids, training)
	}
	return t.touch(ids)
}

// rowNumbers returns the numbers of rows, ascending, each once.
func rowNumbers(ids *nd.Array, rows int) ([]int64, error) {
	if ids.Storage() == nd.CSR {
		return ids.Columns()
	}
	return trainer.RowNumbers(ids.Detach(), rows)
}

// Prefetch starts to pull rows that the next batch reads, while the present batch is computed and
// before its Step. In stores with rounds, and where the servers do not keep the parameter by rows,
// it does nothing.
func (p *Param) Prefetch(ids *nd.Array) error {
	s, a := p.rows.source.Load(), p.values()
	if s == nil {
		return nil
	}
	list, err := rowNumbers(ids, a[0].Shape()[0])
	if err == nil {
		err = s.t.core.Store().PullAhead(s.name, list)
	}
	if err != nil {
		return fmt.Errorf("gluon: parameter %s: pulling its rows: %w", p.Name(), err)
	}
	return nil
}

// keepRows connects the parameters that the store of the trainer keeps by rows with it.
func (t *Trainer) keepRows() {
	for _, name := range t.core.Store().RowKeys() {
		for i, p := range t.params {
			if t.names[i] == name {
				p.rows.source.Store(&rowSource{t, name})
			}
		}
	}
}

// leaveRows gives the parameters all rows before the store is closed. Row_sparse ones get the rows
// that exist, if the store is in this process, or else all rows, if they are not too large.
func (t *Trainer) leaveRows() error {
	s := t.core.Store()
	if len(s.RowKeys()) == 0 {
		return nil
	}
	_, err := s.PullWhole(0)
	for _, p := range t.params {
		r := p.rows.source.Load()
		if r == nil || r.t != t {
			continue
		}
		if p.Storage != nd.Dense {
			err = errors.Join(err, table{p}.leave(r))
		}
		p.rows.source.Store(nil)
	}
	return err
}

// rowUse describes a parameter for a store.
func (t *Trainer) rowUse(name string) (u trainer.RowUse) {
	p := t.params[slices.Index(t.names, name)]
	if p.Storage == nd.Dense {
		if !p.rows.byRows() {
			u.Whole = errors.New("a layer reads all of it")
		}
		return u
	}
	table := p.rows.table.Load()
	switch {
	case table == nil:
	case table.partial:
		u.Whole = errPartial
	default:
		begin := table.begin
		u.Made, u.Alone = &begin, true
		u.Make = func() error { return fmt.Errorf("the store keeps no rows of %s", name) }
	}
	return u
}

// checkRows reports row_sparse parameters that cannot be trained as the trainer is configured.
func (t *Trainer) checkRows() error {
	c := &t.config
	for i, p := range t.params {
		if p.Storage == nd.Dense || t.seen[i] == nil || p.request() == nd.GradNull {
			continue
		}
		if c.kind.Job {
			if !c.onStore.Or(false) {
				return fmt.Errorf("parameter %s is row_sparse: a job trains it by the optimizer "+
					"on its servers, want UpdateOnStore(true), without ClipGlobalNorm and "+
					"LossScale", t.names[i])
			}
			continue
		}
		err := trainer.StepsByRows((*t.seen[i])[0], t.core.Updater().Optimizer())
		if err != nil {
			return fmt.Errorf("parameter %s is row_sparse: %w", t.names[i], err)
		}
	}
	return nil
}

// pullRows starts to pull the rows that a call of the compiled network reads.
func (c *compiled) pullRows(in []*nd.Array) error {
	var cache trainer.RowCache
	for i := range c.held {
		h := &c.held[i]
		if h.param == nil || !(table{h.param}).apart() {
			continue
		}
		r := c.reader(i)
		if r == nil {
			if err := (table{h.param}).holdAll(); err != nil {
				return err
			}
			continue
		}
		if cache == nil {
			cache = trainer.RowCache{}
		}
		ids, err := r.Read(func(v *op.Node) *nd.Array {
			if k := slices.Index(c.graph.Inputs, v); k >= 0 {
				return in[k]
			}
			return nil
		}, cache)
		if err == nil {
			err = table{h.param}.hold(ids, c.record)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// holdAll lets the array of the parameter have all rows.
func (t table) holdAll() error {
	p := t.p
	if p.Storage != nd.Dense {
		return fmt.Errorf("gluon: parameter %s is %v, and the rows that the compiled network "+
			"reads are not known before it runs: call Unhybridize", p.Name(), p.Storage)
	}
	return p.rows.source.Load().whole()
}

// reader returns the reader of captured array i, nil if all of its rows may be read.
func (c *compiled) reader(i int) *trainer.RowReader {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.readers == nil {
		c.readers = map[int]*trainer.RowReader{}
	}
	r, ok := c.readers[i]
	if ok {
		return r
	}
	data := func(v *op.Node) bool { return slices.Contains(c.graph.Inputs, v) }
	k := c.graph.Captured[i]
	r, err := trainer.NewRowReader(c.graph.Outputs, k.Node, k.Array.Shape()[0], data, c.storage)
	if err != nil {
		r = nil
	}
	c.readers[i] = r
	return r
}
