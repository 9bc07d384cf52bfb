package kvstore

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"gomx/kvstore/ps"
	"gomx/kvstore/ps/worker"
	"gomx/kvstore/ring"
	"gomx/kvstore/wire"
)

// Job is a worker's membership in a job. Open finds it in the context.
//
// Completions of calls run on the goroutine that received the answer, outside of the driver's lock.
type Job struct {
	cfg    JobConfig
	driver *driver
	worker *worker.Worker
	ring   *ring.Group // collective rounds with the other workers; nil: the job has servers

	// Guarded by driver.mu.
	waits   map[uint64]ender
	tells   map[uint64]func(*wire.Message)
	asked   uint64
	opened  bool       // by a store
	elastic bool       // the program calls Regroup, or its store has no rounds
	keys    *allreduce // answers the questions of other workers; nil: no such store is open
}

// joinTimeout is how long a worker waits for a job to have servers, unless its context ends before.
const joinTimeout = 10 * time.Minute

type jobKey struct{}

// WithJob returns a context in which Open finds a job.
func WithJob(ctx context.Context, j *Job) context.Context {
	return context.WithValue(ctx, jobKey{}, j)
}

// JobOf returns the job of a context, nil if there is none.
func JobOf(ctx context.Context) *Job {
	j, _ := ctx.Value(jobKey{}).(*Job)
	return j
}

// Join makes this process a worker of a job. It waits until the job has servers.
func Join(ctx context.Context, c JobConfig) (*Job, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	if c.Node.Role != wire.Worker {
		return nil, fmt.Errorf("kvstore: %s cannot join, only workers do", c.Node)
	}
	j := &Job{cfg: c, driver: newDriver(c.Node, c.Log), waits: map[uint64]ender{},
		tells: map[uint64]func(*wire.Message){}}
	j.driver.on.ended, j.driver.on.tell = j.completion, j.told
	j.driver.on.watch.Trace(c.Tracer, c.TraceEvery)
	if err := j.driver.open(c.Open, c.transport()); err != nil {
		return nil, err
	}
	w, err := worker.New(worker.Config{Job: c.ID, Rank: c.Node.Rank, Nonce: nonce(),
		Addr:    j.driver.ep.Addr(),
		Workers: c.Workers, NoServers: c.Servers == 0, Policy: c.Policy, Backups: c.Backups,
		Staleness: worker.Unbounded,
		SliceSize: uint64(c.SliceSize), Timing: c.timing()})
	if err == nil {
		err = j.driver.reach(&c)
	}
	if err != nil {
		return nil, closing(fmt.Errorf("kvstore: %w", err), j.driver)
	}
	j.worker = w
	j.driver.on.last = func() { w.Leave() } // ends the calls that have not ended
	m := machine(w)
	if c.Servers == 0 {
		if m, err = j.withPeers(w); err != nil {
			return nil, closing(fmt.Errorf("kvstore: %w", err), j.driver)
		}
	}
	if err := j.driver.serveStatus(&c, workerPage(j.driver, w), nil); err != nil {
		return nil, closing(err, j.driver)
	}
	j.driver.start(m)
	if _, err := j.wait(ctx, joinTimeout, w.Join); err != nil {
		return nil, closing(fmt.Errorf("kvstore: %s joins the job: %w", c.Node, c.silence(ctx, err)),
			j.driver)
	}
	j.driver.do(func() { j.driver.on.watch.Resume(w.Resumed()) }, nil)
	c.onDrain(j.drain)
	return j, nil
}

// Config returns the configuration of the job and of this process in it.
func (j *Job) Config() JobConfig { return j.cfg }

// closing closes a driver whose job cannot go on.
func closing(err error, d *driver) error {
	_ = d.close() // the first error says more
	return err
}

// Rank returns the worker's number.
func (j *Job) Rank() int { return int(j.cfg.Node.Rank) }

// Workers returns how many workers the job began with.
func (j *Job) Workers() int { return j.cfg.Workers }

// Changes returns the changes of the job that this process has seen, after a number of them. Old ones
// are forgotten.
func (j *Job) Changes(after uint64) []Change { return j.driver.changes.after(after) }

// Snapshots returns the folder for snapshots of the job, empty if it has none: see Snapshotter.
func (j *Job) Snapshots() string { return j.cfg.Snapshots }

// Restored returns the folder of the snapshot from which the job continues, empty if it began by
// itself.
func (j *Job) Restored() string { return j.cfg.Restore }

// OwnFile returns the name of a file of this worker in the folder of the job, which a process that
// takes its place on the same machine finds; empty if the job has no folder.
func (j *Job) OwnFile(name string) string {
	if j.cfg.Dir == "" {
		return ""
	}
	return filepath.Join(j.cfg.Dir, fmt.Sprintf("%s-%x-%d", name, j.cfg.ID, j.Rank()))
}

// request is a call of the worker.
type request interface {
	// start begins the call, which is to end by a deadline. The driver's lock is held.
	start(now, deadline ps.Time) (uint64, error)
	ender // told once, unless starting failed
}

// call begins a call. An error says that it did not begin.
func (j *Job) call(timeout time.Duration, r request) error {
	d := j.driver
	if !d.enter(nil) {
		return ps.ErrClosed
	}
	now := d.now()
	id, err := r.start(now, now+ps.Time(timeout))
	if err == nil && id != 0 { // 0: it is over already
		j.waits[id] = r
	}
	d.leave()
	return err
}

// completion takes in the end of a call and returns whom to tell.
func (j *Job) completion(d *ps.Done) ender {
	who := j.waits[d.ID]
	delete(j.waits, d.ID)
	return who
}

// starter begins a call of the worker.
type starter func(now, deadline ps.Time) (uint64, error)

// awaited is a call that somebody waits for.
type awaited struct {
	begin starter
	ended chan ps.Done
}

func (a *awaited) start(now, deadline ps.Time) (uint64, error) { return a.begin(now, deadline) }
func (a *awaited) end(d *ps.Done)                              { a.ended <- *d }

// wait begins a call and waits until it ends or ctx ends. When ctx ends first the call goes on, so
// it must not use memory of the caller.
func (j *Job) wait(ctx context.Context, timeout time.Duration, start starter) (ps.Done, error) {
	a := &awaited{start, make(chan ps.Done, 1)}
	if err := j.call(timeout, a); err != nil {
		return ps.Done{}, err
	}
	select {
	case d := <-a.ended:
		return d, d.Err
	case <-ctx.Done():
		return ps.Done{}, context.Cause(ctx)
	}
}

// ask sends a question to the primary of a shard, again and again until it is answered.
func (j *Job) ask(ctx context.Context, m wire.Message) (*wire.Message, error) {
	a, err := j.question(ctx, func(id uint64) { j.sendAsk(m, id) })
	if err != nil {
		return nil, fmt.Errorf("kvstore: asking shard %d: %w", m.Shard, err)
	}
	return a, nil
}

// question sends a question, again and again until it is answered. The driver's lock is held while
// send runs.
func (j *Job) question(ctx context.Context, send func(id uint64)) (*wire.Message, error) {
	ended := make(chan *wire.Message, 1)
	var id uint64
	var err error
	j.driver.do(func() {
		j.asked++
		id = j.asked
		j.tells[id] = func(m *wire.Message) {
			answer := *m
			answer.Payload, answer.Owner = append([]byte(nil), m.Payload...), nil
			select {
			case ended <- &answer:
			default:
			}
		}
	}, func() { err = ps.ErrClosed })
	if err != nil {
		return nil, err
	}
	defer j.driver.do(func() { delete(j.tells, id) }, nil)
	again := time.NewTicker(200 * time.Millisecond)
	defer again.Stop()
	for {
		j.driver.do(func() { send(id) }, func() { err = ps.ErrClosed })
		if err != nil {
			return nil, err
		}
		select {
		case m := <-ended:
			return m, nil
		case <-again.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// Products returns the classes of products that the workers of the job compute in bfloat16, as
// device.Products spells them. The scheduler has set them; empty: it has not.
func (j *Job) Products() string {
	j.driver.mu.Lock()
	defer j.driver.mu.Unlock()
	if v := j.worker.View(); v != nil {
		return v.Products
	}
	return ""
}

// sendAsk sends a question once. The driver's lock is held.
func (j *Job) sendAsk(m wire.Message, id uint64) {
	v := j.worker.View()
	if v == nil || int(m.Shard) >= len(v.Shards) {
		return
	}
	place := v.Shards[m.Shard]
	m.Type, m.Job, m.From, m.Incarnation = wire.TypeAsk, j.cfg.ID, j.cfg.Node,
		j.worker.Incarnation()
	m.Seq, m.Epoch = id, place.Epoch
	// lost: repeated
	_ = j.driver.ep.Send(wire.Node{Role: wire.Server, Rank: place.Primary.Server}, &m, nil)
}

// told takes in an answer, or the question of another worker. The driver's lock is held.
func (j *Job) told(from wire.Node, m *wire.Message) {
	if m.Type == wire.TypeAsk && j.keys != nil && from.Role == wire.Worker {
		j.keys.answer(from, m)
		return
	}
	if m.Type != wire.TypeTell || m.Target != j.worker.Incarnation() {
		return
	}
	if f := j.tells[m.Seq]; f != nil {
		f(m)
	}
}

// Close waits until all pushes are committed, says goodbye and leaves the job. It ends with
// ErrNoScheduler when there is no scheduler to say it to.
func (j *Job) Close(ctx context.Context) error {
	err := j.drained(ctx)
	if byeErr := j.goodbye(ctx); err == nil {
		err = byeErr
	}
	if closeErr := j.driver.close(); err == nil {
		err = closeErr
	}
	return err
}

// drained waits until all pushes are committed.
func (j *Job) drained(ctx context.Context) error {
	t := time.NewTicker(tickEvery)
	defer t.Stop()
	for {
		over, fate := false, error(nil)
		j.driver.do(func() { over, fate = j.worker.Drained() || j.worker.Fenced(), j.worker.Err() },
			func() { over = true })
		switch {
		case over:
			return nil
		case fate != nil:
			return fmt.Errorf("kvstore: %s has pushes that are not committed: %w", j.cfg.Node, fate)
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return fmt.Errorf("kvstore: %s leaves with pushes that are not committed: %w",
				j.cfg.Node, context.Cause(ctx))
		}
	}
}

// goodbye repeats that the worker leaves until the scheduler has heard it, or is given up.
func (j *Job) goodbye(ctx context.Context) error {
	for pause := 2 * time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		heard, fate := false, error(nil)
		j.driver.do(func() {
			fate = j.worker.Err()
			heard = j.worker.View() == nil || j.worker.Fenced() ||
				j.worker.View().Member(j.cfg.Node).Left
			if !heard {
				j.worker.Leave()
			}
		}, func() { heard = true })
		switch {
		case heard:
			return nil
		case fate != nil:
			return fmt.Errorf("kvstore: %s cannot leave the job: %w", j.cfg.Node, fate)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return fmt.Errorf("kvstore: %s leaves without a word of the scheduler: %w", j.cfg.Node,
				context.Cause(ctx))
		}
	}
}

// Abandon leaves without a message, as if the process had died: processes that wait for this worker
// wait for its successor.
func (j *Job) Abandon() error { return j.driver.close() }
