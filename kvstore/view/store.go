package view

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"gomx/kvstore/wire"
)

// Store keeps the view of one job and elects the scheduler that may change it. Its methods may be
// called from any goroutine.
type Store interface {
	// Campaign waits until the caller leads, or until ctx ends. Others reach the caller at addr.
	Campaign(ctx context.Context, addr string) (Lead, error)
	// Watch calls f with the present leader, if there is one, and with each later one, until ctx
	// ends. Leaders that led for a short time may be left out. While the store cannot be reached,
	// Watch waits.
	Watch(ctx context.Context, f func(Leader))
	// Saved returns the view that was saved last, nil if none was: anyone may read it.
	Saved(ctx context.Context) (*wire.View, error)
	// Close releases the resources of the store. Leads end when they resign or their process ends.
	Close() error
}

// Leader is the scheduler that leads.
type Leader struct {
	Term uint64 // term of the lead, from 1
	Addr string // address at which others reach the scheduler
}

// Lead is the right of one scheduler to change the view. Save and Load are called by one goroutine
// at a time.
type Lead interface {
	// Term returns the number of the lead: greater than the numbers of all earlier leads of the
	// job.
	Term() uint64
	// Load returns the view that was saved last, nil if none was.
	Load(ctx context.Context) (*wire.View, error)
	// Save makes a view durable. The error ErrFenced says that the lead has ended and that the view
	// was not saved. After any other error the view may have been saved, and Save may be repeated
	// with the same view.
	Save(ctx context.Context, v *wire.View) error
	// Lost returns a channel that is closed when the lead has ended without Resign.
	Lost() <-chan struct{}
	// Resign ends the lead and releases its resources. Another candidate may lead at once.
	Resign(ctx context.Context) error
}

// ErrFenced says that another scheduler leads, or may lead: this one may change nothing.
var ErrFenced = errors.New("view: another scheduler may lead the job")

// Opener opens a store for a job. The address is complete, with the scheme.
type Opener func(addr string, job uint64) (Store, error)

// openers are the stores that programs can open, by scheme. Packages register at initialization.
var openers = struct {
	mu sync.Mutex
	by map[string]Opener
}{by: map[string]Opener{"file": openFolder}}

// Register makes a store known by the scheme of its addresses. Packages call it when they are
// initialized; a scheme that is known already panics.
func Register(scheme string, open Opener) {
	openers.mu.Lock()
	defer openers.mu.Unlock()
	if openers.by[scheme] != nil {
		panic(fmt.Sprintf("view: store %q is registered twice", scheme))
	}
	openers.by[scheme] = open
}

// Open opens the store of a job: "file:FOLDER", or "etcd://HOST:PORT,HOST:PORT/PREFIX" in programs
// that import package view/etcd.
func Open(addr string, job uint64) (Store, error) {
	scheme, _, found := strings.Cut(addr, ":")
	openers.mu.Lock()
	open, known := openers.by[scheme], slices.Sorted(maps.Keys(openers.by))
	openers.mu.Unlock()
	switch {
	case found && open != nil:
		return open(addr, job)
	case found && (scheme == "etcd" || scheme == "etcds"):
		return nil, fmt.Errorf("view: store %q: the program does not contain the client of etcd: "+
			"its main package must import _ \"gomx/kvstore/view/etcd\"", addr)
	}
	return nil, fmt.Errorf("view: store %q, want an address that begins with %s",
		addr, strings.Join(known, ": or ")+":")
}
