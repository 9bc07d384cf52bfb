package engine

import (
	"gomx/device"
	"gomx/engine/core"
)

// spec holds the fields of a Task that its run needs.
type spec struct {
	fn      func(r *Run) error
	async   func(r *Run, done func(error))
	id      int32 // of the device
	threads int16
	kind    device.Kind
	lane    LaneKind
	rank    uint8 // of the priority band: the lowest runs first
	rules   core.Rules
	flags
}

// about holds the fields of a Task that its run does not need; flags tell which are set.
type about struct {
	name     string
	describe func() string
	bytes    int64
	site     *site
}

// flags are the properties of an operation.
type flags uint16

const (
	wide flags = 1 << iota
	cheap
	queued
	noSkip    // runs although an input is poisoned
	delete_   // exempt from quotas
	barrier   // belongs to a wait: holds the variable like an update but changes nothing
	kill      // ends the life of its variable
	host      // runs on the processor
	holds     // about.bytes is not zero
	described // about.describe is set
	located   // about.site is set
)

func (f flags) is(g flags) bool { return f&g != 0 }

// set makes o an operation of t.
func (o *oper) set(t *Task, x extra) {
	o.name = t.Name
	f, r := x.flags, core.Rules(0)
	if f.is(barrier) {
		r = core.Silent
	}
	if t.Bytes != 0 {
		o.bytes = t.Bytes
		f |= holds
	}
	if t.Describe != nil {
		o.describe = t.Describe
		f |= described
	}
	if x.site != nil {
		o.site = x.site
		f |= located
	}
	s := &o.spec
	s.fn, s.async = t.Fn, t.Async
	s.id, s.threads = int32(t.Lane.Device.ID), int16(t.Threads)
	s.kind, s.lane, s.rank = t.Lane.Device.Kind, t.Lane.Kind, rank[t.Priority]
	if t.Wide {
		f |= wide
	}
	if t.Cheap {
		f |= cheap
	}
	if t.Queued {
		f |= queued
		r |= core.Queued
	}
	if t.NoSkip {
		f |= noSkip
		r |= core.Always
	}
	if t.Delete {
		f |= delete_
		r |= core.Always
	}
	if s.kind == device.KindCPU {
		f |= host
	}
	s.flags, s.rules = f, r
}

// laneOf returns the lane of the operation.
func (s *spec) laneOf() Lane {
	return Lane{device.Device{Kind: s.kind, ID: int(s.id)}, s.lane}
}
