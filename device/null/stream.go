package null

import (
	"sync"
	"time"

	"gomx/engine"
)

// Stream is a queue of a null device: it computes nothing and takes its time, one piece of work
// after the other. Like the queue of an accelerator it runs behind the host's back: what is put on
// it waits for events of other streams and marks its own end by an event. A stream has one
// goroutine, which Close ends and waits for.
type Stream struct {
	mu   sync.Mutex
	cond sync.Cond // signals that work or closed has changed
	work []piece
	shut bool
	done chan struct{} // closed when the goroutine has ended
}

// Work is what an operation does on a stream. It is the argument of Enqueue.
type Work struct {
	Stream *Stream
	Takes  time.Duration // from when the stream comes to it until it is done
	Err    error         // what it ends with
}

// event is closed when the work that it marks is done.
type event chan struct{}

// piece is work in a stream.
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

// Enqueue is the body of an operation that is Queued, whose argument is a *Work: it puts the work
// on its stream.
func Enqueue(r *engine.Run, done func(error)) {
	w := r.Arg.(*Work)
	p := piece{w, r, r.Waits(), make(event), done}
	s := w.Stream
	s.mu.Lock()
	if s.shut {
		s.mu.Unlock()
		panic("null: work for a closed stream")
	}
	r.Issue(p.event) // before the stream can come to it: done ends the life of r
	s.work = append(s.work, p)
	s.mu.Unlock()
	s.cond.Signal()
}

// Close waits until the stream is empty and ends it. Closing it again does nothing.
func (s *Stream) Close() {
	s.mu.Lock()
	s.shut = true
	s.mu.Unlock()
	s.cond.Signal()
	<-s.done
}

// main works the stream off.
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

// execute lets the time of p pass, after the events that it waits for.
func (p *piece) execute() {
	for _, e := range p.waits {
		<-e.(event)
	}
	p.run.Started()
	time.Sleep(p.Takes)
	close(p.event)
	p.done(p.Err)
}
