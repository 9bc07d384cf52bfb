package spans

import (
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"gomx/kvstore/wire"

	"github.com/rs/zerolog"
)

// Place names a span in a trace, with the numbers of OpenTelemetry. The zero value is no span.
type Place struct {
	Trace [16]byte
	Span  [8]byte
}

// Tracer records spans, intervals of time in a process. A trace is a tree of spans of all
// processes. Package monitor has a Tracer that exports to OpenTelemetry. Its methods may be called
// from any goroutine and must not wait.
type Tracer interface {
	// Begin begins a span at a time, as a child of a span of any process, or with the zero Place as
	// the root of a new trace. attrs are names and values in turn.
	Begin(parent Place, name string, at time.Time, attrs ...string) Span
}

// Span is an interval that has begun.
type Span interface {
	Place() Place
	End(at time.Time) // called once
}

// Watch follows the steps of a process, for its log and for traces. The caller serializes all
// methods but End, Run and Close.
//
// A trace is one step of one worker. Its root begins when the operations of the step before have
// ended, and ends with the last operation of its own: a push, a pull, or both, of one key each. The
// messages of these operations carry the place of their span, and servers add spans for the time
// between the receipt of a message and its answer.
type Watch struct {
	step   atomic.Uint64 // number of the step under way; 0: none yet
	tracer Tracer        // nil: no traces
	every  uint64        // steps between two traced ones

	pushes map[uint32]uint64 // of a worker: pushes begun, by key
	before uint64            // of a worker: steps of earlier processes in its place
	spans  stepSpans
	// of a server: spans of messages that wait for an answer
	answers map[question]Span
}

// stepSpans are the spans of a worker's step under way. Operations end on goroutines of
// their own, so that there is a mutex.
type stepSpans struct {
	mu     sync.Mutex
	root   Span             // nil: the step is not traced
	last   time.Time        // end of the last operation that has ended
	places map[uint32]Place // of the operations under way, by key
}

// question is a message that a server answers.
type question struct {
	from  wire.Node
	shard uint32
	seq   uint64
}

// mostQuestions bounds the number of questions that are kept. Answers in batches are not looked at.
const mostQuestions = 1024

// New returns a watch without traces.
func New() *Watch {
	return &Watch{every: 1, pushes: map[uint32]uint64{},
		spans:   stepSpans{places: map[uint32]Place{}},
		answers: map[question]Span{}}
}

// Trace lets the watch record the spans of every step whose number every divides; 0 means 100.
func (w *Watch) Trace(t Tracer, every uint64) {
	w.tracer, w.every = t, every
	if every == 0 {
		w.every = 100
	}
}

// Resume sets the number of the steps that earlier processes in a worker's place have made.
func (w *Watch) Resume(steps uint64) { w.before = steps }

// Run implements zerolog.Hook: lines of the log have the number of the step.
func (w *Watch) Run(e *zerolog.Event, _ zerolog.Level, _ string) {
	if n := w.step.Load(); n > 0 {
		e.Uint64("step", n)
	}
}

// Begin follows the beginning of an operation on a key of a worker. It returns the operation's
// span, nil if its step is not traced.
func (w *Watch) Begin(key uint32, name, what string, push bool) Span {
	if push {
		w.pushes[key]++
		if n := w.before + w.pushes[key]; n > w.step.Load() {
			w.step.Store(n)
			if w.tracer != nil {
				w.next(n)
			}
		}
	}
	if w.tracer == nil {
		return nil
	}
	s := &w.spans
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.root == nil {
		return nil
	}
	span := w.tracer.Begin(s.root.Place(), what, time.Now(), "key", name)
	s.places[key] = span.Place()
	return span
}

// next begins a step.
func (w *Watch) next(number uint64) {
	s := &w.spans
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	begin := s.last
	if begin.IsZero() {
		begin = now
	}
	s.close(begin)
	if number%w.every == 0 {
		s.root = w.tracer.Begin(Place{}, "step", begin, "step", strconv.FormatUint(number, 10))
		w.tracer.Begin(s.root.Place(), "until the first push", begin).End(now)
	}
}

// close ends the root. mu is held.
func (s *stepSpans) close(at time.Time) {
	if s.root != nil {
		s.root.End(at)
	}
	s.root = nil
	clear(s.places)
}

// End follows the end of an operation.
func (w *Watch) End(span Span) {
	if w.tracer == nil {
		return
	}
	now := time.Now()
	if span != nil {
		span.End(now)
	}
	w.spans.mu.Lock()
	w.spans.last = now
	w.spans.mu.Unlock()
}

// Close ends the spans that are open.
func (w *Watch) Close() {
	s := &w.spans
	s.mu.Lock()
	s.close(s.last)
	s.mu.Unlock()
	w.forget(time.Now())
}

// forget ends the spans of all questions.
func (w *Watch) forget(at time.Time) {
	for _, span := range w.answers {
		span.End(at)
	}
	clear(w.answers)
}

// Sends adds the place of a span to a worker's message about a traced step, and ends the span of
// the question that a server's message answers. It returns the message to send.
func (w *Watch) Sends(to wire.Node, m *wire.Message) *wire.Message {
	if w.tracer == nil {
		return m
	}
	switch m.Type {
	case wire.TypeValue:
		q := question{to, m.Shard, m.Answer().Seq}
		if span := w.answers[q]; span != nil {
			span.End(time.Now())
			delete(w.answers, q)
		}
	case wire.TypePush, wire.TypePull, wire.TypePushPull, wire.TypeBatch:
		if place := w.placeOf(m); place != (Place{}) {
			return attach(m, place)
		}
	}
	return m
}

// placeOf is the place of the span that a worker's message belongs to: of the operation on its key,
// or of the step for a batch of several.
func (w *Watch) placeOf(m *wire.Message) Place {
	s := &w.spans
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.root == nil:
		return Place{}
	case m.Type == wire.TypeBatch:
		return s.root.Place()
	}
	return s.places[m.Key]
}

// Receives follows the receipt of a message, and takes the place of a span off it. It returns the
// span of the message, to be ended when the message has been handled, or nil.
func (w *Watch) Receives(from wire.Node, m *wire.Message) Span {
	if (m.Type == wire.TypePush || m.Type == wire.TypePushPull) && m.Clock > w.step.Load() {
		w.step.Store(m.Clock)
	}
	if m.Flags&wire.FlagTraced == 0 {
		return nil
	}
	place, ok := detach(m)
	if !ok || w.tracer == nil {
		return nil
	}
	now := time.Now()
	span := w.tracer.Begin(place, m.Type.String(), now, "from", from.String(), "key",
		strconv.Itoa(int(m.Key)))
	if m.Type != wire.TypePull && m.Type != wire.TypePushPull {
		return span
	}
	if len(w.answers) >= mostQuestions {
		w.forget(now)
	}
	q := question{from, m.Shard, m.Seq}
	if old := w.answers[q]; old != nil { // sent again
		old.End(now)
	}
	w.answers[q] = span
	return nil
}

// placeSize is the size of a place behind a payload.
const placeSize = 16 + 8

// attach returns a copy of a message with a place behind its payload.
func attach(m *wire.Message, p Place) *wire.Message {
	c := *m
	c.Flags |= wire.FlagTraced
	c.Payload = make([]byte, 0, len(m.Payload)+placeSize)
	c.Payload = append(append(append(c.Payload, m.Payload...), p.Trace[:]...), p.Span[:]...)
	return &c
}

// detach takes the place off a payload.
func detach(m *wire.Message) (p Place, ok bool) {
	m.Flags &^= wire.FlagTraced
	n := len(m.Payload) - placeSize
	if n < 0 {
		return p, false
	}
	copy(p.Trace[:], m.Payload[n:])
	copy(p.Span[:], m.Payload[n+16:])
	m.Payload = m.Payload[:n]
	return p, true
}
