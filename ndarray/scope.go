package ndarray

import "sync"

// Scoped releases at the end of Scope the arrays that belong to it: those given to Enter and Own,
// and all that is computed from them.
type Scoped struct {
	mu     sync.Mutex
	arrays map[*Array]struct{}
	ended  bool
}

// Scope calls f and closes afterwards, also when f panics, every array that belongs to s. It does
// not wait: memory is returned when pending operations are complete.
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

// Enter returns an alias of a; results computed from it belong to the scope. It keeps a's place
// on a tape and a's gradient.
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

// Keep takes a out of the scope and returns it: it is not closed, and what is computed from it
// alone does not belong to the scope.
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

// enter makes a belong to s; nil and scopes that have ended take nothing.
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

// leave takes a out of its scope.
func (a *Array) leave() {
	if s := a.scope; s != nil {
		s.mu.Lock()
		delete(s.arrays, a)
		s.mu.Unlock()
		a.scope = nil
	}
}

// scopeOf returns the first scope among the scopes of arrays.
func scopeOf(arrays []*Array) *Scoped {
	for _, a := range arrays {
		if a.scope != nil {
			return a.scope
		}
	}
	return nil
}
