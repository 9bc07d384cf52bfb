package viewtest

import (
	"context"
	"sync"

	"gomx/kvstore/view"
	"gomx/kvstore/wire"
)

// Memory is a store for the candidates of one process. The zero value is not ready: see NewMemory.
type Memory struct {
	mu      sync.Mutex
	changed chan struct{} // closed at every change, and replaced
	terms   uint64        // leads so far
	lead    *memoryLead   // nil: nobody leads
	leader  view.Leader   // the last one
	record  []byte
	silent  bool
}

// NewMemory returns an empty store.
func NewMemory() *Memory { return &Memory{changed: make(chan struct{})} }

// memoryLead is a lead in a Memory.
type memoryLead struct {
	*Memory
	term uint64
	lost chan struct{}
}

// change reports a change to all that wait. The lock is held.
func (m *Memory) change() {
	close(m.changed)
	m.changed = make(chan struct{})
}

// Depose ends the present lead, as if its lease had ended. If told is false, the leader finds out
// only when it saves a view.
func (m *Memory) Depose(told bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.lead == nil {
		return
	}
	if told {
		close(m.lead.lost)
	}
	m.lead = nil
	m.change()
}

// Silence makes the store refuse all writes, or accept them again.
func (m *Memory) Silence(on bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.silent = on
	m.change()
}

// View returns the view that was saved last, nil if there is none.
func (m *Memory) View() *wire.View {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.record == nil {
		return nil
	}
	v, err := view.Decode(m.record)
	if err != nil {
		panic(err) // only leads write
	}
	return v
}

// Leader returns the last leader, with term 0 if there was none.
func (m *Memory) Leader() view.Leader {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.leader
}

// Campaign implements view.Store.
func (m *Memory) Campaign(ctx context.Context, addr string) (view.Lead, error) {
	for {
		m.mu.Lock()
		if m.lead == nil && !m.silent {
			m.terms++
			m.lead = &memoryLead{m, m.terms, make(chan struct{})}
			m.leader = view.Leader{Term: m.terms, Addr: addr}
			m.change()
			l := m.lead
			m.mu.Unlock()
			return l, nil
		}
		changed := m.changed
		m.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// Watch implements view.Store.
func (m *Memory) Watch(ctx context.Context, tell func(view.Leader)) {
	for last := uint64(0); ; {
		m.mu.Lock()
		l, changed := m.leader, m.changed
		m.mu.Unlock()
		if l.Term > last {
			last = l.Term
			tell(l)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// Saved implements view.Store.
func (m *Memory) Saved(context.Context) (*wire.View, error) { return m.View(), nil }

// Close implements view.Store.
func (*Memory) Close() error { return nil }

// Term implements view.Lead.
func (l *memoryLead) Term() uint64 { return l.term }

// Load implements view.Lead.
func (l *memoryLead) Load(context.Context) (*wire.View, error) { return l.View(), nil }

// Save implements view.Lead.
func (l *memoryLead) Save(_ context.Context, v *wire.View) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.Memory.lead != l:
		return view.ErrFenced
	case l.silent:
		return errSilent
	}
	l.record = view.Encode(v)
	return nil
}

// Lost implements view.Lead.
func (l *memoryLead) Lost() <-chan struct{} { return l.lost }

// Resign implements view.Lead.
func (l *memoryLead) Resign(context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.Memory.lead == l {
		l.Memory.lead = nil
		l.change()
	}
	return nil
}
