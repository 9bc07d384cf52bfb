package engine

// perform runs the bodies of the operations one after the other, and after each one finish, which
// gets the error of the body: its own, a *PanicError, or ErrGoexit when the body ends the goroutine.
// It returns early after a body that panics. Every body runs here. For an asynchronous operation nil
// means that done has been or will be called. finish runs even when the goroutine ends, so no
// operation is lost. insideBody recognizes the frame of perform on the stack.
//
//go:noinline
func (e *Engine) perform(finish func(o *oper, err error), ops ...*oper) {
	var o *oper // the operation whose body runs, nil between two bodies
	defer func() {
		if o != nil {
			finish(o, recovered(recover()))
		}
	}()
	for _, o = range ops {
		var err error
		switch p := e.profile.Load(); {
		case o.spec.async != nil:
			e.async(o, p)
		case p != nil:
			err = p.measure(o)
		default:
			err = o.spec.fn(&o.run)
		}
		done := o
		o = nil
		finish(done, err)
	}
}

// async runs the body of an asynchronous operation.
func (e *Engine) async(o *oper, p *Profile) {
	gen := o.gen
	done := func(err error) { e.asyncDone(o, gen, err) }
	if p != nil {
		v := p.begin(o)
		done = func(err error) {
			if o.dev != nil {
				v.at = max(v.at, o.dev.started.Load())
			}
			p.end(v)
			e.asyncDone(o, gen, err)
		}
	}
	o.spec.async(&o.run, done)
}
