package engine

import "sync/atomic"

// Op is a reusable operation: its uses are analysed once and its call site is always known. It may be pushed again while earlier runs are pending.
type Op struct {
	spec    spec
	arg     any
	uses    []Use
	site    site
	deleted atomic.Bool
}

// NewOp returns an operation made from t, to be pushed with PushOp.
func (e *Engine) NewOp(t Task) *Op {
	t.check()
	op := &Op{arg: t.Arg}
	op.spec.set(&t, 0)
	op.site.capture()
	at := make(map[*Var]int, len(t.Uses))
	for _, u := range t.Uses {
		if u.Var == nil {
			panic("engine: task \"" + t.Name + "\" uses a nil variable")
		}
		if i, ok := at[u.Var]; ok {
			op.uses[i].Access = op.uses[i].Access.merge(u.Access)
			continue
		}
		at[u.Var] = len(op.uses)
		op.uses = append(op.uses, u)
	}
	return op
}

// PushOp makes a run of op pending. arg, unless it is nil, replaces the argument of the task.
func (e *Engine) PushOp(op *Op, arg any) { e.pushOp(op, arg, op.spec.is(delete_)) }

func (e *Engine) pushOp(op *Op, arg any, exempt bool) {
	if op.deleted.Load() {
		panic("engine: operation \"" + op.spec.name + "\" is deleted")
	}
	o := e.take(op.spec.bytes, exempt)
	o.spec, o.site = &op.spec, &op.site
	if o.run.Arg = arg; arg == nil {
		o.run.Arg = op.arg
	}
	e.fill(o, op.uses)
	e.dispatch(o)
}

// DeleteOp ends the life of op: runs that are pending still happen, further pushes panic. Deleting it again does nothing.
func (e *Engine) DeleteOp(op *Op) { op.deleted.Store(true) }
