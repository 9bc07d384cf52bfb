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

	infer, train *program // compiled at first use
	current      *run     // the run whose backward part has not been pushed yet
	runs         uint64   // counts runs, for random streams
	uses         []engine.Use
	closed       bool
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
	ex.Args[name] = a
	for _, p := range []*program{ex.infer, ex.train} {
		if p != nil {
			p.feed(name, a)
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
	if ex.current != nil {
		ex.current.release()
		ex.current = nil
	}
	ex.infer, ex.train = nil, nil
	ex.arena.leave()
}

// Forward computes the outputs. In training dropout drops, batch norm learns, and what Backward
// needs is kept.
func (ex *Executor) Forward(train bool) error {
	if ex.closed {
		return errors.New("symbol: Forward on a closed executor")
	}
	p, err := ex.program(train)
	if err != nil {
		return err
	}
	if ex.current != nil {
		ex.current.release()
		ex.current = nil
	}
	ex.runs++
	r := p.begin(ex.runs)
	ex.open(r)
	ex.push(r, 0, p.forward)
	if train && len(p.segments) > p.forward {
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
		if ex.train != nil && len(ex.train.segments) == ex.train.forward {
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
	for _, a := range r.p.written {
		a.Touch()
	}
	ex.push(r, r.p.forward, len(r.p.segments))
	r.release()
	return nil
}

// setHeads copies head gradients to where the program reads them; without any they are ones.
func (ex *Executor) setHeads(grads []*nd.Array) error {
	if len(grads) == 0 {
		return ex.train.headsToOnes()
	}
	if len(grads) != len(ex.outputs) {
		return fmt.Errorf("symbol: Backward with %d head gradients, want %d", len(grads), len(ex.outputs))
	}
	for i, g := range grads {
		if g == nil {
			return fmt.Errorf("symbol: head gradient %d is nil", i)
		}
		if h := ex.train.heads[i]; h != nil {
			if !g.Shape().Equal(h.Shape()) {
				return fmt.Errorf("symbol: head gradient %d has shape %v, want that of output %s: %v", i, g.Shape(), ex.symbol.outputs[i], h.Shape())
			}
			h.Set(g)
		}
	}
	ex.train.ones = false
	return nil
}

// program returns the compiled graph for a mode.
func (ex *Executor) program(train bool) (*program, error) {
	slot := &ex.infer
	if train {
		slot = &ex.train
	}
	if *slot == nil {
		p, err := ex.compile(train)
		if err != nil {
			return nil, err
		}
		*slot = p
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
}

// MemoryUse compiles the graph for a mode, if that has not been done, and returns its memory.
func (ex *Executor) MemoryUse(train bool) (MemoryUse, error) {
	p, err := ex.program(train)
	if err != nil {
		return MemoryUse{}, err
	}
	return MemoryUse{Arena: p.plan.Total, LowerBound: p.plan.LowerBound, Unshared: p.plan.Naive, Outputs: p.outBytes, Kept: p.kept}, nil
}
