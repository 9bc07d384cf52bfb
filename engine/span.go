package engine

import "time"

// Span is one entry of a profile: an operation that ran or a scope of the program. Times count from
// the start of the profile.
type Span struct {
	Name       string
	Scope      bool // the program's own, without lane, worker and uses
	Lane       Lane
	Worker     int   // that ran the body, or -1 for the goroutine that pushed it or waited for it
	Uses       []Use // duplicates merged
	Start, End time.Duration
}

// Spans returns the operations and scopes recorded so far, in the order of their ends. Operations
// with conflicting uses end in the order of their pushes, so the list shows, with the uses, the
// waits between operations.
func (p *Profile) Spans() []Span {
	var spans []Span
	for _, v := range p.snapshot() {
		if v.kind != counterEvent {
			spans = append(spans, Span{Name: v.name, Scope: v.kind == scopeEvent, Lane: v.lane,
				Worker: v.track, Uses: v.uses,
				Start: time.Duration(v.at), End: time.Duration(v.at + v.dur)})
		}
	}
	return spans
}

// usesOf returns the uses of o, duplicates merged.
func usesOf(o *oper) []Use {
	acc := o.Uses()
	uses := make([]Use, len(acc))
	for i := range acc {
		uses[i] = Use{varOf(acc[i].Var), Access(acc[i].Mode)}
	}
	return uses
}

// Started tells a running profile that the device has come to the work of a Queued operation. Its
// entry begins then, not when its body put the work on the queue. It is called at most once, before
// done.
func (r *Run) Started() {
	if p := r.op.eng.profile.Load(); p != nil && r.op.dev != nil {
		r.op.dev.started.Store(p.now())
	}
}
