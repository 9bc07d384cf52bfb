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

// Settings of the simulated accelerator. Its times are long compared with the resolution of the
// operating system's clock.
const (
	// time on the simulated device, in multiples of the recorded time
	stretch   = 10
	linkDelay = 500 * time.Microsecond // fixed time of every copy
	linkRate  = 100 << 20              // bytes per second
	steps     = 2
)

// replay runs the operations of a recording on a null device, as in a training job whose weights
// are on the host: it copies gradients out, the host updates the weights, and it copies the new
// weights in.
type replay struct {
	*recording
	e       *engine.Engine
	streams map[engine.LaneKind]*null.Stream
	vars    map[*engine.Var]*engine.Var // variable on the device for each of the recording
	// hosts is the variable of the weight on the host for each parameter of the recording.
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

// step pushes one step: the copy of a batch, the recorded segments, the copies of gradients and
// weights, and the updates.
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
		case kindOther: // start of a run of the executor
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

// update pushes the update s of weight w: the copy of its gradient to the host, the update on the
// host, and the copy of the new weight to the device.
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

// pause stands for work on the host: it sleeps for the duration in r.Arg.
func pause(r *engine.Run) error {
	time.Sleep(r.Arg.(time.Duration))
	return nil
}

// link pushes a copy to or from the device.
func (p *replay) link(direction engine.LaneKind, name string, bytes int, uses ...engine.Use) {
	p.queue(direction, name, linkDelay+time.Duration(bytes)*time.Second/linkRate, uses...)
}

// queue pushes an operation of the device that takes the given time.
func (p *replay) queue(lane engine.LaneKind, name string, takes time.Duration, uses ...engine.Use) {
	p.e.PushUses(&engine.Task{Name: name, Lane: engine.Lane{Device: device.Null(0), Kind: lane},
		Queued: true,
		Async:  null.Enqueue, Arg: &null.Work{Stream: p.streams[lane], Takes: takes}}, uses...)
}

// uses returns the uses of a span, with the device's variables in place of the recorded ones.
func (p *replay) uses(s *engine.Span) []engine.Use {
	uses := make([]engine.Use, len(s.Uses))
	for i, u := range s.Uses {
		uses[i] = engine.Use{Var: p.device(u.Var), Access: u.Access}
	}
	return uses
}

// device returns the device's variable for variable v of the recording.
func (p *replay) device(v *engine.Var) *engine.Var {
	if p.vars[v] == nil {
		p.vars[v] = p.e.NewVar(v.Name())
	}
	return p.vars[v]
}

// timeline draws the simulated steps.
func (p *replay) timeline(profile *engine.Profile) *plot.Timeline {
	t := &plot.Timeline{
		Title: "Two training steps of LeNet on a simulated accelerator whose weights live on the " +
			"host",
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
		case b.Kind == kindOther: // start of a run of the executor, which takes no time
			continue
		case b.Row == "worker 0":
			b.Kind = kindUpdate
		}
		t.Boxes = append(t.Boxes, b)
	}
	return t
}
