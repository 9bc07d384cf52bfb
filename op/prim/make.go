package prim

import (
	"math"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// InitParams are the parameters of Zeros and Ones.
type InitParams struct {
	Shape   []int      `op:"shape" doc:"shape of the output; extents of zero are inferred from its use"`
	Ctx     string     `op:"ctx" doc:"device, as in cpu(0)"`
	DType   dtype.Type `op:"dtype" doc:"element type of the output"`
	NPShape bool       `op:"np_shape" doc:"shape as in numpy: () is a scalar, zero an extent without elements, -1 is inferred"`
}

// ZerosLaterParams are the parameters of ZerosLater.
type ZerosLaterParams struct {
	Shape []int              `op:"shape" doc:"shape of the output; extents of zero are inferred from its use"`
	Ctx   string             `op:"ctx" doc:"device, as in cpu(0)"`
	DType op.Opt[dtype.Type] `op:"dtype" default:"-1" doc:"element type of the output; -1 is inferred from its use"`
}

// FullParams are the parameters of Full.
type FullParams struct {
	Shape   []int      `op:"shape" doc:"shape of the output; extents of zero are inferred from its use"`
	Ctx     string     `op:"ctx" doc:"device, as in cpu(0)"`
	DType   dtype.Type `op:"dtype" doc:"element type of the output"`
	Value   float64    `op:"value,required" doc:"value of all elements"`
	NPShape bool       `op:"np_shape" doc:"shape as in numpy: () is a scalar, zero an extent without elements, -1 is inferred"`
}

// ArangeParams are the parameters of Arange.
type ArangeParams struct {
	Start      float64         `op:"start,required" doc:"first value; without stop: the end, and 0 is the first"`
	Stop       op.Opt[float64] `op:"stop" doc:"end, not included"`
	Step       op.Opt[float64] `op:"step" default:"1" doc:"distance of values"`
	Repeat     int             `op:"repeat" default:"1" min:"1" doc:"how often each value repeats"`
	InferRange bool            `op:"infer_range" doc:"take the number of values from the use of the output"`
	Ctx        string          `op:"ctx" doc:"device, as in cpu(0)"`
	DType      dtype.Type      `op:"dtype" doc:"element type of the output"`
}

// LinspaceParams are the parameters of Linspace.
type LinspaceParams struct {
	Start      float64    `op:"start,required" doc:"first value"`
	Stop       float64    `op:"stop,required" doc:"last value, or the end"`
	Num        int        `op:"num,required" min:"0" doc:"number of values"`
	NoEndpoint bool       `op:"endpoint,not" doc:"whether stop is the last value"`
	Ctx        string     `op:"ctx" doc:"device, as in cpu(0)"`
	DType      dtype.Type `op:"dtype" doc:"element type of the output"`
}

// EyeParams are the parameters of Eye.
type EyeParams struct {
	N     int        `op:"N,required" min:"1" doc:"number of rows"`
	M     int        `op:"M" min:"0" doc:"number of columns; zero: as many as rows"`
	K     int        `op:"k" doc:"which diagonal; positive above the main one"`
	Ctx   string     `op:"ctx" doc:"device, as in cpu(0)"`
	DType dtype.Type `op:"dtype" doc:"element type of the output"`
}

// ArangeLikeParams are the parameters of ArangeLike.
type ArangeLikeParams struct {
	Start  float64         `op:"start" doc:"first value"`
	Step   op.Opt[float64] `op:"step" default:"1" doc:"distance of values"`
	Repeat int             `op:"repeat" default:"1" min:"1" doc:"how often each value repeats"`
	Ctx    string          `op:"ctx" doc:"device, as in cpu(0)"`
	Axis   op.Opt[int]     `op:"axis" doc:"axis of data that gives the number of values; None: its whole shape"`
}

// The operators that make arrays from nothing.
var (
	Zeros      = op.Declare[InitParams]("_zeros")
	ZerosLater = op.Declare[ZerosLaterParams]("_zeros_without_dtype")
	Ones       = op.Declare[InitParams]("_ones")
	Full       = op.Declare[FullParams]("_full")
	Arange     = op.Declare[ArangeParams]("_arange")
	Linspace   = op.Declare[LinspaceParams]("_linspace")
	Eye        = op.Declare[EyeParams]("_eye")
	ArangeLike = op.Declare[ArangeLikeParams]("_contrib_arange_like")
)

func init() {
	Zeros.Define(filler("Zeros makes zeros.", InitParams.desc,
		func(InitParams) float64 { return 0 }))
	later := filler("ZerosWithoutDtype makes zeros of the element type that the output's use asks for.",
		ZerosLaterParams.desc, func(ZerosLaterParams) float64 { return 0 })
	later.InferType = func(p ZerosLaterParams, _, out []dtype.Type) error {
		if p.DType.Value() == dtype.Unknown {
			return nil
		}
		return requireType("output", &out[0], p.DType.Value())
	}
	ZerosLater.Define(later)
	Ones.Define(filler("Ones makes ones.", InitParams.desc, func(InitParams) float64 { return 1 }))
	Full.Define(filler("Full makes an array of one value.", func(p FullParams) (dtype.Shape,
		dtype.Type) {
		return p.Wanted(), p.DType
	}, func(p FullParams) float64 { return p.Value }, "_npi_full"))
	s := maker(`Arange makes the values start, start+step, … up to stop, which is left out.

There are as many values as start, stop and step say. For integers and float16 start and step then
lose their fractions before the values are computed, as in MXNet 1.9.1.`, ArangeParams.desc, ArangeParams.value)
	infer := s.Infer
	s.Infer = func(p ArangeParams, in, out []dtype.Shape) error {
		if err := p.check(); err != nil {
			return err
		}
		return infer(p, in, out)
	}
	Arange.Define(s)
	Linspace.Define(maker("Linspace makes num values at equal distances from start to stop.",
		LinspaceParams.desc, LinspaceParams.value, "_npi_linspace"))
	Eye.Define(maker("Eye makes a matrix with ones on a diagonal and zeros elsewhere.",
		EyeParams.desc, EyeParams.value))
	ArangeLike.Define(op.Spec[ArangeLikeParams]{
		Traits: op.Traits{
			Doc: "ArangeLike makes the values start, start+step, … in the shape of data, or as " +
				"many as an axis of data has. For integers and float16 start and step lose their " +
				"fractions, as in MXNet 1.9.1.",
			Aliases: []string{"_npx_arange_like"},
			GoName:  "ArangeLike",
			Ignores: []int{0},
			Moves:   true,
		},
		Infer: inferArangeLike,
		Grad:  ZeroGrad[ArangeLikeParams],
		Ref: func(p ArangeLikeParams, c *op.Call) error {
			start, step := stepsOf(c.Out[0].DType, p.Start, p.Step.Value())
			loop.Generate(c.Out[0], func(i int) float64 { return start + float64(i/p.Repeat)*step })
			return nil
		},
	})
}

// maker defines an operator without inputs: desc gives the shape and element type of its output,
// value the element i of n.
func maker[P any](doc string, desc func(P) (dtype.Shape, dtype.Type),
	value func(P) func(i, n int) float64, aliases ...string) op.Spec[P] {
	return op.Spec[P]{
		Traits: op.Traits{Doc: doc, Aliases: aliases, Moves: true},
		Inputs: Inputs[P](),
		Infer: func(p P, _, out []dtype.Shape) error {
			s, _ := desc(p)
			return op.Require("output", &out[0], s)
		},
		InferType: func(p P, _, out []dtype.Type) error {
			_, t := desc(p)
			return requireType("output", &out[0], t)
		},
		Grad: ZeroGrad[P],
		Ref: func(p P, c *op.Call) error {
			f, n := value(p), c.Out[0].Shape.Size()
			loop.Generate(c.Out[0], func(i int) float64 { return f(i, n) })
			return nil
		},
	}
}

// filler is maker for operators whose elements are all one number.
func filler[P any](doc string, desc func(P) (dtype.Shape, dtype.Type), value func(P) float64,
	aliases ...string) op.Spec[P] {
	s := maker(doc, desc, func(p P) func(i, n int) float64 {
		v := value(p)
		return func(int, int) float64 { return v }
	}, aliases...)
	s.Fill = value
	return s
}

// WantedShape turns the shape parameter of operators without inputs into a shape for inference:
// extents of zero, and an empty shape, are unknown.
func WantedShape(shape []int) dtype.Shape {
	if len(shape) == 0 {
		return nil
	}
	s := dtype.Shape(shape).Clone()
	for i, d := range s {
		if d == 0 {
			s[i] = -1
		}
	}
	return s
}

// Wanted is the shape of the output as far as the parameters say it.
func (p InitParams) Wanted() dtype.Shape { return wantedShape(p.Shape, p.NPShape) }

// Wanted is the shape of the output as far as the parameters say it.
func (p FullParams) Wanted() dtype.Shape { return wantedShape(p.Shape, p.NPShape) }

func wantedShape(shape []int, numpy bool) dtype.Shape {
	if numpy {
		return append(dtype.Shape{}, shape...)
	}
	return WantedShape(shape)
}

func (p InitParams) desc() (dtype.Shape, dtype.Type) { return p.Wanted(), p.DType }

func (p ZerosLaterParams) desc() (dtype.Shape, dtype.Type) {
	return WantedShape(p.Shape), p.DType.Value()
}

// bounds returns the first value and the end; ok is false when the end is to be inferred.
func (p ArangeParams) bounds() (start, stop float64, ok bool) {
	stop, ok = p.Stop.Get()
	switch {
	case ok:
		return p.Start, stop, true
	case p.InferRange:
		return p.Start, 0, false
	}
	return 0, p.Start, true
}

func (p ArangeParams) check() error {
	start, stop, ok := p.bounds()
	if ok && (stop-start)*p.Step.Value() < 0 {
		return op.Errorf("step", "%v from %v to %v never arrives", p.Step.Value(), start, stop)
	}
	if n := (stop - start) / p.Step.Value(); !(n < 1<<40) {
		return op.Errorf("stop", "%v values from %v to %v are too many", n, start, stop)
	}
	return nil
}

func (p ArangeParams) desc() (dtype.Shape, dtype.Type) {
	start, stop, ok := p.bounds()
	if !ok {
		return dtype.Shape{-1}, p.DType
	}
	return dtype.Shape{int(math.Ceil((stop-start)/p.Step.Value())) * p.Repeat}, p.DType
}

func (p ArangeParams) value() func(i, n int) float64 {
	first, _, _ := p.bounds()
	start, step := stepsOf(p.DType, first, p.Step.Value())
	return func(i, _ int) float64 { return start + float64(i/p.Repeat)*step }
}

// stepsOf returns the first value and the distance that MXNet computes the values of an element
// type with: for integers and float16 it takes their whole parts.
func stepsOf(t dtype.Type, start, step float64) (float64, float64) {
	switch {
	case t == dtype.Float16:
		half := func(v float64) float64 { return float64(dtype.HalfOf(float32(v)).Float32()) }
		return math.Trunc(half(start)), math.Trunc(half(step))
	case loop.Exact(t):
		return math.Trunc(start), math.Trunc(step)
	}
	return start, step
}

func (p LinspaceParams) desc() (dtype.Shape, dtype.Type) { return dtype.Shape{p.Num}, p.DType }

func (p LinspaceParams) value() func(i, n int) float64 {
	gaps := p.Num - 1
	if p.NoEndpoint {
		gaps = p.Num
	}
	step := (p.Stop - p.Start) / float64(max(gaps, 1))
	return func(i, _ int) float64 { return p.Start + float64(i)*step }
}

func (p EyeParams) desc() (dtype.Shape, dtype.Type) {
	if p.M == 0 {
		p.M = p.N
	}
	return dtype.Shape{p.N, p.M}, p.DType
}

func (p EyeParams) value() func(i, n int) float64 {
	return func(i, n int) float64 {
		cols := n / p.N
		return bit[float64](i%cols == i/cols+p.K)
	}
}

func inferArangeLike(p ArangeLikeParams, in, out []dtype.Shape) error {
	axis, ok := p.Axis.Get()
	if !ok {
		return op.SameShape(p, in, out)
	}
	if in[0] == nil {
		return nil
	}
	a, err := Axis("axis", axis, len(in[0]))
	if err != nil {
		return err
	}
	if err := op.Require("output", &out[0], dtype.Shape{in[0][a]}); err != nil {
		return err
	}
	in[0][a] = out[0][0]
	return nil
}
