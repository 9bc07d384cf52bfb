package main

import (
	"context"
	"fmt"
	"time"

	"gomx/device"
	"gomx/device/null"
	"gomx/engine"
	"gomx/internal/plot"
)

// The simulated accelerator. Times are long enough for the clock of the operating system to be
// exact.
const (
	// how much longer everything takes than it took on the processor
	stretch   = 10
	linkDelay = 500 * time.Microsecond // of every copy
	linkRate  = 100 << 20              // bytes per second
	steps     = 2
)

// replay runs what a recording has on a null device, in the way of a training job whose weights
// live on the host: gradients are copied out, the host updates its weights, and the new ones are
// copied in.
type replay struct {
	*recording
	e       *engine.Engine
	streams map[engine.LaneKind]*null.Stream
	vars    map[*engine.Var]*engine.Var // of the recording to those on the device
	// of parameters of the recording to those of the weights on the host
	hosts map[*engine.Var]*engine.Var
}

// simulate runs the steps of a recording on a null device.
func simulate(ctx context.Context, r *recording) (trace, error) {
	e, err := engine.New(engine.Config{Workers: 1})
	if err != nil {
		return trace{}, err
	}
	p := &replay{r, e, map[engine.LaneKind]*null.Stream{}, map[*engine.Var]*engine.Var{},
		map[*engine.Var]*engine.Var{}}
	for _, lane := range []engine.LaneKind{engine.Compute, engine.CopyIn, engine.CopyOut} {
		p.streams[lane] = null.NewStream()
		defer p.streams[lane].Close()
	}
	p.step("warm-up") // starts the goroutines of the lanes
	if err := e.WaitAll(ctx); err != nil {
		return trace{}, err
	}
	profile := e.StartProfile()
	for i := range steps {
		end := profile.Scope(fmt.Sprint("push step ", i+1))
		p.step(fmt.Sprint("batch ", i+1))
		end()
	}
	if err := e.WaitAll(ctx); err != nil {
		return trace{}, err
	}
	profile.Stop()
	return trace{profile, p.timeline(profile)}, e.Close()
}

// step pushes one step: the copy of a batch, the recorded segments, and the way of every gradient
// and weight over the link.
func (p *replay) step(name string) {
	batch, bytes := p.e.NewVar(name), 0
	for v, n := range p.batch {
		p.vars[v] = batch
		bytes += n
	}
	p.link(engine.CopyIn, name, bytes, engine.Use{Var: batch, Access: engine.Overwrite})
	spans := p.profile.Spans()
	for i := range spans {
		switch s := &spans[i]; p.kind(s) {
		case kindForward, kindBackward:
			p.queue(engine.Compute, s.Name, stretch*(s.End-s.Start), p.uses(s)...)
		case kindOther: // what opens a run of the executor
			p.e.PushUses(&engine.Task{Name: s.Name, Fn: pause, Arg: time.Duration(0), Cheap: true},
				p.uses(s)...)
		}
	}
	for i := range spans {
		if s := &spans[i]; p.kind(s) == kindUpdate && p.updated(s) != nil {
			p.update(s, p.updated(s))
		}
	}
}

// update pushes what becomes of the gradient of weight w in the update s.
func (p *replay) update(s *engine.Span, w *engine.Var) {
	gradient, weight := p.e.NewVar(w.Name()+" gradient"), p.hosts[w]
	if weight == nil {
		weight = p.e.NewVar(w.Name())
		p.hosts[w] = weight
	}
	of := p.params[w]
	out := []engine.Use{{Var: gradient, Access: engine.Overwrite}}
	for _, u := range p.uses(s) {
		if u.Access == engine.Read {
			out = append(out, u)
		}
	}
	p.link(engine.CopyOut, of.name, of.bytes, out...)
	p.e.PushUses(&engine.Task{Name: of.name, Fn: pause, Arg: stretch * (s.End - s.Start)},
		engine.Use{Var: gradient}, engine.Use{Var: weight, Access: engine.Update})
	p.link(engine.CopyIn, of.name, of.bytes, engine.Use{Var: weight}, engine.Use{Var: p.device(w),
		Access: engine.Overwrite})
}

// pause is the body of what takes time on the host.
func pause(r *engine.Run) error {
	time.Sleep(r.Arg.(time.Duration))
	return nil
}

// link pushes a copy to or from the device.
func (p *replay) link(direction engine.LaneKind, name string, bytes int, uses ...engine.Use) {
	p.queue(direction, name, linkDelay+time.Duration(bytes)*time.Second/linkRate, uses...)
}

// queue pushes an operation of the device.
func (p *replay) queue(lane engine.LaneKind, name string, takes time.Duration, uses ...engine.Use) {
	p.e.PushUses(&engine.Task{Name: name, Lane: engine.Lane{Device: device.Null(0), Kind: lane},
		Queued: true,
		Async:  null.Enqueue, Arg: &null.Work{Stream: p.streams[lane], Takes: takes}}, uses...)
}

// uses returns the uses of a span with the variables on the device.
func (p *replay) uses(s *engine.Span) []engine.Use {
	uses := make([]engine.Use, len(s.Uses))
	for i, u := range s.Uses {
		uses[i] = engine.Use{Var: p.device(u.Var), Access: u.Access}
	}
	return uses
}

// device returns the variable that stands for one of the recording.
func (p *replay) device(v *engine.Var) *engine.Var {
	if p.vars[v] == nil {
		p.vars[v] = p.e.NewVar(v.Name())
	}
	return p.vars[v]
}

// timeline draws the replay.
func (p *replay) timeline(profile *engine.Profile) *plot.Timeline {
	t := &plot.Timeline{
		Title: "Two training steps of LeNet on a simulated accelerator whose weights live on " +
			"the host",
		Caption: []string{
			fmt.Sprintf("The null device computes nothing: every operation takes %d times what "+
				"it took on the processor, every copy %v and 1 s for %d MB.", stretch, linkDelay,
				linkRate>>20),
			"Gradients are copied out, updated on the host and the weights copied in while the " +
				"backward pass goes on; the second batch is copied during the first step.",
		},
		Rows: []string{"program", "null(0) copy in", "null(0) compute", "null(0) copy out",
			"worker 0"}, Kinds: traceKinds,
	}
	for _, s := range profile.Spans() {
		b := plot.Box{Row: place(&s, p.e.Workers()), Kind: p.kind(&s), Label: p.label(&s),
			Note: s.Name, Start: s.Start, End: s.End}
		switch {
		case s.Lane.Kind != engine.Compute:
			b.Kind = kindCopy
		case b.Kind == kindOther: // opens a run of the executor, and takes no time
			continue
		case b.Row == "worker 0":
			b.Kind = kindUpdate
		}
		t.Boxes = append(t.Boxes, b)
	}
	return t
}
