package control

import (
	"unsafe"

	"gomx/device"
	"gomx/dtype"
	"gomx/op"
)

// interpreter computes a graph node by node with reference kernels, every value in memory of its
// own. It is the oracle of the runners that executors give.
type interpreter struct {
	b       op.BodyArgs
	threads int
	outs    []op.Desc
	values  map[op.Entry]op.Tensor
	kernels map[*op.Node]*op.Prepared
}

// interpreted makes a graph ready to be interpreted.
func interpreted(a *op.Args, b op.BodyArgs, outs []op.Desc) (*op.Body, error) {
	return &op.Body{Threads: 1, New: func() op.Runner {
		return &interpreter{b: b, threads: a.Threads, outs: outs,
			kernels: map[*op.Node]*op.Prepared{}}
	}}, nil
}

// Begin does nothing: no value is kept from step to step.
func (*interpreter) Begin(*op.Call) error { return nil }

// Run computes the nodes that the wanted outputs depend on.
func (r *interpreter) Run(c *op.Call) error {
	r.values = map[op.Entry]op.Tensor{}
	for k, v := range r.b.Graph.Inputs {
		r.values[v.Entry(0)] = c.In[k]
	}
	shapes, types, err := r.infer()
	if err != nil {
		return err
	}
	streams := map[*op.Node]uint64{}
	for _, n := range r.b.Graph.Nodes() {
		if !n.IsVar() && n.Op.Random {
			streams[n] = uint64(len(streams))
		}
	}
	var wanted []op.Entry
	for i, e := range r.b.Graph.Outputs {
		if r.b.Need[i] {
			wanted = append(wanted, e)
		}
	}
	for _, n := range op.Topo(wanted) {
		if n.IsVar() {
			continue
		}
		if err := r.node(n, c, shapes, types, streams[n]); err != nil {
			return op.WithOp(err, n.Op.Name, n.Name, n.Site)
		}
	}
	for i, e := range r.b.Graph.Outputs {
		if r.b.Need[i] {
			copyMemory(c.Out[i].Data, r.values[e].Data, c.Out[i].Bytes)
		}
	}
	return nil
}

// infer finds the shapes and types of all entries.
func (r *interpreter) infer() (map[op.Entry]dtype.Shape, map[op.Entry]dtype.Type, error) {
	g := &op.Graph{Inputs: r.b.Graph.Inputs}
	for _, n := range r.b.Graph.Nodes() {
		for i := range n.NumOutputs() {
			g.Outputs = append(g.Outputs, n.Entry(i))
		}
	}
	in, types := make([]dtype.Shape, len(g.Inputs)), make([]dtype.Type, len(g.Inputs))
	for k, d := range r.b.In {
		in[k], types[k] = d.Shape, d.DType
	}
	outs, outTypes := make([]dtype.Shape, len(g.Outputs)), make([]dtype.Type, len(g.Outputs))
	for i := range outTypes {
		outTypes[i] = dtype.Unknown
	}
	if err := inferShapes(g, in, outs); err != nil {
		return nil, nil, err
	}
	if err := inferTypes(g, types, outTypes); err != nil {
		return nil, nil, err
	}
	shapes, kinds := map[op.Entry]dtype.Shape{}, map[op.Entry]dtype.Type{}
	for i, e := range g.Outputs {
		shapes[e], kinds[e] = outs[i], outTypes[i]
	}
	return shapes, kinds, nil
}

// node computes one node.
func (r *interpreter) node(n *op.Node, c *op.Call, shapes map[op.Entry]dtype.Shape,
	types map[op.Entry]dtype.Type, stream uint64) error {
	a := &op.Args{Train: r.b.Train, Threads: r.threads}
	call := &op.Call{Train: r.b.Train, Seed: c.Seed.AtNode(stream),
		Values: n.Op.AppendRun(nil, n.Params)}
	for _, e := range n.In {
		v := r.values[e]
		a.In, call.In = append(a.In, v.Desc), append(call.In, v)
	}
	for i := range n.NumOutputs() {
		e := n.Entry(i)
		if !shapes[e].Known() || types[e] == dtype.Unknown {
			return op.Errorf("", "output %s has the shape %v and the type %v: not enough is known "+
				"to run it", e, shapes[e], types[e])
		}
		t := op.Tensor{Desc: op.Plain(types[e], shapes[e])}
		t.Data = allocate(t.Bytes)
		r.values[e] = t
		a.Out, call.Out = append(a.Out, t.Desc), append(call.Out, t)
	}
	k := r.kernels[n]
	if k == nil {
		var err error
		if k, err = n.Op.Prepare(device.CPU(), device.TierRef, n.Params, a); err != nil {
			return err
		}
		r.kernels[n] = k
	}
	if k.Scratch > 0 {
		call.Scratch = allocate(k.Scratch)
	}
	return k.Run(call)
}

// allocate returns memory that is aligned to cache lines.
func allocate(bytes int) unsafe.Pointer {
	b := make([]byte, bytes+line)
	p := unsafe.Pointer(unsafe.SliceData(b))
	return unsafe.Add(p, (line-uintptr(p)%line)%line)
}
