package exec

import (
	"errors"
	"fmt"
)

// PartialForward computes the outputs operator by operator: it runs number step of the compiled
// graph and returns how many are left. Step 0 begins a run, and the steps must come in order; a run
// whose last step has come is over, after which Backward follows one that trains. A step beyond the
// end does nothing. Forward in between gives the run up.
//
// Between two steps the arrays of the executor hold the results so far, and waiting for them
// measures how long a step took. PartialForward runs a graph compiled for it, in which every
// operator is pushed by itself.
func (ex *Executor) PartialForward(train bool, step int) (left int, err error) {
	if ex.closed {
		return 0, errors.New("exec: PartialForward on a closed executor")
	}
	b, err := ex.compiled(modeOf(train), true)
	if err != nil {
		return 0, err
	}
	p := b.p
	n := p.Forward - p.Derived
	r := ex.pending.stepping.run
	switch {
	case step < 0:
		return 0, fmt.Errorf("exec: PartialForward of step %d, want one from 0 on", step)
	case step >= n && n > 0:
		return 0, nil
	case step == 0:
		if r, err = ex.beginRun(b); err != nil {
			return 0, err
		}
		r.open()
		r.derive()
		ex.pending.stepping.run = r
	case r == nil || r.b != b || ex.pending.stepping.next != step:
		return 0, fmt.Errorf("exec: PartialForward of step %d, want step 0 or the one after the "+
			"last", step)
	case ex.arena.last != r:
		return 0, errors.New("exec: PartialForward after another executor that shares the memory " +
			"has run: what the steps before have computed is gone")
	}
	at := p.Derived + step
	r.push(at, min(at+1, p.Forward))
	ex.pending.stepping.next = step + 1
	if left = n - step - 1; left > 0 {
		return left, nil
	}
	ex.pending.stepping.run = nil
	ex.finishForward(r)
	return 0, nil
}

// stepping is a run whose forward part is pushed step by step.
type stepping struct {
	run  *run
	next int
}

// abandon lets go of the runs that have not been finished.
func (ex *Executor) abandon() {
	for _, r := range []**run{&ex.pending.current, &ex.pending.stepping.run} {
		if *r != nil {
			(*r).release()
			*r = nil
		}
	}
}
