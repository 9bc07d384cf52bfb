//go:build invariants

package core

import (
	"fmt"
	"slices"
)

// Invariants says whether a core checks itself after each transition.
const Invariants = true

// audit holds the live uses of a variable in the order of submission, apart from the queue that it
// is compared with.
type audit struct{ live []*Use }

// enter takes in a use that is being submitted.
func (a *audit) enter(u *Use) { a.live = append(a.live, u) }

// leave takes in a use whose operation is being retired.
func (a *audit) leave(u *Use) {
	at := slices.Index(a.live, u)
	if at < 0 {
		panic("core: invariant broken: an operation is retired that is not live")
	}
	a.live = slices.Delete(a.live, at, at+1)
}

// verify checks o, the operation of the transition that has ended, and the variables that it uses.
func (c *Core) verify(o *Op) {
	must(c.check())
	live := false
	for i := range o.uses {
		u := &o.uses[i]
		must(checkVar(u.Var, u.Var.audit.live))
		live = live || slices.Contains(u.Var.audit.live, u)
	}
	if live {
		must(checkOp(o, before))
	}
}

// before lists the live uses that were submitted before u.
func before(u *Use) []*Use {
	all := u.Var.audit.live
	return all[:slices.Index(all, u)]
}

func must(err error) {
	if err != nil {
		panic(fmt.Sprintf("core: invariant broken: %v", err))
	}
}
