package engine

import "gomx/device"

// spec holds the fields of a Task apart from its uses and argument, in one cache line.
type spec struct {
	fn       func(r *Run) error
	async    func(r *Run, done func(error))
	name     string
	describe func() string
	bytes    int64
	id       int32 // of the device
	threads  int16
	kind     device.Kind
	lane     LaneKind
	rank     uint8 // of the priority band: the lowest runs first
	flags
}

// flags are the properties of an operation.
type flags uint16

const (
	wide flags = 1 << iota
	cheap
	queued
	noSkip  // runs although an input is poisoned
	delete_ // exempt from quotas
	barrier // belongs to a wait: holds the variable like an update but changes nothing
	kill    // ends the life of its variable
	host    // runs on the processor
)

func (f flags) is(g flags) bool { return f&g != 0 }

// set makes s the spec of t.
func (s *spec) set(t *Task, extra flags) {
	s.fn, s.async, s.describe, s.name = t.Fn, t.Async, t.Describe, t.Name
	s.bytes = t.Bytes
	s.id, s.threads = int32(t.Lane.Device.ID), int16(t.Threads)
	s.kind, s.lane, s.rank = t.Lane.Device.Kind, t.Lane.Kind, rank[t.Priority]
	f := extra
	if t.Wide {
		f |= wide
	}
	if t.Cheap {
		f |= cheap
	}
	if t.Queued {
		f |= queued
	}
	if t.NoSkip {
		f |= noSkip
	}
	if t.Delete {
		f |= delete_
	}
	if s.kind == device.KindCPU {
		f |= host
	}
	s.flags = f
}

// laneOf returns the lane of the operation.
func (s *spec) laneOf() Lane {
	return Lane{device.Device{Kind: s.kind, ID: int(s.id)}, s.lane}
}
