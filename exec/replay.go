package exec

import (
	"unsafe"

	"gomx/compile"
	"gomx/device"
)

// A segment whose kernels would be put on a queue with the same addresses as the time before is
// recorded, and then replayed by one call. It is put there kernel by kernel again when an address
// changes. Recordings belong to the goroutine of the segment's lane.

// record holds the recording of one segment and the facts that decide whether to make or replay it.
type record struct {
	recording device.Recording
	at        []unsafe.Pointer // addresses of the last time
	key       uint64           // of the random numbers of the last time
	known     bool             // at holds the addresses of a run
	changes   int              // how often an address has changed after a recording
	off       bool             // it is not worth it
}

// mostChanges is how many recordings of a segment may turn out useless.
const mostChanges = 3

// issue puts the work of a segment on a queue, by replaying it where that can be done.
func (sr *segmentRun) issue(q device.Queue) error {
	b := sr.r.b
	recorder, ok := q.(device.Recorder)
	if b.records == nil || !ok {
		return sr.run(q)
	}
	rec := &b.records[sr.number]
	if rec.off {
		return sr.run(q)
	}
	if same := rec.compare(sr); !same {
		if rec.recording != nil {
			rec.recording = nil
			rec.changes++
			rec.off = rec.changes >= mostChanges
		}
		return sr.run(q)
	}
	if rec.recording == nil {
		made, err := recorder.Record(sr.r.drawsFrom(), func() error { return sr.run(q) })
		if err != nil {
			return err
		}
		if made == nil {
			rec.off = true
			return sr.run(q)
		}
		rec.recording = made
	}
	return rec.recording.Replay(sr.r.drawsFrom())
}

// compare stores the addresses of a run and reports whether they equal the addresses of the run
// before.
func (rec *record) compare(sr *segmentRun) bool {
	b, n, same := sr.r.b, 0, rec.known
	note := func(p unsafe.Pointer) {
		if n == len(rec.at) {
			rec.at = append(rec.at, nil)
		}
		same = same && rec.at[n] == p
		rec.at[n] = p
		n++
	}
	for _, base := range b.bases {
		note(base)
	}
	if seed := sr.r.seed.Key; seed != rec.key {
		rec.key, same = seed, false
	}
	seg := sr.segment()
	for i := seg.From; i < seg.To; i++ {
		s := &b.p.Steps[i]
		if s.Skip {
			continue
		}
		for k := range s.External {
			note(sr.r.arraysOf(sr.number)[s.External[k].Slot].Pointer())
		}
	}
	rec.known = true
	return same
}

// newRecords returns room for the recordings of a program, nil where nothing is recorded.
func (b *bound) newRecords() []record {
	c := &b.ex.config
	if !c.Replay || c.Guard || b.watch != nil {
		return nil
	}
	list := make([]record, len(b.p.Segments))
	for i := range list {
		list[i].off = !b.p.repeats(&b.p.Segments[i])
	}
	return list
}

// drawsFrom returns the number from which the random numbers of a run count.
func (r *run) drawsFrom() uint64 {
	if r.b.ex.config.lent == nil {
		return r.number << 32
	}
	return r.seed.Counter
}

// repeats reports whether a segment does the same thing in every run, but for random numbers that a
// recording draws anew: it runs on a queue.
func (p *program) repeats(seg *compile.Segment) bool {
	kernels := 0
	for i := seg.From; i < seg.To; i++ {
		if s := &p.Steps[i]; !s.Skip {
			kernels++
			if s.Node.Op.Random && !s.Kernel.Redraws {
				return false
			}
		}
	}
	return kernels > 0 && seg.Lane.Queued()
}
