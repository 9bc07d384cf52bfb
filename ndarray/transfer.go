package ndarray

import (
	"context"
	"runtime"
	"sync"
	"unsafe"

	"gomx/device"
	"gomx/engine"
)

// transfer is a copy between an array and memory of the program. The engine must not touch the
// program's memory after the caller has returned. So the first of two events decides: the engine
// starts the copy, or the caller's context ends and cancels the copy.
type transfer struct {
	mu      sync.Mutex // held during the copy
	gone    bool       // the caller has returned; guarded by mu
	block   device.Block
	offset  int    // bytes from the start of block
	host    []byte // memory of the program, owned by the caller
	write   bool   // copy from host to block
	partial bool   // writes part of the memory only, so a poisoned value stays poisoned
	done    chan error
	uses    [1]engine.Use
}

var transfers = sync.Pool{New: func() any { return &transfer{done: make(chan error, 1)} }}

// inlineBytes bounds the size of copies that may run on the caller's goroutine.
const inlineBytes = 64 << 10

// transfer copies host to a if write is set, a to host otherwise, as an operation of the engine,
// and waits for it.
func (a *Array) transfer(ctx context.Context, host []byte, write bool) error {
	c := a.mem("transfer")
	defer runtime.KeepAlive(a)
	if ctx == nil {
		ctx = context.Background()
	}
	task := engine.Task{Name: "copy to host", Fn: runTransfer, NoSkip: true,
		Lane:  engine.Lane{Device: a.chunk.dev, Kind: engine.CopyOut},
		Cheap: len(host) <= inlineBytes}
	access := engine.Read
	wait := c.eng.WaitRead
	if write {
		task.Name, task.Lane.Kind = "copy from host", engine.CopyIn
		access, wait = a.writing(), c.eng.WaitWrite
		c.writes.Add(1)
	}
	// After waiting first, the caller can most often run the copy itself.
	if err := wait(ctx, c.v); err != nil && (ctx.Err() != nil || access != engine.Overwrite) {
		return err
	}
	t := transfers.Get().(*transfer)
	t.gone, t.block, t.offset, t.host = false, c.block, a.offset, host
	t.write, t.partial = write, access == engine.Update
	task.Arg = t
	t.uses[0] = engine.Use{Var: c.v, Access: access}
	task.Uses = t.uses[:]
	c.eng.Push(&task)
	select {
	case err := <-t.done:
		t.host = nil
		transfers.Put(t)
		return err
	case <-ctx.Done():
		t.mu.Lock()
		t.gone, t.host = true, nil
		t.mu.Unlock()
		return ctx.Err()
	}
}

// runTransfer is the body of a transfer.
func runTransfer(r *engine.Run) error {
	t := r.Arg.(*transfer)
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.gone:
	case r.Poison() != nil && (!t.write || t.partial):
		t.done <- r.Poison()
	case t.write:
		t.block.CopyIn(t.offset, t.host)
		t.done <- nil
	default:
		t.block.CopyOut(t.host, t.offset)
		t.done <- nil
	}
	return nil
}

// copyArray copies the values of src into dst, which has the same size and element type; they may
// be on different devices.
func copyArray(dst, src *Array) {
	d, s := dst.mem("copy"), src.mem("copy")
	lane := engine.Lane{Device: d.dev, Kind: engine.CopyIn}
	if d.dev.Kind == device.KindCPU {
		lane = engine.Lane{Device: s.dev, Kind: engine.CopyOut}
	}
	if d.dev == s.dev {
		lane.Kind = engine.Compute
	}
	uses := [2]engine.Use{{Var: s.v, Access: engine.Read}, {Var: d.v, Access: dst.writing()}}
	d.writes.Add(1)
	task := engine.Task{Name: "copy", Fn: runCopy, Arg: &blockCopy{d.block, s.block, dst.offset,
		src.offset, src.Bytes()},
		Lane: lane, Uses: uses[:], Bytes: int64(src.Bytes()), Cheap: src.Bytes() <= cheapBytes}
	if d.dev.Kind != device.KindCPU && device.HasQueues(d.dev.Kind) &&
		(s.dev.Kind == device.KindCPU || s.dev.Kind == d.dev.Kind) {
		task.Fn, task.Async, task.Queued, task.Cheap = nil, queueCopy, true, false
	}
	d.eng.Push(&task)
	runtime.KeepAlive(dst)
	runtime.KeepAlive(src)
}

// blockCopy is the argument of runCopy.
type blockCopy struct {
	dst, src    device.Block
	dstOff, off int
	bytes       int
}

// runCopy copies between blocks.
func runCopy(r *engine.Run) error {
	c := r.Arg.(*blockCopy)
	return device.Copy(c.dst.Device(), unsafe.Add(c.dst.Ptr, c.dstOff), c.src.Device(),
		unsafe.Add(c.src.Ptr, c.off), c.bytes)
}

// queueCopy is the body of copies to a device with queues: from the host or from a device of the
// same kind.
func queueCopy(r *engine.Run, done func(error)) {
	c := r.Arg.(*blockCopy)
	q, err := device.QueueOf(r.Lane().Device, device.QueueKind(r.Lane().Kind))
	if err != nil {
		done(err)
		return
	}
	if err = r.Begin(q); err == nil {
		dst, from := unsafe.Add(c.dst.Ptr, c.dstOff), c.src.Device()
		if from.Kind == device.KindCPU {
			err = q.CopyIn(dst, unsafe.Slice((*byte)(unsafe.Add(c.src.Ptr, c.off)), c.bytes))
		} else {
			err = q.CopyFrom(dst, from, unsafe.Add(c.src.Ptr, c.off), c.bytes)
		}
	}
	r.Finish(q, done, err)
}
