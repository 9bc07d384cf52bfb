package kvstore

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"gomx/kvstore/ps"
	"gomx/kvstore/spans"
	"gomx/kvstore/transport"
	"gomx/kvstore/wire"

	"github.com/rs/zerolog"
)

// machine is the common part of the state machines of package ps.
type machine interface {
	Handle(now ps.Time, from wire.Node, m *wire.Message)
	Tick(now ps.Time)
	Out() *ps.Outbox
	Release(b *ps.Loan)
	View() *wire.View
}

// Opener opens an endpoint of a transport: mem.Open or zmq.Open with their own arguments filled in.
type Opener func(transport.Config) (transport.Endpoint, error)

// driver binds a state machine to an endpoint and the clock. Three kinds of goroutines use the
// machine, each under mu: the one that receives messages, the one that ticks, and callers of a
// worker. Before a goroutine releases mu it carries out every output of the machine, in the order
// in which the machine decided them.
type driver struct {
	self  wire.Node
	log   zerolog.Logger
	began time.Time // zero of the machine's clock
	ep    transport.Endpoint
	pages *http.Server // health and metrics; nil without an address for them
	on    hooks
	stop  chan struct{} // closed by close
	done  sync.WaitGroup

	mu      sync.Mutex
	machine machine // nil until start
	links   links
	closed  bool
	endings endings

	returned returned
	changes  changes
}

// hooks are the parts of a driver that differ between scheduler, server and worker. Each may be
// nil. The driver calls them with mu held.
type hooks struct {
	// store begins to write the durable part of an outbox. It must not wait for the disk.
	store func(*ps.Outbox)
	// ended returns the receiver of the end of a worker's call, nil for none. The driver tells the
	// receiver after it has released mu.
	ended func(d *ps.Done) ender
	// tell receives the messages between programs, which the machine ignores.
	tell func(from wire.Node, m *wire.Message)
	// after follows a change of the view.
	after func(view *wire.View)
	// quit follows an error after which the machine cannot go on.
	quit func(err error)
	// last follows the closing of the endpoint.
	last func()
	// watch follows the steps of the process. It is never nil.
	watch *spans.Watch
}

// ender receives the end of a worker's call.
type ender interface{ end(d *ps.Done) }

// endings are calls that ended while mu was held. Their receivers are told when mu is free.
type endings struct {
	now  *endingList // nil when no call has ended since mu was taken
	idle sync.Pool   // of *endingList
}

type endingList struct{ list []callEnd }

type callEnd struct {
	to  ender
	how ps.Done
}

// add notes the end of a call. mu is held.
func (e *endings) add(to ender, how *ps.Done) {
	if e.now == nil {
		if e.now, _ = e.idle.Get().(*endingList); e.now == nil {
			e.now = &endingList{}
		}
	}
	e.now.list = append(e.now.list, callEnd{to, *how})
}

// take returns the ends noted since the last call, nil for none. mu is held.
func (e *endings) take() *endingList {
	list := e.now
	e.now = nil
	return list
}

// tell tells the receivers. mu is free.
func (e *endings) tell(ends *endingList) {
	if ends == nil {
		return
	}
	for i := range ends.list {
		c := &ends.list[i]
		c.to.end(&c.how)
	}
	clear(ends.list)
	ends.list = ends.list[:0]
	e.idle.Put(ends)
}

// returned collects payloads that the transport needs no longer. The transport may return one from
// any goroutine, also from within Send, so they have a mutex of their own.
type returned struct {
	mu    sync.Mutex
	list  []*ps.Loan
	spare []*ps.Loan // memory for the next list; the driver's mu guards it
}

// add notes a payload that the transport returns.
func (r *returned) add(b *ps.Loan) {
	r.mu.Lock()
	r.list = append(r.list, b)
	r.mu.Unlock()
}

// release gives the payloads back to their machine. The driver's mu is held.
func (r *returned) release(m machine) {
	r.mu.Lock()
	list := r.list
	r.list = r.spare[:0]
	r.mu.Unlock()
	for i, b := range list {
		m.Release(b)
		list[i] = nil
	}
	r.spare = list
}

// tickEvery is how often the machines look at the clock. Nothing in the protocol is shorter.
const tickEvery = 10 * time.Millisecond

func newDriver(self wire.Node, log zerolog.Logger) *driver {
	w := spans.New()
	return &driver{self: self, log: log.Hook(w), began: time.Now(), stop: make(chan struct{}),
		links: newLinks(), on: hooks{watch: w}}
}

// open opens the endpoint, whose handler drops messages that come before start.
func (d *driver) open(open Opener, cfg transport.Config) error {
	cfg.Self, cfg.Handler, cfg.Log = d.self, d.handle, d.log
	ep, err := open(cfg)
	if err != nil {
		return fmt.Errorf("kvstore: endpoint of %s: %w", d.self, err)
	}
	d.ep = ep
	return nil
}

// start lets the machine run.
func (d *driver) start(m machine) {
	d.mu.Lock()
	d.machine = m
	d.mu.Unlock()
	d.done.Go(d.tick)
}

// now is the time on the machine's clock. It goes on while the process is stopped.
func (d *driver) now() ps.Time { return ps.Time(time.Since(d.began)) }

// handle is the endpoint's handler.
func (d *driver) handle(from wire.Node, m *wire.Message) {
	var span spans.Span
	d.mu.Lock()
	switch {
	case d.closed || d.machine == nil:
		d.mu.Unlock()
		return
	case m.Type != wire.TypeAsk && m.Type != wire.TypeTell:
		span = d.on.watch.Receives(from, m)
		d.machine.Handle(d.now(), from, m)
	case d.on.tell != nil:
		d.on.tell(from, m)
	}
	d.leave()
	if span != nil {
		span.End(time.Now())
	}
}

func (d *driver) tick() {
	t := time.NewTicker(tickEvery)
	defer t.Stop()
	for {
		select {
		case <-d.stop:
			return
		case <-t.C:
		}
		d.do(func() {
			d.relink()
			d.machine.Tick(d.now())
		}, nil)
	}
}

// do lets f use the machine and carries out its outputs. When the machine does not run, do calls
// closed instead, if closed is not nil.
func (d *driver) do(f, closed func()) {
	if d.enter(closed) {
		f()
		d.leave()
	}
}

// enter takes mu and reports true. When the machine does not run, enter calls closed, if closed is
// not nil, and reports false.
func (d *driver) enter(closed func()) bool {
	d.mu.Lock()
	if !d.closed && d.machine != nil {
		return true
	}
	defer d.mu.Unlock()
	if closed != nil {
		closed()
	}
	return false
}

// leave carries out the outputs of the machine, releases mu, and tells the receivers of calls that
// ended.
func (d *driver) leave() {
	d.drain()
	ends := d.endings.take()
	d.mu.Unlock()
	d.endings.tell(ends)
}

// drain carries out the outputs of the machine. mu is held.
func (d *driver) drain() {
	d.returned.release(d.machine)
	out := d.machine.Out()
	if d.on.store != nil {
		d.on.store(out)
	}
	if v := d.machine.View(); v != nil && v.Number != d.changes.seen {
		d.changes.seen = v.Number
		d.link(v)
		d.changes.see(v, time.Now())
		if d.on.after != nil {
			d.on.after(v)
			out = d.machine.Out()
		}
	}
	for i := range out.Sends {
		d.send(&out.Sends[i])
	}
	if len(out.Recall) > 0 {
		d.recall(out.Recall)
	}
	for i := range out.Events {
		d.event(&out.Events[i])
	}
	if d.on.ended != nil {
		for i := range out.Done {
			if to := d.on.ended(&out.Done[i]); to != nil {
				d.endings.add(to, &out.Done[i])
			}
		}
	}
	if out.Fatal != nil {
		d.fail(out.Fatal)
	}
	out.Reset()
}

// send hands a message to the transport. A message that cannot be sent is lost: the protocol
// repeats it.
func (d *driver) send(s *ps.Send) {
	m := d.on.watch.Sends(s.To, &s.Msg)
	if s.Hold == nil {
		err := d.ep.Send(s.To, m, nil)
		if x, ok := d.machine.(*scheduler); ok && errors.Is(err, transport.ErrUnreachable) {
			x.Unreachable(s.To)
		}
		return
	}
	hold := s.Hold
	if hold.Back == nil {
		hold.Back = func() { d.returned.add(hold) }
	}
	if err := d.ep.Send(s.To, m, hold.Back); err != nil {
		d.machine.Release(hold)
	}
}

// event writes a line to the log.
func (d *driver) event(e *ps.Event) {
	level := zerolog.InfoLevel
	if e.Kind == ps.EventWaiting || e.Kind == ps.EventLost {
		level = zerolog.WarnLevel // somebody should look
	}
	d.log.WithLevel(level).Stringer("node", e.Node).Uint32("shard", e.Shard).Uint64("epoch",
		e.Epoch).Str("detail", e.Text).Msg(eventText(e.Kind))
}

// fail ends the machine's work. mu is held.
func (d *driver) fail(err error) {
	d.log.Error().Err(err).Msg("giving up")
	if d.on.quit != nil {
		d.on.quit(err)
	}
}

// close ends the goroutines and the endpoint.
func (d *driver) close() error {
	d.mu.Lock()
	first := !d.closed
	d.closed = true
	d.mu.Unlock()
	if !first {
		return nil
	}
	close(d.stop)
	if d.pages != nil {
		_ = d.pages.Close() // readers are cut off
	}
	d.done.Wait()
	err := d.ep.Close()
	d.on.watch.Close()
	if d.on.last != nil && d.machine != nil {
		d.mu.Lock()
		d.on.last()
		d.leave()
	}
	return err
}

// eventText is the text of a kind of event in the log.
func eventText(k ps.EventKind) string {
	texts := [...]string{
		ps.EventJoined: "joined", ps.EventDead: "alive or dead", ps.EventLeft: "left",
		ps.EventPromoted: "serves shard", ps.EventDropped: "gives up shard",
		ps.EventTransfer: "copies shard", ps.EventInSync: "copy in sync",
		ps.EventDiverged: "copies differ", ps.EventLost: "shard lost",
		ps.EventFenced: "replaced", ps.EventRefused: "message refused",
		ps.EventSnapshot: "snapshot", ps.EventViewFailed: "view refused",
		ps.EventWaiting: "waits", ps.EventSwapped: "copies change places",
	}
	if int(k) < len(texts) {
		return texts[k]
	}
	return fmt.Sprintf("event %d", k)
}
