package core

// Mode tells how an operation uses a variable.
type Mode uint8

// The modes. The zero value is Read.
const (
	Read      Mode = iota // reads the value; any number of operations read at once
	Overwrite             // replaces the whole value without reading it; cures poison
	Update                // changes part of the value or reads it first; keeps poison
)

// Merge returns the mode that allows both a and b.
func (a Mode) Merge(b Mode) Mode {
	if a == b {
		return a
	}
	return Update
}

// Rules change how an operation is scheduled.
type Rules uint8

const (
	Queued Rules = 1 << iota // may be issued to its lane before its inputs are complete
	Always                   // runs although an input is poisoned
	// holds its variables like any write but leaves values and poison as they are
	Silent
	// runs already when it is submitted, on variables that nothing else used
	Running
)

// Is reports whether r contains one of the rules in s.
func (r Rules) Is(s Rules) bool { return r&s != 0 }

// Use is one variable of an operation in flight. The driver sets Var and Mode before Submit.
type Use struct {
	Var  *Var
	op   *Op  // the operation of the use, from Submit on
	next *Use // following use in the queue of Var; of no meaning for a clear use
	Mode Mode

	clear  bool // every conflicting use before it has been retired
	passed bool // issued or retired; kept for variables with an issue order only
}

// Last reports whether Var is quiet and u was the last of its uses to be retired, so that all
// writes of Var have been retired before. The operation of u is one that Retired has handed out.
func (u *Use) Last() bool { return u.Var.final == u && u.Var.Quiet() }

// Op returns the operation that u belongs to.
func (u *Use) Op() *Op { return u.op }

// Op is one operation in flight. It belongs to the driver before Submit and after Retired, to the
// core in between. The zero value is unused; records may be used again after Reset.
type Op struct {
	next      *Op   // in a List
	uses      []Use // memory of the driver, in use until Reset
	unclear   int32 // uses that are not clear
	ungranted int32 // uses that may not be issued yet; of queued operations only
	lane      int32 // number of the device's queue; means nothing for other operations
	rules     Rules
	finished  bool // its body is complete, or it is skipped
	skipped   bool
	fault     *fault // nil while neither it nor an input failed
}

// fault holds the errors of an operation.
type fault struct {
	own       error // failure of its body
	inherited error // first cause among its inputs
}

// SetUses gives o its uses, each variable at most once. The slice stays in use until Reset.
func (o *Op) SetUses(uses []Use) { o.uses = uses }

// SetRules gives o the number of its lane and its rules, before Submit.
func (o *Op) SetRules(lane int32, rules Rules) { o.lane, o.rules = lane, rules }

// Reset forgets the run of o, so that its record can be used again.
func (o *Op) Reset() {
	for i := range o.uses {
		o.uses[i].Var, o.uses[i].next = nil, nil
	}
	o.uses, o.rules, o.finished, o.skipped = nil, 0, false, false
	if o.fault != nil {
		o.fault = nil
	}
}

// Uses returns the uses of o. After Submit only Mode and Var may be read.
func (o *Op) Uses() []Use { return o.uses }

// Skipped reports whether o was skipped because an input was poisoned.
func (o *Op) Skipped() bool { return o.skipped }

// Rules returns the rules of o.
func (o *Op) Rules() Rules { return o.rules }

// Clear reports whether all uses of o are clear.
func (o *Op) Clear() bool { return o.unclear == 0 }

// Blocker returns the first variable that o waits for, nil if all its uses are clear.
func (o *Op) Blocker() *Var {
	for i := range o.uses {
		if !o.uses[i].clear {
			return o.uses[i].Var
		}
	}
	return nil
}

// failure returns the error of the body of o.
func (o *Op) failure() error {
	if o.fault == nil {
		return nil
	}
	return o.fault.own
}

// Inherited returns the first cause among the inputs of o.
func (o *Op) Inherited() error {
	if o.fault == nil {
		return nil
	}
	return o.fault.inherited
}

// setInherited notes the first cause among the inputs of o, nil for none.
func (o *Op) setInherited(cause error) {
	if cause == nil {
		return
	}
	if o.fault == nil {
		o.fault = &fault{}
	}
	o.fault.inherited = cause
}
