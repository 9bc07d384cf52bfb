package exec

import (
	"errors"
	"fmt"

	"gomx/compile"
	"gomx/engine"
	"gomx/graph"
	nd "gomx/ndarray"
)

// Executor is a graph bound to memory. Args, Grads and Aux hold its arrays by name; their
// contents may be changed between runs, the maps may not.
//
// Forward and Backward push work to the engine and return at once; errors surface when results
// are waited for. An executor belongs to one goroutine at a time.
type Executor struct {
	Args, Grads, Aux map[string]*nd.Array

	net     Net
	config  Config
	eng     *engine.Engine // engine of all its arrays
	facts   *graph.Facts   // shapes and types of the composed graph; not changed after the bind
	outputs []*nd.Array
	arena   *arena
	// devices of the parts; nil when all lies on the device of the configuration
	spread *compile.Spread

	programs [2 * modes]*bound // compiled at first use, by mode
	pending  pending
	runs     uint64 // number of the last run, which places it in the random stream
	uses     []engine.Use
	closed   bool
}

// pending are the runs that have not been finished.
type pending struct {
	current  *run     // run whose backward part has not been pushed yet
	last     ran      // the last run whose forward part was finished
	stepping stepping // run that PartialForward has not finished
	lines    *lines   // of a graph that runs operator by operator; nil when it is compiled
}

// Net returns the bound graph.
func (ex *Executor) Net() Net { return ex.net }

// Outputs returns the arrays of the outputs; each forward run overwrites them. If their shapes
// depend on values, as with boolean_mask, or if an array is sparse, the graph runs operator by
// operator, and each forward run makes new arrays; there are none before the first.
func (ex *Executor) Outputs() []*nd.Array { return ex.outputs }

// Feed makes a the value of an argument for the runs that follow, without copying: a may be
// written again as soon as the engine has run the operations that read it. Shape and type must be
// the bound ones. An array of another storage type is converted, which is a copy.
func (ex *Executor) Feed(name string, a *nd.Array) error {
	old, ok := ex.Args[name]
	if !ok {
		return fmt.Errorf("exec: no argument %q, want one of %v", name, ex.net.arguments())
	}
	if err := ex.admit(fmt.Sprintf("array fed to argument %q", name), a, old); err != nil {
		return err
	}
	a = a.ToStorage(old.Storage())
	for _, b := range ex.programs {
		if b != nil && b.p.shared.Load() && b.p.DerivesFrom(name) {
			return fmt.Errorf("exec: argument %q fed while replicas share what is derived from "+
				"it: write into its array instead", name)
		}
	}
	ex.Args[name] = a
	for i, b := range ex.programs {
		switch {
		case b == nil:
		case b.p.DerivesFrom(name) && placeOf(a) != placeOf(old) &&
			!b.p.forms.part(b.p, b.p.Vars[name]):
			ex.drop(i)
		default:
			b.feed(name, a)
		}
	}
	return nil
}

// Close gives the planned memory back as soon as the runs that have been pushed are done; arrays
// stay. An executor that is not closed is freed by the garbage collector. Closing it again does
// nothing.
func (ex *Executor) Close() {
	if ex.closed {
		return
	}
	ex.closed = true
	if ex.pending.lines != nil {
		ex.pending.lines.drop()
		return
	}
	ex.forget()
	ex.arena.leave()
}

// drop releases one program, which is compiled anew when it is needed again.
func (ex *Executor) drop(i int) {
	b := ex.programs[i]
	for _, r := range []**run{&ex.pending.current, &ex.pending.stepping.run} {
		if *r != nil && (*r).b == b {
			(*r).release()
			*r = nil
		}
	}
	b.p.release()
	ex.programs[i] = nil
}

// forget gives up the unfinished runs and releases all compiled programs.
func (ex *Executor) forget() {
	ex.abandon()
	for i, b := range ex.programs {
		if b != nil {
			b.p.release()
			ex.programs[i] = nil
		}
	}
}

// Seek moves the random stream: the next run draws the numbers of run number run+1 of an executor
// that has just been bound. A program that continues the work of another one seeks to the number of
// runs that the other one has done.
func (ex *Executor) Seek(run uint64) { ex.runs = run }

// Forward computes the outputs. In training dropout drops, batch norm learns, and the arena keeps
// the values that Backward needs.
func (ex *Executor) Forward(train bool) error {
	if ex.closed {
		return errors.New("exec: Forward on a closed executor")
	}
	if ex.pending.lines != nil {
		return ex.pending.lines.forward(ex, train)
	}
	b, err := ex.program(train)
	if err != nil {
		return err
	}
	r, err := ex.beginRun(b)
	if err != nil {
		return err
	}
	r.start()
	ex.finishForward(r)
	return nil
}

// beginRun takes a run of a program and gives up those that have not been finished.
func (ex *Executor) beginRun(b *bound) (*run, error) {
	ex.runs++
	return ex.beginAgain(b)
}

// beginAgain is beginRun at the same place of the random stream as the run before.
func (ex *Executor) beginAgain(b *bound) (*run, error) {
	ex.abandon()
	r, err := b.begin(ex.runs)
	if err != nil {
		return nil, err
	}
	for _, slot := range b.p.Mutated {
		r.arrays[slot].Touch()
	}
	return r, nil
}

// ran says which runs an executor has finished the forward part of, if any.
type ran uint8

const (
	ranNothing  ran = iota
	ranInferred     // Forward(false)
	ranTrained      // Forward(true)
)

// finishForward ends the forward part of a run that a program has asked for.
func (ex *Executor) finishForward(r *run) {
	ex.pending.last = ranInferred
	if r.b.p.Train {
		ex.pending.last = ranTrained
	}
	ex.keepForBackward(r)
}

// keepForBackward follows the forward part of a run: a run with a backward part waits for it.
func (ex *Executor) keepForBackward(r *run) {
	if p := r.b.p; p.Train && p.HasBackward() {
		ex.pending.current = r
		return
	}
	r.release()
}

// program returns the compiled graph for a mode.
func (ex *Executor) program(train bool) (*bound, error) { return ex.compiled(modeOf(train), false) }

// mode says how a program runs.
type mode uint8

// The modes by which programs are kept; those whose operators are pushed one by one are kept behind
// them.
const (
	inferring mode = iota
	training
	gradientsOnly // training without dropout: the gradients of an inference
	frozen        // inference with a backward part
	modes
)

func modeOf(train bool) mode {
	if train {
		return training
	}
	return inferring
}

// compiled returns the graph compiled for a mode, single for one whose operators are pushed one by
// one.
func (ex *Executor) compiled(m mode, single bool) (*bound, error) {
	if ex.pending.lines != nil {
		return nil, ex.pending.lines.refuse("a program, a plan of the memory")
	}
	at := m
	if single {
		at += modes
	}
	if ex.programs[at] == nil {
		p, err := ex.compile(m, single)
		if err != nil {
			return nil, err
		}
		ex.programs[at] = p.bind(ex)
	}
	return ex.programs[at], nil
}

// MemoryUse compiles the graph for a mode, if that has not been done, and returns its memory.
func (ex *Executor) MemoryUse(train bool) (compile.MemoryUse, error) {
	b, err := ex.program(train)
	if err != nil {
		return compile.MemoryUse{}, err
	}
	return b.p.MemoryUse(), nil
}

// MemoryPlan returns the plan of a mode, which is compiled if it has not been.
func (ex *Executor) MemoryPlan(train bool) (*compile.MemoryPlan, error) {
	b, err := ex.program(train)
	if err != nil {
		return nil, err
	}
	return b.p.MemoryPlan()
}

// Explain lists the changes of the passes to the graph of a mode, which is compiled if it has not
// been.
func (ex *Executor) Explain(train bool) (*compile.Explanation, error) {
	b, err := ex.program(train)
	if err != nil {
		return nil, err
	}
	return b.p.Explain(), nil
}
