package ndarray

import (
	"math"
	"runtime"
	"sync/atomic"

	"gomx/device"
	"gomx/dtype"
	"gomx/engine"
	"gomx/op"
	"gomx/op/prim"
	"gomx/op/random"
)

// Empty returns an array whose values are undefined.
func Empty(shape Shape, opts ...Option) *Array {
	if err := checkShape(shape); err != nil {
		panic(misuse("Empty", "shape", "%v", err))
	}
	o := collect(opts)
	a, err := newArray(o.eng, o.dev, o.dtype, append(Shape{}, shape...), o.name)
	if err != nil {
		panic(misuse("Empty", "", "%v", err))
	}
	return a
}

// Make returns an array on an engine and a device whose values are undefined. It is Empty without
// options.
func Make(e *engine.Engine, d device.Device, t dtype.Type, shape Shape) (*Array, error) {
	return newArray(e, d, t, shape, "")
}

// Placeholder returns an array without memory that stands for arrays which come later: package exec
// binds graphs to such arrays. It has a shape, an element type, a device and a variable, but its
// values can neither be read nor written.
func Placeholder(shape Shape, opts ...Option) *Array {
	o := collect(opts)
	p := &owner{}
	p.chunk.eng, p.chunk.dev, p.chunk.v = o.eng, o.dev, o.eng.NewVar(o.name)
	p.chunk.refs.Store(1)
	p.chunk.cleanup = runtime.AddCleanup(p, remains.free, remains{eng: o.eng, v: p.chunk.v})
	p.array.chunk, p.array.dtype, p.array.shape = &p.chunk, o.dtype, shape.Clone()
	return &p.array
}

// Zeros returns an array of zeros.
func Zeros(shape Shape, opts ...Option) *Array { return Full(0, shape, opts...) }

// Ones returns an array of ones.
func Ones(shape Shape, opts ...Option) *Array { return Full(1, shape, opts...) }

// Full returns an array whose elements are v.
func Full(v float64, shape Shape, opts ...Option) *Array {
	a := Empty(shape, opts...)
	if math.Float64bits(v) == 0 && a.chunk.block.Zeroed() && tracings.Load() == 0 {
		return a // its pages take memory at their first use
	}
	fill(a, v)
	return a
}

// Uniform returns uniformly distributed random numbers in [lo, hi).
func Uniform(lo, hi float64, shape Shape, opts ...Option) *Array {
	a := Empty(shape, opts...)
	fillWith(a, random.Uniform.Op, random.UniformParams{Low: lo, High: op.Some(hi),
		DType: op.Some(a.dtype), Shape: []int{a.Size()}}, opts)
	return a
}

// Normal returns normally distributed random numbers.
func Normal(mean, sd float64, shape Shape, opts ...Option) *Array {
	if sd == 0 {
		return Full(mean, shape, opts...)
	}
	a := Empty(shape, opts...)
	fillWith(a, random.Normal.Op, random.NormalParams{Loc: mean, Scale: op.Some(sd),
		DType: op.Some(a.dtype), Shape: []int{a.Size()}}, opts)
	return a
}

// Arange returns the vector start, start+step, … up to but not including stop.
func Arange(start, stop, step float64, opts ...Option) *Array {
	if step == 0 {
		panic(misuse("Arange", "step", "0, want another number"))
	}
	return applyNew(prim.Arange.Op, prim.ArangeParams{Start: start, Stop: op.Some(stop),
		Step: op.Some(step), DType: collect(opts).dtype}, opts)
}

// Fill sets all elements of a to v.
func (a *Array) Fill(v float64) {
	a.mem("Fill")
	a.checkWritable("Fill")
	fill(a, v)
}

// fill sets all elements of a.
func fill(a *Array, v float64) {
	if a.chunk.storage() != op.Dense {
		a.fillSparse(v)
		return
	}
	fillWith(a, prim.Full.Op, prim.FullParams{Shape: []int{a.Size()}, DType: a.dtype, Value: v},
		nil)
}

// fillWith overwrites a by an operator that makes a vector of a's size.
func fillWith(a *Array, o *op.Op, params any, opts []Option) {
	if a.Size() == 0 {
		return
	}
	flat := a.share(&Array{}, o.Name)
	defer flat.Close()
	flat.shape = Shape{a.Size()}
	with := collect(opts)
	iv := invocation{op: o, params: params, out: []*Array{flat}, seed: with.start()}
	iv.first()
	a.reshapeBorn(flat)
}

// applyNew applies an operator without inputs.
func applyNew(made *op.Op, params any, opts []Option) *Array {
	iv := newMaking(made, params, opts)
	return iv.first()
}

// applyNewMany is applyNew for operators with several outputs.
func applyNewMany(made *op.Op, params any, opts []Option) []*Array {
	iv := newMaking(made, params, opts)
	return iv.visible()
}

// newMaking returns an invocation without inputs.
func newMaking(made *op.Op, params any, opts []Option) invocation {
	o := collect(opts)
	if o.dtype != dtype.Float32 {
		params = typed(made, params, o.dtype)
	}
	return invocation{op: made, params: params, eng: o.eng, dev: o.dev, name: o.name,
		seed: o.start()}
}

// typed returns the parameters with t as the element type of the array that the operator makes.
func typed(made *op.Op, params any, t dtype.Type) any {
	p, err := made.Normalize(params)
	if err == nil {
		attrs := made.FormatParams(p)
		attrs["dtype"] = t.String()
		p, err = made.ParseParams(attrs)
	}
	if err != nil {
		panic(op.Errorf("As", "%s does not make arrays of %v: %v", made.Name, t, err))
	}
	return p
}

// stream is the random stream that imperative operations take their numbers from.
type stream struct {
	key  uint64
	next atomic.Uint64
}

// streams holds the process-wide stream; SetSeed replaces it.
var streams atomic.Pointer[stream]

func init() { SetSeed(0) }

// SetSeed starts a new process-wide random stream. Random operations reserve their range of it when
// they are pushed: a program that pushes in the same order gets the same numbers, independent of
// the engine's schedule. A process starts with seed 0.
func SetSeed(seed uint64) { streams.Store(&stream{key: seed}) }

// StreamState is a position in the process-wide random stream.
type StreamState struct {
	Seed uint64 // seed that was given to SetSeed
	Next uint64 // number of the next random value
}

// RandomState returns the position of the process-wide stream, from which random operations draw
// next.
func RandomState() StreamState {
	s := streams.Load()
	return StreamState{s.key, s.next.Load()}
}

// SetRandomState continues the process-wide stream at a position that RandomState has returned.
func SetRandomState(at StreamState) {
	s := &stream{key: at.Seed}
	s.next.Store(at.Next)
	streams.Store(s)
}

// reserve takes the range that the operation uses from the stream and returns it.
func (iv *invocation) reserve(p *plan) op.Seed {
	if s, ok := iv.seed.Get(); ok {
		return s
	}
	return TakeRandom(p.numbers())
}

// numbers returns the count of random numbers that an operation takes from the stream.
func (p *plan) numbers() int { return p.op.Numbers(p.params, p.in, p.out) }

// TakeRandom takes n random numbers from the process-wide stream and returns their place in it.
func TakeRandom(n int) op.Seed {
	s := streams.Load()
	return op.Seed{Key: s.key, Counter: s.next.Add(uint64(n)) - uint64(n)}
}

// Option sets one property of a new array.
type Option func(*options)

type options struct {
	dev    device.Device
	dtype  dtype.Type
	eng    *engine.Engine
	name   string
	seed   uint64
	seeded bool
}

// On puts the array on a device instead of device.CPU().
func On(d device.Device) Option { return func(o *options) { o.dev = d } }

// As gives the array an element type instead of float32.
func As(t dtype.Type) Option { return func(o *options) { o.dtype = t } }

// Seed makes random values a function of seed and shape alone; without it they come from the stream
// that SetSeed starts.
func Seed(seed uint64) Option {
	return func(o *options) { o.seed, o.seeded = seed, true }
}

// Name names the array in error messages and profiles.
func Name(name string) Option { return func(o *options) { o.name = name } }

// Using runs the operations on the array, and on all arrays computed from it, on engine e instead
// of engine.Default(). One operation cannot use arrays of different engines.
func Using(e *engine.Engine) Option { return func(o *options) { o.eng = e } }

// start returns the place in the random stream that the options ask for, if they do.
func (o *options) start() (at op.Opt[op.Seed]) {
	if o.seeded {
		at = op.Some(op.Seed{Key: o.seed})
	}
	return at
}

// Input is an optional input of an operator and its name; see With.
type Input struct {
	name  string
	array *Array
}

// With returns an input that the operator has only with some parameters, such as the lengths of a
// softmax:
//
//	nd.Softmax(x, nd.SoftmaxParams{UseLength: true}, nd.With("length", lengths))
func With(input string, a *Array) Input { return Input{input, a} }

func collect(opts []Option) options {
	var o options
	for _, f := range opts {
		f(&o)
	}
	if o.eng == nil {
		o.eng = engine.Default()
	}
	return o
}

// Opt is an optional parameter, such as P of [DropoutParams]: a parameter whose zero value is legal
// and differs from its default, or which may have no value at all. The zero Opt means the default.
// [Some] returns one with a value, [None] one that has no value.
type Opt[T any] = op.Opt[T]

// Some returns an optional parameter with a value:
//
//	nd.DropoutParams{P: nd.Some(0.2)}
//
// Constants without a point are integers: write nd.Some(1.0) for a parameter of type float64.
func Some[T any](v T) Opt[T] { return op.Some(v) }

// None returns an optional parameter without a value (MXNet's None), for parameters whose default
// is a value:
//
//	nd.SortParams{Axis: nd.None[int]()}
func None[T any]() Opt[T] { return op.None[T]() }
