package op

import (
	"fmt"
	"unsafe"

	"gomx/device"
	"gomx/dtype"
)

// Desc describes the memory of one operand.
type Desc struct {
	DType dtype.Type
	Shape dtype.Shape
	// Layout is nil for dense row-major memory; otherwise an opaque comparable value that only
	// kernels of one device understand (a blocked layout). Arguments and outputs of graphs are
	// always plain.
	Layout any
	// Bytes is the size of the memory; for blocked layouts larger than the shape says, and zero for
	// sparse operands, whose size is not known before they are computed.
	Bytes int
	// Storage is Dense for operands whose every element is stored.
	Storage Storage
}

// Plain describes a dense row-major operand.
func Plain(t dtype.Type, s dtype.Shape) Desc {
	return Desc{DType: t, Shape: s, Bytes: s.Size() * t.Size()}
}

// Tensor is an operand at run time: memory and its description. Data is nil for an input that
// the operator ignores and for an output that nobody wants. A sparse operand has Sparse in its
// place.
type Tensor struct {
	Desc
	Data   unsafe.Pointer
	Sparse *Sparse
}

// Slice views the operand's memory as elements of type T, which must be the Go type of its
// elements: it panics with *Error where it is not.
func Slice[T Element](t Tensor) []T {
	if t.Data == nil {
		return nil
	}
	if want := TypeOf[T](); t.DType != want {
		panic(&Error{Msg: fmt.Sprintf("a kernel views an operand of %v %v as %v", t.DType, t.Shape,
			want)})
	}
	return unsafe.Slice((*T)(t.Data), t.Shape.Size())
}

// Bits views the operand's memory as unsigned integers of the size of its elements, for kernels
// that move elements of any type. It panics with *Error where T has another size.
func Bits[T uint8 | uint16 | uint32 | uint64](t Tensor) []T {
	if t.Data == nil {
		return nil
	}
	if size := TypeOf[T]().Size(); t.DType.Size() != size {
		panic(&Error{Msg: fmt.Sprintf("a kernel moves an operand of %v %v as elements of %d bytes",
			t.DType, t.Shape, size)})
	}
	return unsafe.Slice((*T)(t.Data), t.Shape.Size())
}

// Seed is a position in a counter-based random stream; package op/philox makes numbers of it that
// do not depend on scheduling or threads.
type Seed struct {
	Key     uint64
	Counter uint64
}

// Call is one execution of a kernel. An output may share its memory with an input only where the
// operator's Inplace says so.
type Call struct {
	In, Out []Tensor
	Scratch unsafe.Pointer // Prepared.Scratch bytes, 64-byte aligned, undefined content
	Seed    Seed           // set for Random operators
	Values  []float64      // parameters read at run time; nil: those the kernel was prepared with
	Train   bool
	Threads int // of a sparse kernel: how many it may use
	// Queue takes the work of kernels on a device with queues: they return when it has been put
	// there. Nil on hosts.
	Queue device.Queue
}

// Args describes the operands that a kernel is prepared for.
type Args struct {
	In, Out []Desc // Out as inference gave them, plain unless a reader has asked for another layout
	Need    []bool // outputs that are wanted; nil: all
	Free    []bool // outputs whose layout the kernel may choose; nil: none
	Train   bool   // training mode: dropout drops, batch norm learns
	Threads int    // configured cores; a kernel may use up to this many threads

	Device device.Device // where the kernel will run: set by Prepare and Serves

	// Ready makes graphs among the parameters ready to run: the runner of bodies that an executor
	// gives. Nil: kernels compute such graphs node by node.
	Ready func(b BodyArgs) (*Body, error)
}

// Chooses reports whether the kernel may choose the layout of output i.
func (a *Args) Chooses(i int) bool { return a.Free != nil && a.Free[i] }

// Needs reports whether output i is wanted.
func (a *Args) Needs(i int) bool { return a.Need == nil || a.Need[i] }

// Prepared is a kernel ready to run any number of times, also concurrently with separate scratch
// memory and outputs.
type Prepared struct {
	Out     []Desc // descriptions of the outputs; nil: Args.Out
	In      []Desc // what the kernel wants its inputs to be; nil: Args.In
	Scratch int    // bytes of scratch memory per run
	Threads int    // threads that a run uses, fixed here so that results repeat; 0 means 1
	// outputs should not share memory with inputs, even where Inplace allows it: a plainer kernel
	// runs then
	Apart bool
	// Elem describes the function of a kernel that treats elements one by one, in the terms of its
	// device; nil when there is no description. Kernels of chains are made of it.
	Elem any
	// work on a queue reads the outputs until the end of the segment
	Holds bool
	// a recording of the kernel draws other random numbers in each replay
	Redraws bool
	// the implementations that a library has chosen, in the order of their calls; nil: no library
	// is called
	Impls []string
	Run   func(c *Call) error
}

// Prepare readies a kernel for parameters and operands. It returns ErrUnsupported to pass the
// case on to a plainer kernel.
type Prepare[P any] func(p P, a *Args) (*Prepared, error)

// Simple makes a Prepare from a function that needs no preparation and one thread.
func Simple[P any](run func(p P, c *Call) error) Prepare[P] {
	return func(p P, _ *Args) (*Prepared, error) {
		return &Prepared{Run: func(c *Call) error { return run(p, c) }}, nil
	}
}

// kernelKey names a slot for a kernel.
type kernelKey struct {
	kind device.Kind
	tier device.Tier
}

// Prepare readies the fastest kernel up to the given tier for one set of operands on dev. On
// hosts the reference kernel is the last resort, but for operands that are not plain, which give
// ErrUnsupported; on other devices a missing kernel is an error. Only operators with Layouts may
// be offered operands that are not plain.
func (o *Op) Prepare(dev device.Device, tier device.Tier, params any, a *Args) (*Prepared, error) {
	a.Device = dev
	if a.sparse() {
		return o.prepareSparse(dev, params, a)
	}
	for t := int(tier); t >= 0; t-- {
		prep := o.kernels[kernelKey{dev.Kind, device.Tier(t)}]
		if prep == nil {
			continue
		}
		k, err := prep(params, a)
		if err == ErrUnsupported {
			continue
		}
		if err != nil {
			return nil, err
		}
		return k.fill(a), nil
	}
	if dev.Kind != device.KindCPU {
		t := dtype.Unknown
		if len(a.In) > 0 {
			t = a.In[0].DType
		}
		return nil, Errorf("", "no kernel for device %v and dtype %v", dev, t)
	}
	if blocked(a) {
		return nil, ErrUnsupported
	}
	k, err := o.ref(params, a)
	if err != nil {
		return nil, err
	}
	return k.fill(a), nil
}

// blocked reports whether some operand is not plain.
func blocked(a *Args) bool {
	for _, list := range [][]Desc{a.In, a.Out} {
		for i := range list {
			if list[i].Layout != nil {
				return true
			}
		}
	}
	return false
}

// sparse reports whether some operand is not dense.
func (a *Args) sparse() bool {
	for _, list := range [][]Desc{a.In, a.Out} {
		for i := range list {
			if list[i].Storage != Dense {
				return true
			}
		}
	}
	return false
}

// sparseBytes is the size at which the work on a sparse operand is estimated, whose number of
// stored values is not known, if it is smaller than the dense operand would be.
const sparseBytes = 16 << 20

// prepareSparse readies the sparse kernel.
func (o *Op) prepareSparse(dev device.Device, params any, a *Args) (*Prepared, error) {
	if dev.Kind != device.KindCPU {
		return nil, Errorf("", "an operand is sparse and on %v: sparse arrays live on the host",
			dev)
	}
	if o.sparse == nil {
		return nil, Errorf("", "the operator has no kernel for sparse operands")
	}
	work := device.Work{}
	for _, list := range [][]Desc{a.In, a.Out} {
		for _, d := range list {
			bytes := float64(d.Shape.Size() * d.DType.Size())
			if d.Storage != Dense {
				bytes = min(bytes, sparseBytes)
			}
			work.Bytes += bytes
		}
	}
	threads := device.Threads(a.Threads, work.NS())
	k := &Prepared{Threads: threads, Run: func(c *Call) error {
		c.Threads = threads
		return o.sparse(params, c)
	}}
	return k.fill(a), nil
}

func (k *Prepared) fill(a *Args) *Prepared {
	if k.Out == nil {
		k.Out = a.Out
	}
	if k.In == nil {
		k.In = a.In
	}
	k.Threads = max(k.Threads, 1)
	return k
}

// TensorOf wraps a Go slice as a dense operand; without a shape it is a vector.
func TensorOf[T Element](data []T, shape ...int) Tensor {
	s := dtype.Shape(shape)
	if len(shape) == 0 {
		s = dtype.Shape{len(data)}
	}
	return Tensor{Desc: Plain(TypeOf[T](), s), Data: unsafe.Pointer(unsafe.SliceData(data))}
}

// Element is a Go type that arrays hold.
type Element interface {
	float32 | float64 | dtype.Half | dtype.BF16 | uint8 | int8 | int16 | uint16 | int32 | uint32 |
		int64 | uint64 | bool
}

// TypeOf returns the element type of T.
func TypeOf[T Element]() dtype.Type {
	switch any(*new(T)).(type) {
	case float32:
		return dtype.Float32
	case float64:
		return dtype.Float64
	case dtype.Half:
		return dtype.Float16
	case dtype.BF16:
		return dtype.BFloat16
	case uint8:
		return dtype.Uint8
	case int8:
		return dtype.Int8
	case int16:
		return dtype.Int16
	case uint16:
		return dtype.Uint16
	case int32:
		return dtype.Int32
	case uint32:
		return dtype.Uint32
	case int64:
		return dtype.Int64
	case uint64:
		return dtype.Uint64
	}
	return dtype.Bool
}

// Req says how a gradient goes into its array.
type Req uint8

// The gradient requests, MXNet's grad_req.
const (
	ReqWrite Req = iota // it replaces the content of its array
	ReqAdd              // it is added to the content of its array
	ReqNull             // it is not computed
)

var reqNames = [...]string{ReqWrite: "write", ReqAdd: "add", ReqNull: "null"}

// String returns write, add or null.
func (r Req) String() string { return reqNames[r] }

// ParseReq reads the text that Req.String writes.
func ParseReq(s string) (Req, error) {
	for r, n := range reqNames {
		if n == s {
			return Req(r), nil
		}
	}
	return 0, Errorf("grad_req", "%q, want write, add or null", s)
}

// Serves reports whether the kernel of exactly that tier takes the operands.
func (o *Op) Serves(dev device.Device, tier device.Tier, params any, a *Args) bool {
	a.Device = dev
	prep := o.kernels[kernelKey{dev.Kind, tier}]
	if prep == nil {
		return false
	}
	_, err := prep(params, a)
	return err == nil
}
