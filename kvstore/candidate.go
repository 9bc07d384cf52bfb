package kvstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gomx/kvstore/ps"
	"gomx/kvstore/ps/sched"
	"gomx/kvstore/view"
	"gomx/kvstore/wire"
)

// scheduler makes a sched.Scheduler, whose messages are all copied, a machine.
type scheduler struct{ *sched.Scheduler }

// Release implements machine.
func (*scheduler) Release(*ps.Loan) {}

// serveScheduler holds a job together while this process leads. Before, and after another process
// has taken over, this one is a candidate.
func serveScheduler(ctx context.Context, c JobConfig) error {
	store := c.View
	if store == nil && c.Dir != "" {
		store = view.Folder(c.Dir, c.ID)
	}
	for {
		err := c.candidate(ctx, store)
		if !errors.Is(err, view.ErrFenced) {
			return err
		}
		c.Log.Warn().Err(err).Msg("another scheduler leads: this process is a candidate again")
	}
}

// candidate waits until this process leads, and holds the job together until the job ends or
// another scheduler leads. The endpoint is open before, because the store tells others its address;
// messages that come before the process leads are dropped.
func (c *JobConfig) candidate(ctx context.Context, store view.Store) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	d := newDriver(c.Node, c.Log)
	e := newEnding()
	d.on.quit = e.end
	if err := d.open(c.Open, c.transport()); err != nil {
		return err
	}
	if c.Listening != nil {
		c.Listening(d.ep.Addr())
	}
	var s *sched.Scheduler // shown when the driver has it
	pages, served := *c, ""
	pages.Announce = func(addr string) { served = addr } // others shall find the one that leads
	if err := d.serveStatus(&pages, func(st *Status) { schedulerPage(d, s)(st) },
		ordersPage(d, c.ID)); err != nil {
		return closing(err, d)
	}
	sc := sched.Config{Job: c.ID, Products: c.Products, Servers: c.Servers, Workers: c.Workers, Shards: c.shards(),
		Replicas: c.Replicas, Policy: c.Policy, Timing: c.timing()}
	r := &records{d: d, root: c.Snapshots, fenced: e.end, ctx: ctx}
	if store != nil {
		lead, err := d.campaign(ctx, store)
		if err != nil {
			return closing(err, d)
		}
		defer func() { _ = lead.Resign(context.WithoutCancel(ctx)) }() // at last its lease ends
		if sc.View, err = lead.Load(ctx); err != nil {
			return closing(fmt.Errorf("kvstore: view of the scheduler: %w", err), d)
		}
		r.lead, sc.Term = lead, lead.Term()
		d.done.Go(func() { d.untilLost(lead, e) })
	}
	var err error
	if s, err = sched.New(sc); err != nil {
		return closing(fmt.Errorf("kvstore: %w", err), d)
	}
	r.s, d.on.store = s, r.write
	d.start(&scheduler{s})
	if served != "" && c.Announce != nil {
		c.Announce(served)
	}
	late := sc.View != nil && over(sc.View)
	d.done.Go(func() { d.watch(e, s, late) })
	err = e.wait(ctx)
	cancel(err)
	if closeErr := d.close(); err == nil {
		err = closeErr
	}
	return err
}

// campaign waits until this process leads. A store that cannot be reached is asked again.
func (d *driver) campaign(ctx context.Context, store view.Store) (view.Lead, error) {
	for {
		lead, err := store.Campaign(ctx, d.ep.Addr())
		if err == nil {
			d.log.Info().Uint64("term", lead.Term()).Str("addr", d.ep.Addr()).Msg(
				"this scheduler leads")
			return lead, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		d.log.Error().Err(err).Msg("the store of the view cannot be reached, trying again")
		select {
		case <-time.After(writeAgain):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// untilLost ends a scheduler whose lead has ended.
func (d *driver) untilLost(lead view.Lead, e *ending) {
	select {
	case <-lead.Lost():
		e.end(fmt.Errorf("kvstore: %w: the lead of term %d has ended", view.ErrFenced, lead.Term()))
	case <-d.stop:
	}
}

// gone reports whether all servers have left.
func gone(v *wire.View) bool {
	for i := range v.Servers {
		if v.Servers[i].Alive {
			return false
		}
	}
	return true
}

// lastWord is how long a scheduler stays when all workers have left, so that servers can hear of
// it.
const lastWord = 3 * time.Second

// watch ends a scheduler when all have left, or some time after the workers have, or after shards
// are lost. One that finds the job over when it begins stays that time too: the others of its host
// may have been started again with it, and learn from it that nothing is to be done.
func (d *driver) watch(e *ending, s *sched.Scheduler, late bool) {
	t := time.NewTicker(50 * time.Millisecond)
	defer t.Stop()
	var since time.Time
	for {
		select {
		case <-d.stop:
			return
		case <-t.C:
		}
		d.do(func() {
			lost := ps.LostError(s.View())
			switch {
			case s.Done() && gone(s.View()) && !late:
				e.end(nil)
			case since.IsZero() && (s.Done() || lost != nil):
				since = time.Now()
			case !since.IsZero() && time.Since(since) > lastWord:
				if lost != nil {
					lost = fmt.Errorf("kvstore: %w", lost)
				}
				e.end(lost)
			}
		}, nil)
	}
}

// records makes views of a scheduler durable, on goroutines of their own: a disk may be slow, or
// full for a while, and neither heartbeats nor pages wait for it. A write of a view is repeated
// until it succeeds; no process hears of the view before.
type records struct {
	d    *driver
	s    *sched.Scheduler
	lead view.Lead // nil: views are not kept
	root string    // of snapshots; empty: there are none
	// fenced follows a write that was refused because another scheduler leads.
	fenced func(error)
	// ctx ends writes of views that have not ended when the driver closes.
	ctx context.Context
}

// writeAgain is the pause after a view could not be written.
const writeAgain = time.Second

// write begins to write. The driver's lock is held.
func (r *records) write(out *ps.Outbox) {
	if v := out.View; v != nil {
		r.d.done.Go(func() { r.writeView(v) })
	}
	if m := out.Manifest; m != nil {
		r.d.done.Go(func() {
			err := r.writeManifest(m)
			r.d.do(func() { r.s.Recorded(r.d.now(), m.Clock, err) }, nil)
		})
	}
	if len(out.Discard) > 0 && r.root != "" {
		parts := slices.Clone(out.Discard)
		r.d.done.Go(func() { r.discard(parts) })
	}
}

// writeView writes a view, however often that takes, and tells the scheduler. A scheduler that does
// not lead any more ends.
func (r *records) writeView(v *wire.View) {
	for tries := 1; r.lead != nil; tries++ {
		err := r.lead.Save(r.ctx, v)
		if err == nil {
			if tries > 1 {
				r.d.log.Info().Int("tries", tries).Uint64("view",
					v.Number).Msg("view of the scheduler is written at last")
			}
			break
		}
		if errors.Is(err, view.ErrFenced) {
			r.fenced(err)
			return
		}
		if r.ctx.Err() != nil {
			return
		}
		r.d.log.Error().Err(err).Int("tries", tries).Uint64("view",
			v.Number).Msg("view of the scheduler is not written, trying again: members of the " +
			"job cannot change")
		select {
		case <-r.ctx.Done():
			return
		case <-time.After(writeAgain):
		}
	}
	r.d.do(func() { r.s.Persisted(r.d.now(), v.Number) }, nil)
}
