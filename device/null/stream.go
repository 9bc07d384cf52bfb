package null

import (
	"sync"
	"time"

	"gomx/engine"
)

// Stream is a simulated queue of a null device. Like the queue of an accelerator it runs
// asynchronously to the host, one piece of work after the other: each waits for events of other
// streams, then for its time, and signals an event at its end. A stream has one goroutine, which
// Close ends and waits for.
type Stream struct {
	mu   sync.Mutex
	cond sync.Cond     // signals that work or shut has changed
	work []piece       // guarded by mu, as is shut
	shut bool          // Close has been called
	done chan struct{} // closed when the goroutine has ended
}

// Work describes the work of an operation on a stream. It is the argument of Enqueue.
type Work struct {
	Stream *Stream
	Takes  time.Duration // simulated running time
	Err    error         // result of the operation; nil: success
}

// event is closed when its work is done.
type event chan struct{}

// piece is queued work.
type piece struct {
	*Work
	run   *engine.Run
	waits []engine.Event
	event event
	done  func(error)
}

// NewStream returns an empty stream. It serves one lane of one device.
func NewStream() *Stream {
	s := &Stream{done: make(chan struct{})}
	s.cond.L = &s.mu
	go s.main()
	return s
}

// Enqueue is the body of a Queued operation whose argument is a *Work: it puts the work on its
// stream.
func Enqueue(r *engine.Run, done func(error)) {
	w := r.Arg.(*Work)
	p := piece{w, r, r.Waits(), make(event), done}
	s := w.Stream
	s.mu.Lock()
	if s.shut {
		s.mu.Unlock()
		panic("null: work for a closed stream")
	}
	r.Issue(p.event) // before the stream can run p: r is not valid after done
	s.work = append(s.work, p)
	s.mu.Unlock()
	s.cond.Signal()
}

// Close waits until the stream is empty and ends its goroutine. Closing it again does nothing.
func (s *Stream) Close() {
	s.mu.Lock()
	s.shut = true
	s.mu.Unlock()
	s.cond.Signal()
	<-s.done
}

// main executes the work of the stream until Close.
func (s *Stream) main() {
	defer close(s.done)
	for {
		s.mu.Lock()
		for len(s.work) == 0 && !s.shut {
			s.cond.Wait()
		}
		if len(s.work) == 0 {
			s.mu.Unlock()
			return
		}
		p := s.work[0]
		s.work = s.work[1:]
		s.mu.Unlock()
		p.execute()
	}
}

// execute waits for the events of p, sleeps for its running time and completes it.
func (p *piece) execute() {
	for _, e := range p.waits {
		<-e.(event)
	}
	p.run.Started()
	time.Sleep(p.Takes)
	close(p.event)
	p.done(p.Err)
}
