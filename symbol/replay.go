package symbol

import (
	"unsafe"

	"gomx/device"
)

// A segment whose kernels would be put on a queue with the same addresses as the time before is recorded, and then replayed by one call. It is put there kernel by kernel
// again when an address changes. Recordings belong to the goroutine of the segment's lane.

// record is what is known of one segment.
type record struct {
	recording device.Recording
	at        []unsafe.Pointer // addresses of the last time
	known     bool             // at holds those of a run
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
	rec := &b.records[sr.seg.number]
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
		made, err := recorder.Record(func() error { return sr.run(q) })
		if err != nil {
			return err
		}
		if made == nil {
			rec.off = true
			return sr.run(q)
		}
		rec.recording = made
	}
	return rec.recording.Replay()
}

// compare takes note of the addresses of a run and reports whether they are those of the one before.
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
	for i := sr.seg.from; i < sr.seg.to; i++ {
		s := &b.p.steps[i]
		if s.skip {
			continue
		}
		for k := range s.external {
			note(sr.r.arrays[s.external[k].slot].Pointer())
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
	list := make([]record, len(b.p.segments))
	for i := range list {
		list[i].off = !b.p.repeats(&b.p.segments[i])
	}
	return list
}

// repeats reports whether a segment does the same thing in every run: it draws no random numbers and runs on a queue.
func (p *program) repeats(seg *segment) bool {
	kernels := 0
	for i := seg.from; i < seg.to; i++ {
		if s := &p.steps[i]; !s.skip {
			kernels++
			if s.node.Op.Random {
				return false
			}
		}
	}
	return kernels > 0 && seg.queued()
}
