package symbol

import (
	"errors"
	"fmt"

	"gomx/dtype"
	"gomx/engine"
	"gomx/graph"
	nd "gomx/ndarray"
)

// Executor is a symbol bound to memory. Args, Grads and Aux hold its arrays by name; their
// contents may be changed between runs, the maps may not.
//
// Forward and Backward push work to the engine and return at once; errors surface when results
// are waited for. An executor belongs to one goroutine at a time.
type Executor struct {
	Args, Grads, Aux map[string]*nd.Array

	symbol  *Symbol
	config  BindConfig
	index   *graph.Indexed // the forward graph, with what inference learned of it
	shapes  []dtype.Shape
	types   []dtype.Type
	outputs []*nd.Array
	arena   *arena

	infer, train *bound // compiled at first use
	current      *run   // the run whose backward part has not been pushed yet
	runs         uint64 // counts runs, for random streams
	uses         []engine.Use
	closed       bool
	unfused      bool // NoFusion as configured, whether or not there is a monitor
}

// Symbol returns what is bound.
func (ex *Executor) Symbol() *Symbol { return ex.symbol }

// Outputs returns the arrays of the outputs; each forward run overwrites them.
func (ex *Executor) Outputs() []*nd.Array { return ex.outputs }

// Feed makes a the value of an argument for the runs that follow, without copying: a may be
// written again as soon as the engine has run what reads it. Shape and type must be the bound
// ones.
func (ex *Executor) Feed(name string, a *nd.Array) error {
	old, ok := ex.Args[name]
	if !ok {
		return fmt.Errorf("symbol: no argument %q, want one of %v", name, ex.symbol.Arguments())
	}
	if !a.Shape().Equal(old.Shape()) || a.DType() != old.DType() || a.Device() != old.Device() {
		return fmt.Errorf("symbol: argument %q fed with %v %v on %v, want %v %v on %v",
			name, a.DType(), a.Shape(), a.Device(), old.DType(), old.Shape(), old.Device())
	}
	for _, b := range []*bound{ex.infer, ex.train} {
		if b != nil && b.p.shared.Load() && b.p.derivesFrom(name) {
			return fmt.Errorf("symbol: argument %q fed while replicas share what is derived from it: write into its array instead", name)
		}
	}
	ex.Args[name] = a
	for _, b := range []*bound{ex.infer, ex.train} {
		if b != nil {
			b.feed(name, a)
		}
	}
	return nil
}

// Close gives the planned memory back as soon as what has been pushed is done; arrays stay. An
// executor that is not closed is freed by the garbage collector. Closing it again does nothing.
func (ex *Executor) Close() {
	if ex.closed {
		return
	}
	ex.closed = true
	ex.forget()
	ex.arena.leave()
}

// forget releases what has been compiled.
func (ex *Executor) forget() {
	if ex.current != nil {
		ex.current.release()
		ex.current = nil
	}
	for _, b := range []*bound{ex.infer, ex.train} {
		if b != nil {
			b.p.release()
		}
	}
	ex.infer, ex.train = nil, nil
}

// Forward computes the outputs. In training dropout drops, batch norm learns, and what Backward
// needs is kept.
func (ex *Executor) Forward(train bool) error {
	if ex.closed {
		return errors.New("symbol: Forward on a closed executor")
	}
	b, err := ex.program(train)
	if err != nil {
		return err
	}
	if ex.current != nil {
		ex.current.release()
		ex.current = nil
	}
	ex.runs++
	r, err := b.begin(ex.runs)
	if err != nil {
		return err
	}
	for _, slot := range b.p.mutated {
		r.arrays[slot].Touch()
	}
	ex.start(r)
	if train && len(b.p.segments) > b.p.forward {
		ex.current = r
		return nil
	}
	r.release()
	return nil
}

// Backward computes the gradients of the last Forward(true) into Grads, as each argument's
// request says. headGrads are the gradients flowing into the outputs: none means ones; losses
// ignore them.
func (ex *Executor) Backward(headGrads ...*nd.Array) error {
	if len(ex.Grads) == 0 {
		return errors.New("symbol: Backward on an executor bound without gradients")
	}
	if ex.current == nil {
		if ex.train != nil && len(ex.train.p.segments) == ex.train.p.forward {
			return nil // nothing depends on an argument that wants a gradient
		}
		return errors.New("symbol: Backward wants a Forward(true) before it, each time")
	}
	if ex.arena.last != ex.current {
		return errors.New("symbol: Backward after another executor that shares the memory has run: what Forward kept is gone")
	}
	if err := ex.setHeads(headGrads); err != nil {
		return err
	}
	r := ex.current
	ex.current = nil
	p := r.b.p
	for _, a := range p.written {
		a.Touch()
	}
	ex.push(r, p.forward, len(p.segments))
	r.release()
	return nil
}

// setHeads copies head gradients to where the program reads them; without any they are ones.
func (ex *Executor) setHeads(grads []*nd.Array) error {
	p := ex.train.p
	if len(grads) == 0 {
		return p.headsToOnes()
	}
	if len(grads) != len(ex.outputs) {
		return fmt.Errorf("symbol: Backward with %d head gradients, want %d", len(grads), len(ex.outputs))
	}
	for i, g := range grads {
		if g == nil {
			return fmt.Errorf("symbol: head gradient %d is nil", i)
		}
		if h := p.heads[i]; h != nil {
			if !g.Shape().Equal(h.Shape()) {
				return fmt.Errorf("symbol: head gradient %d has shape %v, want that of output %s: %v", i, g.Shape(), ex.symbol.outputs[i], h.Shape())
			}
			h.Set(g)
		}
	}
	p.ones = false
	return nil
}

// program returns the compiled graph for a mode.
func (ex *Executor) program(train bool) (*bound, error) {
	slot := &ex.infer
	if train {
		slot = &ex.train
	}
	if *slot == nil {
		p, err := ex.compile(train)
		if err != nil {
			return nil, err
		}
		*slot = p.bind(ex)
	}
	return *slot, nil
}

// MemoryUse is what a compiled mode of an executor needs beside the arrays bound to it.
type MemoryUse struct {
	Arena      int64 // planned memory, scratch of kernels included
	LowerBound int64 // the most that is alive at one time: no plan is smaller
	Unshared   int64 // the same without sharing
	Outputs    int64 // arrays of the outputs
	Kept       int64 // parameters in another form, folded or blocked, kept between runs
	Values     int64 // Arena without what kernels need for themselves: scratch and what they keep for their gradients
	Recomputed int   // nodes of the forward part that the backward part computes again
}

// MemoryUse compiles the graph for a mode, if that has not been done, and returns its memory.
func (ex *Executor) MemoryUse(train bool) (MemoryUse, error) {
	b, err := ex.program(train)
	if err != nil {
		return MemoryUse{}, err
	}
	p := b.p
	return MemoryUse{Arena: p.plan.Total, LowerBound: p.plan.LowerBound, Unshared: p.plan.Naive, Outputs: p.outBytes, Kept: p.kept,
		Values: p.values(), Recomputed: p.trade.Nodes}, nil
}
