package ndarray

import (
	"context"
	"sync"

	_ "gomx/device/cpu" // registers the memory of the processor
	"gomx/engine"
)

// Scoped owns arrays and closes them at the end of Scope: the results of Enter, the arrays given to
// Own, and all arrays computed from these.
type Scoped struct {
	mu     sync.Mutex
	arrays map[*Array]struct{}
	ended  bool // Scope has returned; arrays is nil
}

// Scope calls f and then, also when f panics, closes every array that belongs to s. It does not
// wait: memory is released when pending operations are complete.
//
//	nd.Scope(func(s *nd.Scoped) {
//		x := s.Enter(batch)             // batch itself is left alone
//		y := x.Mul(x).Sum()             // closed at the end of the scope, with everything between
//		total = s.Keep(total.Add(y))    // lives on
//	})
func Scope(f func(s *Scoped)) {
	s := &Scoped{arrays: map[*Array]struct{}{}}
	defer s.end()
	f(s)
}

// Enter returns an alias of a that belongs to the scope, as do results computed from it. The alias
// has a's place on a tape and a's gradient.
func (s *Scoped) Enter(a *Array) *Array {
	b := a.alias("Enter")
	b.trace = a.trace
	b.leaf.Store(a.leaf.Load())
	b.leave()
	return b.enter(s)
}

// Own makes a belong to the scope and returns it.
func (s *Scoped) Own(a *Array) *Array {
	a.leave()
	return a.enter(s)
}

// Keep removes a from the scope and returns it: it is not closed, and results computed from it
// alone do not belong to the scope.
func (s *Scoped) Keep(a *Array) *Array {
	a.leave()
	return a
}

func (s *Scoped) end() {
	s.mu.Lock()
	arrays := s.arrays
	s.arrays, s.ended = nil, true
	s.mu.Unlock()
	for a := range arrays {
		a.Close()
	}
}

// enter adds a to s, unless s is nil or has ended.
func (a *Array) enter(s *Scoped) *Array {
	if s == nil {
		return a
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.arrays[a] = struct{}{}
		a.scope = s
	}
	return a
}

// leave removes a from its scope.
func (a *Array) leave() {
	if s := a.scope; s != nil {
		s.mu.Lock()
		delete(s.arrays, a)
		s.mu.Unlock()
		a.scope = nil
	}
}

// scopeOf returns the scope of the first array that has one, nil if none has.
func scopeOf(arrays []*Array) *Scoped {
	for _, a := range arrays {
		if a.scope != nil {
			return a.scope
		}
	}
	return nil
}

// WaitAll waits until nothing is pending on the engine of the process and returns the first
// failure since the last WaitAll.
func WaitAll(ctx context.Context) error { return engine.Default().WaitAll(ctx) }
