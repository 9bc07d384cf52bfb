package exec

import (
	"unsafe"

	"gomx/device"
	"gomx/engine"
	"gomx/op"
)

// queueOf returns the queue of a lane for kernels.
func queueOf(l engine.Lane) (device.Queue, error) {
	kind := device.QueueCompute
	if l.Kind >= engine.Beside {
		kind = device.QueueBeside + device.QueueKind(l.Kind-engine.Beside)
	}
	return device.QueueOf(l.Device, kind)
}

// queueOpen is openRun on a device with queues.
func queueOpen(er *engine.Run, done func(error)) {
	q, err := queueOf(er.Lane())
	if err == nil {
		err = er.Begin(q)
	}
	if err == nil {
		err = openRun(er)
	} else {
		er.Arg.(*run).release()
	}
	if q == nil {
		done(err)
		return
	}
	er.Finish(q, done, err)
}

// queueSegment is the body of segments on devices with queues: it puts the work of all kernels
// there.
func queueSegment(er *engine.Run, done func(error)) {
	sr := er.Arg.(*segmentRun)
	sr.done = done
	if sr.complete == nil {
		sr.complete = sr.completed
	}
	q, err := queueOf(sr.r.b.p.lanes[sr.number])
	if err != nil {
		sr.completed(err)
		return
	}
	if err = er.Begin(q); err == nil {
		err = sr.issue(q)
	}
	er.Finish(q, sr.complete, err)
}

// completed runs when the device has come to the end of the segment.
func (sr *segmentRun) completed(err error) {
	done := sr.done
	sr.done = nil
	sr.r.release()
	done(err)
}

// onHost returns c with outputs that the processor can look at: copies, where the kernel ran on a
// queue.
func onHost(q device.Queue, c *op.Call) (*op.Call, error) {
	if q == nil {
		return c, nil
	}
	host := *c
	host.Out = make([]op.Tensor, len(c.Out))
	for i, t := range c.Out {
		host.Out[i].Desc = t.Desc
		if t.Data == nil || t.Bytes == 0 {
			continue
		}
		words := make([]uint64, (t.Bytes+7)/8) // aligned for every element type
		host.Out[i].Data = unsafe.Pointer(unsafe.SliceData(words))
		if err := q.CopyOut(unsafe.Slice((*byte)(host.Out[i].Data), t.Bytes), t.Data); err != nil {
			return nil, err
		}
	}
	return &host, nil
}
