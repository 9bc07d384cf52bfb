package optest

import (
	"errors"
	"fmt"
	"unsafe"

	"gomx/device"
	"gomx/dtype"
	"gomx/op"
)

// Runner is the environment in which a graph is interpreted.
type Runner struct {
	Train bool
	Seed  op.Seed     // seed of every random node
	Tier  device.Tier // tier of the fastest kernels to use; the zero value is the reference
	// Device runs the operators for which it has kernels; the reference computes the others. The
	// zero value is the processor.
	Device device.Device
}

// Eval interprets the graph that outputs depend on with reference kernels, in inference mode.
// Feeds give the variables; operators that mutate inputs change them in place.
func Eval(outputs []op.Entry, feeds map[*op.Node]op.Tensor) ([]op.Tensor, error) {
	return Runner{}.Eval(outputs, feeds)
}

// Eval interprets the graph that outputs depend on, node by node.
func (r Runner) Eval(outputs []op.Entry, feeds map[*op.Node]op.Tensor) ([]op.Tensor, error) {
	values := map[op.Entry]op.Tensor{}
	for _, n := range op.Topo(outputs) {
		if n.IsVar() {
			v, ok := feeds[n]
			if !ok {
				return nil, fmt.Errorf("optest: variable %s has no feed", n.Name)
			}
			values[n.Entry(0)] = v
			continue
		}
		in := make([]op.Tensor, len(n.In))
		for i, e := range n.In {
			in[i] = values[e]
		}
		out, err := r.Apply(n.Op, n.Params, in)
		if err != nil {
			return nil, op.WithOp(err, n.Op.Name, n.Name, n.Site)
		}
		for i, t := range out {
			values[n.Entry(i)] = t
		}
	}
	res := make([]op.Tensor, len(outputs))
	for i, e := range outputs {
		res[i] = values[e]
	}
	return res, nil
}

// Apply infers the outputs of one operator from its inputs, allocates and computes them.
func (r Runner) Apply(o *op.Op, params any, in []op.Tensor) ([]op.Tensor, error) {
	descs, err := Infer(o, params, in)
	if err != nil {
		return nil, err
	}
	out := make([]op.Tensor, len(descs))
	for i, d := range descs {
		out[i] = New(d.DType, d.Shape...)
		poison(rawBytes(out[i]))
	}
	return out, r.call(o, params, in, out)
}

// call prepares and runs a kernel for given operands; it does not compute outputs without memory.
func (r Runner) call(o *op.Op, params any, in, out []op.Tensor) error {
	if r.Device.Kind != device.KindCPU {
		if err := r.onDevice(r.Device, o, params, in, out); !errors.Is(err, errNotServed) {
			return err
		}
	}
	a := &op.Args{In: make([]op.Desc, len(in)), Out: make([]op.Desc, len(out)),
		Need: make([]bool, len(out)), Train: r.Train, Threads: 1}
	for i, t := range in {
		a.In[i] = t.Desc
	}
	for i, t := range out {
		a.Out[i], a.Need[i] = t.Desc, t.Data != nil
	}
	if c := o.Cost(params, a.In, a.Out); c.FLOPs < 0 || c.Bytes < 0 {
		return fmt.Errorf("the cost of %s is %+v, want numbers from zero on", o.Name, c)
	}
	k, err := o.Prepare(device.CPU(), r.Tier, params, a)
	if err != nil {
		return err
	}
	for i, d := range k.Out {
		if d.Layout != nil {
			return fmt.Errorf("output %d: kernel chose layout %v for plain operands", i, d.Layout)
		}
	}
	scratch := make([]uint64, k.Scratch/8+16)
	for i := range scratch {
		scratch[i] = ^uint64(0)
	}
	at := (64 - uintptr(unsafe.Pointer(unsafe.SliceData(scratch)))%64) % 64
	return k.Run(&op.Call{In: in, Out: out, Train: r.Train, Seed: r.Seed,
		Scratch: unsafe.Add(unsafe.Pointer(unsafe.SliceData(scratch)), at)})
}

// Infer returns the descriptions of an operator's outputs for inputs of known description.
func Infer(o *op.Op, params any, in []op.Tensor) ([]op.Desc, error) {
	names := o.Outputs(params)
	inShapes, inTypes := make([]dtype.Shape, len(in)), make([]dtype.Type, len(in))
	for i, t := range in {
		inShapes[i], inTypes[i] = t.Shape.Clone(), t.DType
	}
	shapes, types := make([]dtype.Shape, len(names)), make([]dtype.Type, len(names))
	for i := range types {
		types[i] = dtype.Unknown
	}
	if err := o.InferShape(params, inShapes, shapes); err != nil {
		return nil, op.WithOp(err, o.Name, "", "")
	}
	if err := o.InferType(params, inTypes, types); err != nil {
		return nil, op.WithOp(err, o.Name, "", "")
	}
	descs := make([]op.Desc, len(names))
	for i := range descs {
		if !shapes[i].Known() || !types[i].Valid() {
			return nil, &op.Error{Op: o.Name, Arg: names[i],
				Msg: fmt.Sprintf("inferred %v %v from known inputs", types[i], shapes[i])}
		}
		descs[i] = op.Plain(types[i], shapes[i])
	}
	return descs, nil
}

// New allocates a zeroed operand.
func New(t dtype.Type, shape ...int) op.Tensor {
	s := dtype.Shape(shape)
	if s == nil {
		s = dtype.Shape{}
	}
	mem := make([]uint64, s.Size()*t.Size()/8+1)
	return op.Tensor{Desc: op.Plain(t, s), Data: unsafe.Pointer(unsafe.SliceData(mem))}
}

// Clone copies an operand.
func Clone(t op.Tensor) op.Tensor {
	if t.Data == nil {
		return t
	}
	c := New(t.DType, t.Shape...)
	copy(rawBytes(c), rawBytes(t))
	return c
}

func cloneAll(ts []op.Tensor) []op.Tensor {
	c := make([]op.Tensor, len(ts))
	for i, t := range ts {
		c[i] = Clone(t)
	}
	return c
}

func rawBytes(t op.Tensor) []byte {
	return unsafe.Slice((*byte)(t.Data), t.Shape.Size()*t.DType.Size())
}
