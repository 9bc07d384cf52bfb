package symbol

import (
	"unsafe"

	"gomx/device"
	"gomx/engine"
	"gomx/op"
)

// queued reports whether the kernels of a segment put their work on a queue of its device.
func (s *segment) queued() bool {
	return s.lane.Kind == engine.Compute && s.lane.Device.Kind != device.KindCPU && device.HasQueues(s.lane.Device.Kind)
}

// queueSegment is the body of segments on devices with queues: it puts the work of all kernels there.
func queueSegment(er *engine.Run, done func(error)) {
	sr := er.Arg.(*segmentRun)
	sr.done = done
	if sr.complete == nil {
		sr.complete = sr.completed
	}
	q, err := device.QueueOf(sr.seg.lane.Device, device.QueueCompute)
	if err != nil {
		sr.completed(err)
		return
	}
	if err = er.Begin(q); err == nil {
		err = sr.run(q)
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

// onHost returns c with outputs that the processor can look at: copies, where the kernel ran on a queue.
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
