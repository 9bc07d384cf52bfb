package core

// inherited returns the first cause among the variables that o reads and updates, in the order of
// its uses. It is meaningful once o is clear: then no write before o can change the poison.
func inherited(o *Op) error {
	for i := range o.uses {
		u := &o.uses[i]
		if u.Mode == Overwrite {
			continue
		}
		if p := u.Var.poison; p != nil {
			return p.Cause
		}
	}
	return nil
}

// write settles the poison of the variable that the retired operation o wrote, and wakes the
// waiters for this write.
func (c *Core) write(o *Op, u *Use) {
	v := u.Var
	if o.skipped || o.fault != nil || c.poisoned > 0 {
		c.taint(o, u)
	}
	v.writes++
	if v.waiters != nil {
		c.wake(v)
	}
}

// taint decides whether the variable of u, written by o, is poisoned from this write on. The cause
// that o inherited comes before its own failure, since the body ran on bad inputs; a variable that
// is updated keeps the cause that it had. The value is an old one, and so intact, only while all
// writes since the last good one were skipped.
func (c *Core) taint(o *Op, u *Use) {
	if o.rules.Is(Silent) {
		return
	}
	v := u.Var
	old := v.poison
	var p *Poison
	switch cause := o.Inherited(); {
	case cause != nil:
		if old != nil && u.Mode == Update {
			cause = old.Cause // the first of the variable's own
		}
		p = &Poison{cause, o.skipped && (old == nil || old.Intact)}
	case o.failure() != nil:
		p = &Poison{o.failure(), false}
	}
	v.poison = p
	if old == nil && p != nil {
		c.poisoned++
	} else if old != nil && p == nil {
		c.poisoned--
	}
}

// wake moves the waiters of v whose writes are complete to the woken ones.
func (c *Core) wake(v *Var) {
	for p := &v.waiters; *p != nil; {
		w := *p
		if w.Writes > v.writes {
			p = &w.next
			continue
		}
		*p = w.next
		w.next, c.woken = c.woken, w
	}
}

// Accept declares that the old value of v, which only missed writes, is good. It returns the poison
// of a variable that a write left half done, and nil otherwise. No live operation may use v.
func (c *Core) Accept(v *Var) *Poison {
	p := v.poison
	if p == nil {
		return nil
	}
	if !p.Intact {
		return p
	}
	v.poison = nil
	c.poisoned--
	return nil
}
