package ndarray

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"unsafe"

	"gomx/device"
	"gomx/dtype"
	"gomx/engine"
	"gomx/op"
	"gomx/op/loss"
)

// Shape is the extent of an array along each axis.
type Shape = dtype.Shape

// Array is an array whose values are computed asynchronously: operations return at once, functions
// that read values wait. Dense arrays are row-major, and several may share one piece of memory
// (views); sparse arrays, see Storage, have no views.
// Arrays are made by the functions of this package; all methods may be called from any goroutine,
// but goroutines that write the same array must agree on the order themselves.
//
// Invariants:
//  1. offset and size lie within the chunk;
//  2. chunk is nil only for placeholders, of which nothing but shape and element type is known;
//  3. traced arrays are on the tape of a Tracing, and their chunk has no variable and no memory.
type Array struct {
	chunk  *chunk
	shape  Shape
	dtype  dtype.Type
	offset int   // bytes from the start of the chunk
	trace  trace // place on a tape; zero if the array is on none
	born   birth // origin of random values made during a Tracing; otherwise zero
	leaf   atomic.Pointer[leaf]
	scope  *Scoped
	closed atomic.Bool
}

// Shape returns the extents. The caller must not change them.
func (a *Array) Shape() Shape {
	if a == nil {
		panic(isNil("Shape"))
	}
	return a.shape
}

// DType returns the element type.
func (a *Array) DType() dtype.Type {
	if a == nil {
		panic(isNil("DType"))
	}
	return a.dtype
}

// Size returns the number of elements.
func (a *Array) Size() int { return a.Shape().Size() }

// Bytes returns the size of the values in bytes, of a sparse array the size of all its elements.
func (a *Array) Bytes() int { return a.Shape().Size() * a.dtype.Size() }

// Storage returns how the values of a lie in memory: Dense, RowSparse or CSR.
func (a *Array) Storage() Storage { return a.memory("Storage").storage() }

// Device returns the device that holds the values.
func (a *Array) Device() device.Device { return a.memory("Device").dev }

// Engine returns the engine that runs the operations on a.
func (a *Array) Engine() *engine.Engine { return a.memory("Engine").eng }

// Var returns the variable of the memory of a; arrays that share memory share it. Operations
// pushed to the engine on a's memory must use it, with Overwrite only if Whole reports true.
func (a *Array) Var() *engine.Var {
	c := a.mem("Var")
	if c.v == nil {
		panic(a.valueless("Var"))
	}
	return c.v
}

// Whole reports whether a covers all of the memory that its variable stands for.
func (a *Array) Whole() bool {
	c := a.memory("Whole")
	return c != nil && (c.sparse != nil || a.offset == 0 && a.Bytes() == c.block.Bytes)
}

// Version returns the number of writes to the memory of a that functions of this package and Touch
// have counted.
func (a *Array) Version() uint64 { return a.memory("Version").writes.Load() }

// Touch counts a write to a that the caller pushed to the engine directly, so that tapes notice it.
func (a *Array) Touch() { a.memory("Touch").writes.Add(1) }

// Pointer returns the address of the first element. It is valid only inside an engine operation
// that uses Var, and stays valid there if a is closed after the operation was pushed. It panics
// when a is sparse.
func (a *Array) Pointer() unsafe.Pointer {
	c := a.memory("Pointer")
	if c.sparse != nil {
		panic(a.notDense("Pointer"))
	}
	return unsafe.Add(c.block.Ptr, a.offset)
}

// Tensor describes a as an operand of kernels. Its address, or the content of a sparse array, is
// valid under the conditions of Pointer.
func (a *Array) Tensor() op.Tensor {
	if c := a.memory("Tensor"); c.sparse != nil {
		return op.Tensor{Sparse: c.sparse, Desc: op.Stored(c.storage(), a.dtype, a.shape)}
	}
	return op.Tensor{Data: a.Pointer(), Desc: op.Plain(a.dtype, a.shape)}
}

// Close releases the memory as soon as the operations on it that are pending are complete and the
// last array that shares it is closed. Using a closed array panics; closing it again does nothing.
// Arrays that are not closed are released after the garbage collector has found that they are
// unreachable.
func (a *Array) Close() {
	if a == nil {
		panic(isNil("Close"))
	}
	if a.chunk != nil && !a.closed.Swap(true) {
		a.chunk.release()
	}
}

// mem returns the chunk; it panics when a is nil or closed. what is the method named in the error.
func (a *Array) mem(what string) *chunk {
	if a == nil {
		panic(isNil(what))
	}
	if a.closed.Load() {
		panic(misuse(what, "", "the array has been closed"))
	}
	return a.chunk
}

// memory returns the chunk, also of a closed array; it panics when a is nil.
func (a *Array) memory(what string) *chunk {
	if a == nil {
		panic(isNil(what))
	}
	return a.chunk
}

// isNil returns the error of method what called on a nil array.
func isNil(what string) *op.Error { return misuse(what, "", "the array is nil") }

// misuse returns the error of a wrong call of a function of this package.
func misuse(what, arg, format string, args ...any) *op.Error {
	return &op.Error{Op: what, Arg: arg, Msg: fmt.Sprintf(format, args...), Site: op.CallSite()}
}

// blame returns err as an *op.Error with operator and call site.
func blame(err error, what string) *op.Error {
	e := *op.WithOp(err, what, "", "").(*op.Error)
	if e.Site == "" {
		e.Site = op.CallSite()
	}
	return &e
}

// chunk is a piece of device memory with its engine variable; the arrays on it share it.
type chunk struct {
	eng     *engine.Engine
	v       *engine.Var
	dev     device.Device
	block   device.Block
	sparse  *op.Sparse    // content of a sparse array, guarded by v; nil: dense, in block
	refs    atomic.Int32  // open arrays on this memory
	writes  atomic.Uint64 // see Array.Version
	cleanup runtime.Cleanup
}

// remains holds the resources to release at the end of a chunk.
type remains struct {
	eng    *engine.Engine
	v      *engine.Var
	block  device.Block
	sparse *op.Sparse
}

func (r remains) free() {
	if r.sparse != nil {
		r.eng.DeleteVarSoon(r.v, freeSparse, r.sparse)
		return
	}
	r.block.Retire()
	r.eng.DeleteVarWith(r.v, freeBlock, &r.block)
}

// freeSparse is the body of the operation that ends a sparse chunk.
func freeSparse(r *engine.Run) error {
	r.Arg.(*op.Sparse).Free()
	return nil
}

// freeBlock is the body of the operation that ends a chunk.
func freeBlock(r *engine.Run) error {
	r.Arg.(*device.Block).Free()
	return nil
}

// owner is an array together with its chunk: one allocation instead of two.
type owner struct {
	array Array
	chunk chunk
}

// newArray allocates an array whose values are undefined.
func newArray(eng *engine.Engine, dev device.Device, t dtype.Type, shape Shape,
	name string) (*Array, error) {
	if !t.Valid() {
		return nil, op.Errorf("dtype", "%v is not an element type", t)
	}
	block, err := device.Alloc(dev, shape.Size()*t.Size(), device.PurposeArray)
	if err != nil {
		return nil, err
	}
	o := &owner{}
	o.chunk.eng, o.chunk.dev, o.chunk.block = eng, dev, block
	o.chunk.v = eng.NewVar(name)
	o.chunk.refs.Store(1)
	o.chunk.cleanup = runtime.AddCleanup(o, remains.free, remains{eng: eng, v: o.chunk.v,
		block: block})
	o.array.chunk, o.array.dtype, o.array.shape = &o.chunk, t, shape
	return &o.array, nil
}

// release drops one reference; the last one frees the memory.
func (c *chunk) release() {
	if c.refs.Add(-1) == 0 && c.v != nil {
		c.cleanup.Stop()
		if c.sparse != nil {
			c.eng.DeleteVarSoon(c.v, freeSparse, c.sparse)
			return
		}
		c.block.Retire()
		c.eng.DeleteVarWith(c.v, freeBlock, &c.block)
	}
}

// share turns b, a zero Array, into an array on the memory of a.
func (a *Array) share(b *Array, what string) *Array {
	c := a.mem(what)
	c.refs.Add(1)
	b.chunk, b.shape, b.dtype, b.offset = c, a.shape, a.dtype, a.offset
	return b
}

// alias returns another array on the memory of a, in a's scope and on no tape.
func (a *Array) alias(what string) *Array { return a.share(&Array{}, what).enter(a.scope) }

// Detach returns an array on the memory of a that is on no tape: operations on it are not recorded.
// A traced array stays on its tape, but gradients do not flow through the result.
func (a *Array) Detach() *Array {
	if a != nil && a.traced() != nil {
		return unary(loss.BlockGrad, a)
	}
	return a.alias("Detach")
}
