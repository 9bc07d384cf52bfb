//go:build cuda

package cuda

/*
#include "bridge.h"
*/
import "C"

import (
	"runtime"
	"sync"
	"time"
	"unsafe"

	"gorgonia.org/cu"
)

// Event is a mark in a queue. Events are reused after the device has reached them. A wait for an
// old mark may therefore wait for a later mark of the same queue; this cannot deadlock, because
// queued work never depends on work that has not been issued.
type Event struct {
	event cu.Event
	e     unsafe.Pointer // the driver's pointer in event
}

// eventList holds the unused events of a queue.
type eventList struct {
	gpu *gpu

	mu   sync.Mutex
	free []*Event
}

func (l *eventList) take() (*Event, error) {
	l.mu.Lock()
	if n := len(l.free); n > 0 {
		e := l.free[n-1]
		l.free = l.free[:n-1]
		l.mu.Unlock()
		return e, nil
	}
	l.mu.Unlock()
	e := &Event{}
	err := l.gpu.locked(func() (err error) {
		e.event, err = cu.MakeEvent(cu.DisableTiming | cu.BlockingSyncEvent)
		return err
	})
	e.e = handle(&e.event)
	return e, err
}

func (l *eventList) put(e *Event) {
	l.mu.Lock()
	l.free = append(l.free, e)
	l.mu.Unlock()
}

// pending is a mark with a function to call when the device has reached it.
type pending struct {
	event *Event
	done  func(error)
	err   error // error of the device, set when the mark is reached
}

// watcher calls the functions of marks that devices have reached. One goroutine polls the first
// mark of every queue and sleeps between polls, so that it takes a small part of a core also while
// devices are busy all the time. It ends when no mark is pending.
type watcher struct {
	mu      sync.Mutex
	lists   map[*Queue][]pending // in the order of the queue
	running bool                 // the goroutine is running
	polls   int64                // passes over all lists
}

var watch = watcher{lists: map[*Queue][]pending{}}

func (w *watcher) add(q *Queue, e *Event, done func(error)) {
	w.mu.Lock()
	w.lists[q] = append(w.lists[q], pending{event: e, done: done})
	start := !w.running
	w.running = true
	w.mu.Unlock()
	if start {
		go w.main()
	}
}

const (
	watchTries  = 3                     // polls without sleep after a mark was reached
	watchSleep  = 50 * time.Microsecond // sleep between two polls after them
	watchLinger = 20                    // number of sleeps without pending marks before the end
)

// main polls marks until none has been pending for a while.
func (w *watcher) main() {
	var reached []pending
	idle, tries := 0, 0
	for {
		empty := true
		w.mu.Lock()
		w.polls++
		for q, list := range w.lists {
			n := 0
			for n < len(list) {
				code := C.gcu_query(q.gpu.c(), list[n].event.e)
				if code == notReady {
					break
				}
				if code != 0 {
					list[n].err = check("running the work on the queue", code)
				}
				n++
			}
			for _, p := range list[:n] {
				reached = append(reached, p)
				q.events.put(p.event)
			}
			if n > 0 {
				rest := copy(list, list[n:])
				clear(list[rest:])
				w.lists[q] = list[:rest]
			}
			empty = empty && len(w.lists[q]) == 0
		}
		if empty && len(reached) == 0 && idle >= watchLinger {
			w.running = false
			w.mu.Unlock()
			return
		}
		w.mu.Unlock()
		switch {
		case len(reached) > 0:
			for i, p := range reached {
				p.done(p.err)
				reached[i] = pending{}
			}
			reached, idle, tries = reached[:0], 0, 0
		case tries < watchTries:
			tries++
			runtime.Gosched()
		default:
			if empty {
				idle++
			}
			time.Sleep(watchSleep)
		}
	}
}

// notReady is the driver's code for an event that the device has not reached.
const notReady = 600
