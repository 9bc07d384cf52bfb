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

// rows pulls rows.
func (s *rowSource) rows(ids []int64) error { return s.t.core.Store().PullRows(s.name, ids) }

// whole pulls all rows.
func (s *rowSource) whole() error {
	_, err := s.t.core.Store().PullWhole(0)
	return err
}

// settle gives the parameter its present values in all rows.
func (p *Param) settle() {
	if s := p.rows.source.Load(); s != nil {
		if err := s.whole(); err != nil {
			panic(p.misuse("pulling its rows: %v", err))
		}
	}
}

// Rows is At for a layer that reads only the rows that ids number. In a job whose servers keep the
// parameter by rows it starts to pull them.
func (p *Param) Rows(x, ids *nd.Array) *nd.Array {
	p.rows.reads.Or(readRows)
	a := p.at(x, nil)
	if s := p.rows.source.Load(); s != nil && !x.Traced() {
		list, err := trainer.RowNumbers(ids.Detach(), a.Shape()[0])
		if err == nil {
			err = s.rows(list)
		}
		if err != nil {
			panic(p.misuse("pulling its rows: %v", err))
		}
	}
	return a
}

// Prefetch starts to pull rows that the next batch reads, while the present batch is computed and
// before its Step. In stores with rounds, and where the servers do not keep the parameter by rows,
// it does nothing.
func (p *Param) Prefetch(ids *nd.Array) error {
	s, a := p.rows.source.Load(), p.values()
	if s == nil {
		return nil
	}
	list, err := trainer.RowNumbers(ids.Detach(), a[0].Shape()[0])
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

// leaveRows gives the parameters all rows before the store is closed.
func (t *Trainer) leaveRows() error {
	s := t.core.Store()
	if len(s.RowKeys()) == 0 {
		return nil
	}
	_, err := s.PullWhole(0)
	for _, p := range t.params {
		if r := p.rows.source.Load(); r != nil && r.t == t {
			p.rows.source.Store(nil)
		}
	}
	return err
}

// rowUse describes a parameter for a store.
func (t *Trainer) rowUse(name string) (u trainer.RowUse) {
	for i, p := range t.params {
		if t.names[i] == name && !p.rows.byRows() {
			u.Whole = errors.New("a layer reads all of it")
		}
	}
	return u
}

// pullRows starts to pull the rows that a call of the compiled network reads.
func (c *compiled) pullRows(in []*nd.Array) error {
	var cache trainer.RowCache
	for i := range c.held {
		h := &c.held[i]
		if h.param == nil {
			continue
		}
		s := h.param.rows.source.Load()
		if s == nil {
			continue
		}
		r := c.reader(i)
		if r == nil {
			if err := s.whole(); err != nil {
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
			err = s.rows(ids)
		}
		if err != nil {
			return err
		}
	}
	return nil
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
	r, err := trainer.NewRowReader(c.graph.Outputs, k.Node, k.Array.Shape()[0], data,
		func(*op.Node) op.Storage { return op.Dense })
	if err != nil {
		r = nil
	}
	c.readers[i] = r
	return r
}
