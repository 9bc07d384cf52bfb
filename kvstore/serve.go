package kvstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"gomx/kvstore/ps"
	"gomx/kvstore/ps/server"
	"gomx/kvstore/update"
	"gomx/kvstore/wire"
)

// ErrNoScheduler says that the scheduler of a job is gone for good: see JobConfig.Patience.
var ErrNoScheduler = ps.ErrNoScheduler

// ErrLost says that all copies of shards are lost: the job can only go on from a snapshot.
var ErrLost = ps.ErrLost

// ErrReplaced says that another process has taken the place of this one in the job.
var ErrReplaced = errors.New("kvstore: another process has taken this place in the job")

// Serve is the work of a scheduler or a server. It returns nil when all workers have said goodbye,
// and an error when the process cannot go on; ctx ends it at once.
func Serve(ctx context.Context, c JobConfig) error {
	if err := c.validate(); err != nil {
		return err
	}
	switch c.Node.Role {
	case wire.Scheduler:
		return serveScheduler(ctx, c)
	case wire.Server:
		return serveServer(ctx, c)
	}
	return fmt.Errorf("kvstore: %s cannot serve", c.Node)
}

// ending collects the reason for which a process ends.
type ending struct {
	once sync.Once
	c    chan error
}

func newEnding() *ending { return &ending{c: make(chan error, 1)} }

func (e *ending) end(err error) { e.once.Do(func() { e.c <- err }) }

// wait waits for the reason or for ctx.
func (e *ending) wait(ctx context.Context) error {
	select {
	case err := <-e.c:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// serveServer holds shards.
func serveServer(ctx context.Context, c JobConfig) error {
	d := newDriver(c.Node, c.Log)
	d.on.watch.Trace(c.Tracer, c.TraceEvery)
	e := newEnding()
	d.on.quit = e.end
	if err := d.open(c.Open, c.transport()); err != nil {
		return err
	}
	restore, err := c.restorer(e.end)
	if err != nil {
		return closing(err, d)
	}
	u := &updaters{by: map[uint32]*update.Updater{}}
	s, err := server.New(server.Config{Job: c.ID, Rank: c.Node.Rank, Nonce: nonce(),
		Addr: d.ep.Addr(), Workers: c.Workers,
		Policy: c.Policy, Backups: c.Backups, Memory: c.Memory, Timing: c.timing(),
		Arithmetic: update.Arithmetic{}, Updater: u.open, Restore: restore})
	if err == nil {
		err = d.reach(&c)
	}
	if err != nil {
		return closing(fmt.Errorf("kvstore: %w", err), d)
	}
	d.on.store = d.saveParts(s, c.Snapshots)
	leaving := false
	d.on.after = func(v *wire.View) {
		switch {
		case s.Fenced():
			e.end(ErrReplaced)
		case v.Member(c.Node).Left && s.Incarnation() != 0 && !over(v):
			e.end(ErrLeft)
		case v.Member(c.Node).Left && s.Incarnation() != 0, over(v) && s.Incarnation() == 0:
			e.end(nil)
		case ps.LostError(v) != nil:
			e.end(fmt.Errorf("kvstore: %w", ps.LostError(v)))
		case over(v) && !leaving:
			leaving = true
			s.Leave()
			time.AfterFunc(lastWord, func() { e.end(nil) })
		}
	}
	d.on.tell = func(from wire.Node, m *wire.Message) { d.answer(s, u, from, m) }
	if err := d.serveStatus(&c, serverPage(d, s), nil); err != nil {
		return closing(err, d)
	}
	d.start(s)
	c.onDrain(func() bool {
		can := false
		d.do(func() { can = s.WantLeave() }, nil)
		return can
	})
	if err = c.silence(ctx, e.wait(ctx)); errors.Is(err, ps.ErrOver) {
		err = nil
	}
	if closeErr := d.close(); err == nil {
		err = closeErr
	}
	return errors.Join(err, u.close())
}

// silence returns the error of a process that has heard nothing of a scheduler: ErrOver instead of
// ErrNoScheduler if the store of the view says that the job has ended well. A process that is started
// again at that time finds no scheduler any more.
func (c *JobConfig) silence(ctx context.Context, err error) error {
	if c.View == nil || !errors.Is(err, ErrNoScheduler) {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, lastQuestion)
	defer cancel()
	if v, failed := c.View.Saved(ctx); failed == nil && v != nil && over(v) {
		return ps.ErrOver
	}
	return err
}

// lastQuestion is the time that the store of the view has to answer a process that gives up.
const lastQuestion = 5 * time.Second

// over reports whether all workers have left.
func over(v *wire.View) bool {
	return len(v.Workers) > 0 && v.Over()
}

// updaters holds an updater per copy of a shard on a server. The machine asks for one whenever it
// begins a copy; the last one of a shard is in use. The driver's lock guards them.
type updaters struct {
	by   map[uint32]*update.Updater
	list []*update.Updater
}

// open makes the updater of a copy of a shard.
func (u *updaters) open(shard uint32) server.Updater {
	x, err := update.New()
	if err != nil {
		panic(err) // the configuration of the engine is valid
	}
	u.by[shard] = x
	u.list = append(u.list, x)
	return x
}

func (u *updaters) close() error {
	var errs []error
	for _, x := range u.list {
		errs = append(errs, x.Close())
	}
	return errors.Join(errs...)
}

// statePiece is about how many bytes of states of rows travel in one message.
const statePiece = 4 << 20

// answer answers a worker's question for the optimizer's state of a slice, of a sparse key for the
// states of rows from one on.
func (d *driver) answer(s *server.Server, u *updaters, from wire.Node, m *wire.Message) {
	v := s.View()
	if m.Type != wire.TypeAsk || v == nil || int(m.Shard) >= len(v.Shards) ||
		!v.Current(from, m.Incarnation) {
		return
	}
	place := v.Shards[m.Shard]
	x := u.by[m.Shard]
	if x == nil || place.Epoch != m.Epoch || place.Primary.Server != d.self.Rank ||
		place.Primary.Incarnation != s.Incarnation() {
		return // asked again when the views agree
	}
	r := wire.Message{Type: wire.TypeTell, Job: m.Job, From: d.self, Incarnation: s.Incarnation(),
		Target: m.Incarnation, Shard: m.Shard, Epoch: m.Epoch,
		Seq: m.Seq, KeySlice: wire.KeySlice{Key: m.Key, Slice: m.Slice, Slices: m.Slices}}
	id := ps.ID{Key: m.Key, Slice: m.Slice}
	if m.Flags&wire.FlagSparse == 0 {
		r.Payload = x.AppendState(nil, id)
	} else if st, ok := s.RowStates(id, m.RowsAsk(), statePiece); ok {
		r.Payload = st.Append(nil)
	}
	_ = d.ep.Send(from, &r, nil) // lost: asked again
}
