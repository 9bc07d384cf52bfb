package kvstore

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"gomx/kvstore/ps"
	"gomx/kvstore/transport"
	"gomx/kvstore/wire"

	"github.com/rs/zerolog"
)

// machine is what the state machines of package ps have in common.
type machine interface {
	Handle(now ps.Time, from wire.Node, m *wire.Message)
	Tick(now ps.Time)
	Out() *ps.Outbox
	Release(b *ps.Buffer)
	View() *wire.View
}

// Opener opens an endpoint of a transport: mem.Open or zmq.Open with their own arguments filled in.
type Opener func(transport.Config) (transport.Endpoint, error)

// driver binds a state machine to an endpoint and the clock. The machine is used under mu only: by the
// goroutine that receives, by the one that ticks, and by callers of a worker. What the machine wants
// done is done before mu is released, in the order in which it was decided.
type driver struct {
	self  wire.Node
	log   zerolog.Logger
	began time.Time
	ep    transport.Endpoint
	stop  chan struct{}
	done  sync.WaitGroup
	store func(*ps.Outbox)                      // begins to write what is to be durable; mu is held, nothing may be written under it
	ended func(d *ps.Done) ender                // a call of a worker ended; mu is held, but not when whom it returns is told
	tell  func(from wire.Node, m *wire.Message) // a message that the machine ignores; mu is held
	after func(view *wire.View)                 // the view changed; mu is held
	quit  func(err error)                       // the machine cannot go on; mu is held
	pages *http.Server                          // health and metrics, nil if not wanted

	last func() // the endpoint is closed; mu is held

	mu      sync.Mutex
	machine machine
	seen    uint64 // number of the view whose members are connected
	links   links
	closed  bool

	back struct { // payloads that the transport has given back; sent functions run anywhere
		mu   sync.Mutex
		list []*ps.Buffer
	}
	spare []*ps.Buffer
	over  *tellings // to be told when mu is free, nil if nobody is
	idle  sync.Pool // of *tellings
}

// ender is told how a call of a worker ended.
type ender interface{ end(d *ps.Done) }

// tellings are calls that ended, and who is to be told.
type tellings struct{ list []telling }

type telling struct {
	who ender
	how ps.Done
}

// tickEvery is how often the machines look at the clock. Nothing in the protocol is shorter.
const tickEvery = 10 * time.Millisecond

func newDriver(self wire.Node, log zerolog.Logger) *driver {
	return &driver{self: self, log: log, began: time.Now(), stop: make(chan struct{}), links: newLinks()}
}

// open opens the endpoint, whose handler drops what comes before start.
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
	d.mu.Lock()
	switch {
	case d.closed || d.machine == nil:
		d.mu.Unlock()
		return
	case m.Type != wire.TypeAsk && m.Type != wire.TypeTell:
		d.machine.Handle(d.now(), from, m)
	case d.tell != nil:
		d.tell(from, m)
	}
	d.leave()
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

// do lets f use the machine, carries out what it wants done then, and runs the completions. Instead it
// calls closed, if that is not nil, when the machine does not run.
func (d *driver) do(f, closed func()) {
	if d.enter(closed) {
		f()
		d.leave()
	}
}

// enter takes mu, or calls closed, if that is not nil, when the machine does not run.
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

// leave carries out what the machine wants done, releases mu, and tells those whose calls ended.
func (d *driver) leave() {
	d.drain()
	over := d.over
	d.over = nil
	d.mu.Unlock()
	if over == nil {
		return
	}
	for i := range over.list {
		e := &over.list[i]
		e.who.end(&e.how)
	}
	clear(over.list)
	over.list = over.list[:0]
	d.idle.Put(over)
}

// end notes that a call ended.
func (d *driver) end(how *ps.Done) {
	who := d.ended(how)
	if who == nil {
		return
	}
	if d.over == nil {
		if d.over, _ = d.idle.Get().(*tellings); d.over == nil {
			d.over = &tellings{}
		}
	}
	d.over.list = append(d.over.list, telling{who, *how})
}

// drain carries out what the machine wants done. mu is held.
func (d *driver) drain() {
	d.takeBack()
	out := d.machine.Out()
	if d.store != nil {
		d.store(out)
	}
	if v := d.machine.View(); v != nil && v.Number != d.seen {
		d.seen = v.Number
		d.link(v)
		if d.after != nil {
			d.after(v)
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
	if d.ended != nil {
		for i := range out.Done {
			d.end(&out.Done[i])
		}
	}
	if out.Fatal != nil {
		d.fail(out.Fatal)
	}
	out.Reset()
}

// send hands a message to the transport. What cannot be sent is lost: the protocol repeats it.
func (d *driver) send(s *ps.Send) {
	if s.Hold == nil {
		err := d.ep.Send(s.To, &s.Msg, nil)
		if x, ok := d.machine.(*scheduler); ok && errors.Is(err, transport.ErrUnreachable) {
			x.Unreachable(s.To)
		}
		return
	}
	hold := s.Hold
	if hold.Back == nil {
		hold.Back = func() { d.giveBack(hold) }
	}
	if err := d.ep.Send(s.To, &s.Msg, hold.Back); err != nil {
		d.machine.Release(hold)
	}
}

// giveBack notes a payload that the transport is done with.
func (d *driver) giveBack(b *ps.Buffer) {
	d.back.mu.Lock()
	d.back.list = append(d.back.list, b)
	d.back.mu.Unlock()
}

// takeBack returns such payloads to the machine.
func (d *driver) takeBack() {
	d.back.mu.Lock()
	list := d.back.list
	d.back.list = d.spare[:0]
	d.back.mu.Unlock()
	for i, b := range list {
		d.machine.Release(b)
		list[i] = nil
	}
	d.spare = list
}

// event writes a line to the log.
func (d *driver) event(e *ps.Event) {
	level := zerolog.InfoLevel
	if e.Kind == ps.EventWaiting || e.Kind == ps.EventLost {
		level = zerolog.WarnLevel // somebody should look
	}
	d.log.WithLevel(level).Stringer("node", e.Node).Uint32("shard", e.Shard).Uint64("epoch", e.Epoch).Str("detail", e.Text).Msg(eventText(e.Kind))
}

// fail ends the machine's work. mu is held.
func (d *driver) fail(err error) {
	d.log.Error().Err(err).Msg("giving up")
	if d.quit != nil {
		d.quit(err)
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
		_ = d.pages.Close() // whoever reads them is cut off
	}
	d.done.Wait()
	err := d.ep.Close()
	if d.last != nil && d.machine != nil {
		d.mu.Lock()
		d.last()
		d.leave()
	}
	return err
}

// eventText says in words what an event is about.
func eventText(k ps.EventKind) string {
	texts := [...]string{
		ps.EventJoined: "joined", ps.EventDead: "alive or dead", ps.EventLeft: "left", ps.EventPromoted: "serves shard", ps.EventDropped: "gives up shard",
		ps.EventTransfer: "copies shard", ps.EventInSync: "copy in sync", ps.EventDiverged: "copies differ", ps.EventLost: "shard lost",
		ps.EventFenced: "replaced", ps.EventRefused: "message refused", ps.EventSnapshot: "snapshot", ps.EventViewFailed: "view refused",
		ps.EventWaiting: "waits", ps.EventSwapped: "copies change places",
	}
	if int(k) < len(texts) {
		return texts[k]
	}
	return fmt.Sprintf("event %d", k)
}
