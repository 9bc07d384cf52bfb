package ndarray

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	"gomx/device"
	"gomx/dtype"
	"gomx/engine"
	"gomx/op"
	"gomx/op/loop"

	"gonum.org/v1/gonum/mat"
)

// FromSlice makes an array on the processor from a copy of data; without a shape it is a vector. It
// panics when the shape does not fit.
func FromSlice[T op.Element](data []T, shape ...int) *Array {
	s := Shape(shape).Clone()
	if len(shape) == 0 {
		s = Shape{len(data)}
	}
	if err := checkShape(s); err != nil {
		panic(misuse("FromSlice", "shape", "%v", err))
	}
	if s.Size() != len(data) {
		panic(misuse("FromSlice", "shape", "%v has %d elements, the slice has %d", s, s.Size(),
			len(data)))
	}
	a, err := newArray(engine.Default(), device.CPU(), op.TypeOf[T](), s, "")
	if err != nil {
		panic(misuse("FromSlice", "", "%v", err))
	}
	copy(unsafe.Slice((*T)(a.chunk.block.Ptr), len(data)), data)
	return a
}

// Values waits for a and returns its values; T must be the Go type of its elements.
func Values[T op.Element](a *Array) ([]T, error) {
	if t := op.TypeOf[T](); a.dtype != t {
		return nil, &op.Error{Op: "Values", Msg: fmt.Sprintf("the elements are %v, want %v",
			a.dtype, t), Site: op.CallSite()}
	}
	data := make([]T, a.Size())
	return data, a.ReadBytes(context.Background(), bytesOf(data))
}

// CopyFrom overwrites the values of a with data, whose length must be a.Size() and whose type must
// be the Go type of a's elements. It waits for pending operations on a, and returns when data has
// been copied.
func CopyFrom[T op.Element](a *Array, data []T) error {
	if t := op.TypeOf[T](); a.dtype != t || len(data) != a.Size() {
		return &op.Error{Op: "CopyFrom", Site: op.CallSite(),
			Msg: fmt.Sprintf("%d elements of %v, want %d of %v", len(data), t, a.Size(), a.dtype)}
	}
	return a.WriteBytes(bytesOf(data))
}

// CopyTo waits for a and copies its values into dst, a slice of a.Size() values of the Go type of
// a's elements.
func (a *Array) CopyTo(ctx context.Context, dst any) error {
	b, t, ok := bytesOfAny(dst)
	if !ok || t != a.dtype || len(b) != a.Bytes() {
		return &op.Error{Op: "CopyTo", Arg: "dst", Site: op.CallSite(),
			Msg: fmt.Sprintf("a %T of %d bytes, want a slice of %d elements of %v", dst, len(b),
				a.Size(), a.dtype)}
	}
	return a.ReadBytes(ctx, b)
}

// ReadBytes waits for a and copies its values, as they lie in the memory of a dense array, into dst,
// which must have a.Bytes() bytes.
func (a *Array) ReadBytes(ctx context.Context, dst []byte) error {
	if len(dst) != a.Bytes() {
		return &op.Error{Op: "ReadBytes", Arg: "dst", Msg: fmt.Sprintf("%d bytes, want %d",
			len(dst), a.Bytes()), Site: op.CallSite()}
	}
	if a.chunk.storage() != op.Dense {
		d := a.Detach().ToStorage(op.Dense)
		defer d.Close()
		return d.transfer(ctx, dst, false)
	}
	return a.transfer(ctx, dst, false)
}

// WriteBytes overwrites the values of a with src, as they lie in the memory of a dense array. It
// waits for pending operations on a, and returns when src has been copied.
func (a *Array) WriteBytes(src []byte) error {
	if len(src) != a.Bytes() {
		return &op.Error{Op: "WriteBytes", Arg: "src", Msg: fmt.Sprintf("%d bytes, want %d",
			len(src), a.Bytes()), Site: op.CallSite()}
	}
	if c := a.mem("WriteBytes"); c.storage() != op.Dense {
		d, err := newArray(c.eng, c.dev, a.dtype, a.shape, "")
		if err != nil {
			return err
		}
		defer d.Close()
		if err := d.transfer(context.Background(), src, true); err != nil {
			return err
		}
		copyArray(a, d)
		return nil
	}
	return a.transfer(context.Background(), src, true)
}

// Float32s waits for a and returns its values converted to float32.
func (a *Array) Float32s() ([]float32, error) {
	if a.DType() == dtype.Float32 {
		return Values[float32](a)
	}
	wide, err := a.Float64s()
	if err != nil {
		return nil, err
	}
	data := make([]float32, len(wide))
	for i, v := range wide {
		data[i] = float32(v)
	}
	return data, nil
}

// Float64s waits for a and returns its values converted to float64.
func (a *Array) Float64s() ([]float64, error) {
	if a.DType() == dtype.Float64 {
		return Values[float64](a)
	}
	t, err := a.host()
	if err != nil {
		return nil, err
	}
	return loop.Floats(t), nil
}

// host waits for a and returns its values in memory of the host.
func (a *Array) host() (op.Tensor, error) {
	raw := make([]uint64, (a.Bytes()+7)/8) // aligned for every element type
	p := unsafe.Pointer(unsafe.SliceData(raw))
	err := a.ReadBytes(context.Background(), unsafe.Slice((*byte)(p), a.Bytes()))
	return op.Tensor{Desc: op.Plain(a.dtype, a.shape), Data: p}, err
}

// Item waits for an array of one element and returns it.
func (a *Array) Item() (float64, error) {
	if a.Size() != 1 {
		return 0, &op.Error{Op: "Item", Msg: fmt.Sprintf("the array has shape %v, want one element",
			a.shape), Site: op.CallSite()}
	}
	v, err := a.Float64s()
	if err != nil {
		return 0, err
	}
	return v[0], nil
}

// Wait waits until everything that writes a is complete, and returns the first error on the way to
// its values, naming the operation, its device and shapes.
func (a *Array) Wait(ctx context.Context) error {
	c, err := a.stored("Wait")
	if err != nil {
		return err
	}
	defer runtime.KeepAlive(a)
	return c.eng.WaitRead(ctx, c.v)
}

// ClearError waits for a and accepts its values in spite of an error, if they are intact: if no
// operation failed while it was writing them. Otherwise it returns the error.
func (a *Array) ClearError() error {
	c, err := a.stored("ClearError")
	if err != nil {
		return err
	}
	defer runtime.KeepAlive(a)
	return c.eng.ClearError(c.v)
}

// bytesOf views the memory of a slice as bytes.
func bytesOf[T op.Element](data []T) []byte {
	var zero T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(data))),
		len(data)*int(unsafe.Sizeof(zero)))
}

// bytesOfAny is bytesOf for a slice of any element type; ok is false for other values.
func bytesOfAny(data any) ([]byte, dtype.Type, bool) {
	switch d := data.(type) {
	case []float32:
		return bytesOf(d), dtype.Float32, true
	case []float64:
		return bytesOf(d), dtype.Float64, true
	case []dtype.Half:
		return bytesOf(d), dtype.Float16, true
	case []dtype.BF16:
		return bytesOf(d), dtype.BFloat16, true
	case []uint8:
		return d, dtype.Uint8, true
	case []int8:
		return bytesOf(d), dtype.Int8, true
	case []int16:
		return bytesOf(d), dtype.Int16, true
	case []uint16:
		return bytesOf(d), dtype.Uint16, true
	case []int32:
		return bytesOf(d), dtype.Int32, true
	case []uint32:
		return bytesOf(d), dtype.Uint32, true
	case []int64:
		return bytesOf(d), dtype.Int64, true
	case []uint64:
		return bytesOf(d), dtype.Uint64, true
	case []bool:
		return bytesOf(d), dtype.Bool, true
	}
	return nil, dtype.Unknown, false
}

// FromMat makes an array of float64 on the processor from a copy of a gonum matrix.
func FromMat(m mat.Matrix) *Array {
	rows, cols := m.Dims()
	if d, ok := m.(*mat.Dense); ok {
		if raw := d.RawMatrix(); raw.Stride == cols {
			return FromSlice(raw.Data[:rows*cols], rows, cols)
		}
	}
	data := make([]float64, 0, rows*cols)
	for i := range rows {
		for k := range cols {
			data = append(data, m.At(i, k))
		}
	}
	return FromSlice(data, rows, cols)
}

// Mat waits for a and returns a copy of its values as a gonum matrix. The array must have two axes,
// or one: a vector becomes a column. An array without elements becomes gonum's empty matrix.
func (a *Array) Mat() (*mat.Dense, error) {
	rows, cols := a.Size(), 1
	switch len(a.shape) {
	case 1:
	case 2:
		rows, cols = a.shape[0], a.shape[1]
	default:
		return nil, &op.Error{Op: "Mat",
			Msg:  fmt.Sprintf("the array has shape %v, want one or two axes", a.shape),
			Site: op.CallSite()}
	}
	v, err := a.Float64s()
	if err != nil {
		return nil, err
	}
	if len(v) == 0 {
		return &mat.Dense{}, nil
	}
	return mat.NewDense(rows, cols, v), nil
}

// Build waits for pending operations on a and lets f write its values, which are undefined before.
// f gets the memory of a itself if a is a dense array of the processor: nothing may use a until f
// returns.
func Build(a *Array, f func(values []byte) error) error {
	if b := a.own(); b != nil &&
		a.mem("Build").eng.WaitWrite(context.Background(), a.Var()) == nil {
		defer runtime.KeepAlive(a)
		a.Touch()
		return f(b)
	}
	b := make([]byte, a.Bytes())
	if err := f(b); err != nil {
		return err
	}
	return a.WriteBytes(b)
}

// own returns the memory of a, nil if the processor cannot use it as dense values.
func (a *Array) own() []byte {
	c, err := a.stored("Build")
	if err != nil || c.storage() != op.Dense || c.dev.Kind != device.KindCPU {
		return nil
	}
	return unsafe.Slice((*byte)(a.Pointer()), a.Bytes())
}

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
	c, err := a.stored("transfer")
	if err != nil {
		return err
	}
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
	d, err := dst.stored("copy")
	if err != nil {
		panic(err)
	}
	s, err := src.stored("copy")
	if err != nil {
		panic(err)
	}
	if d.sparse != nil || s.sparse != nil {
		copyStored(dst, src)
		return
	}
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
