package module

import (
	"fmt"
	"strings"

	"gomx/device"
	"gomx/dtype"
	dataio "gomx/io"
	nd "gomx/ndarray"
	"gomx/op/prim"
	sym "gomx/symbol"
)

// group is the executors of one network for batches of one shape, one per device of the module.
// Each computes a part of every batch, in the order of the devices; to the module they look like
// one executor that has the whole batch.
type group struct {
	parts   []*sym.Executor
	outAxes []int // where outputs have the batch
	// per output: the output of the whole batch, then a copy on the processor of every part that
	// needs one, else nil; the list is nil with one device
	joined [][]*nd.Array
	fresh  bool                   // joined has the outputs of the last Forward
	whole  map[string]bool        // inputs that have no batch axis
	grads  map[string][]*nd.Array // of the parameters, on all devices
}

// newGroup returns the executors of a network as a group. fed says where its inputs have the batch.
func newGroup(parts []*sym.Executor, fed []feed) *group {
	g := &group{parts: parts, whole: map[string]bool{}, grads: map[string][]*nd.Array{}}
	s := sym.Of(parts[0])
	for _, e := range s.Entries() {
		g.outAxes = append(g.outAxes, batchAxis(s, e.Node.Name))
	}
	for _, f := range fed {
		g.whole[f.name] = f.axis < 0
	}
	return g
}

// batchAxis returns which axis of a node is the batch: the first, unless its attribute __layout__
// says otherwise; -1 if there is none.
func batchAxis(s *sym.Symbol, node string) int {
	if layout := s.Attr(node, "__layout__"); layout != "" {
		return strings.IndexByte(layout, 'N')
	}
	return 0
}

// first is the executor of the first device, whose parameters and gradients are the module's.
func (g *group) first() *sym.Executor { return g.parts[0] }

// shape returns the shape of an input for the whole batch.
func (g *group) shape(f feed) dtype.Shape {
	s := g.first().Args[f.name].Shape()
	if n := len(g.parts); n > 1 && f.axis >= 0 && f.axis < len(s) {
		s = s.Clone()
		s[f.axis] *= n
	}
	return s
}

// key identifies executors by the names and shapes of their inputs for data and labels.
func (g *group) key(fed []feed) string {
	s := ""
	for _, f := range fed {
		s += f.name + g.shape(f).String()
	}
	return s
}

// suits reports whether a batch has the shapes that the executors are made for.
func (g *group) suits(fed []feed, b *dataio.Batch) bool {
	for _, f := range fed {
		if a := f.of(b); a != nil && !a.Shape().Equal(g.shape(f)) {
			return false
		}
	}
	return true
}

// partShapes returns the shapes of one device's part of inputs.
func partShapes(shapes map[string]dtype.Shape, fed []feed, devices int) (map[string]dtype.Shape,
	error) {
	if devices == 1 {
		return shapes, nil
	}
	parts := map[string]dtype.Shape{}
	for _, f := range fed {
		s, ok := shapes[f.name]
		if !ok {
			continue
		}
		parts[f.name] = s
		if f.axis < 0 {
			continue
		}
		if f.axis >= len(s) || s[f.axis]%devices != 0 {
			return nil, fmt.Errorf("module: %q of shape %v cannot be split over %d devices, "+
				"want a multiple of %d for extent %d", f.name, s, devices, devices, f.axis)
		}
		s = s.Clone()
		s[f.axis] /= devices
		parts[f.name] = s
	}
	return parts, nil
}

// reshape returns a group for inputs of other shapes.
func (g *group) reshape(shapes map[string]dtype.Shape, fed []feed) (*group, error) {
	shapes, err := partShapes(shapes, fed, len(g.parts))
	if err != nil {
		return nil, err
	}
	parts := make([]*sym.Executor, len(g.parts))
	for k, ex := range g.parts {
		if parts[k], err = ex.Reshape(shapes); err != nil {
			return nil, fmt.Errorf("module: batch of another shape: %w", err)
		}
	}
	return newGroup(parts, fed), nil
}

// feed gives every device its part of an input.
func (g *group) feed(f feed, a *nd.Array) error {
	for k, ex := range g.parts {
		bound := ex.Args[f.name]
		part := a
		if !g.whole[f.name] {
			part = g.cut(a, f.axis, k)
		}
		if part.Device() != bound.Device() || part.DType() != bound.DType() {
			part = part.To(bound.Device()).AsType(bound.DType())
		}
		if err := ex.Feed(f.name, part); err != nil {
			return fmt.Errorf("module: %w", err)
		}
	}
	return nil
}

// cut returns part k of an array along an axis.
func (g *group) cut(a *nd.Array, axis, k int) *nd.Array {
	if len(g.parts) == 1 {
		return a
	}
	n := a.Shape()[axis] / len(g.parts)
	if axis == 0 {
		return a.Slice(k*n, (k+1)*n)
	}
	return nd.SliceAxis(a, prim.SliceAxisParams{Axis: axis, Begin: k * n,
		End: nd.Some((k + 1) * n)})
}

// forward starts the computation of the outputs. Run places it in the random stream.
func (g *group) forward(train bool, run uint64) error {
	g.fresh = false
	for _, ex := range g.parts {
		ex.Seek(run)
		if err := ex.Forward(train); err != nil {
			return err
		}
	}
	return nil
}

// backward starts the computation of the gradients. heads are the gradients of the outputs for the
// whole batch; it may be empty.
func (g *group) backward(heads []*nd.Array) error {
	for k, ex := range g.parts {
		part, err := g.headsOf(k, heads)
		if err != nil {
			return err
		}
		if err := ex.Backward(part...); err != nil {
			return err
		}
	}
	return nil
}

// headsOf returns the gradients of the outputs of device k, cut from the gradients of the outputs
// for the whole batch and copied to the device.
func (g *group) headsOf(k int, heads []*nd.Array) ([]*nd.Array, error) {
	if len(g.parts) == 1 || len(heads) != len(g.outAxes) {
		return heads, nil // the executor checks their number
	}
	ex := g.parts[k]
	part := make([]*nd.Array, len(heads))
	for i, h := range heads {
		if h == nil {
			return nil, fmt.Errorf("module: Backward: gradient of output %d is nil", i)
		}
		if axis := g.outAxes[i]; axis >= 0 {
			want := ex.Outputs()[i].Shape()
			if axis >= len(h.Shape()) || axis >= len(want) ||
				h.Shape()[axis] != want[axis]*len(g.parts) {
				return nil, fmt.Errorf("module: Backward: gradient of output %d has shape %v, "+
					"want %d times %v along axis %d", i, h.Shape(), len(g.parts), want, axis)
			}
			h = g.cut(h, axis, k)
		}
		part[i] = h.To(ex.Outputs()[i].Device())
	}
	return part, nil
}

// outputs returns the outputs of the whole batch. It joins the outputs of several devices on the
// processor: copies to it wait for the outputs only, while a kernel on a device would run after the
// gradients.
func (g *group) outputs() []*nd.Array {
	if len(g.parts) == 1 {
		return g.first().Outputs()
	}
	if g.joined == nil {
		g.joined = make([][]*nd.Array, len(g.outAxes))
	}
	list := make([]*nd.Array, len(g.joined))
	for i := range list {
		if !g.fresh {
			g.join(i)
		}
		list[i] = g.joined[i][0]
	}
	g.fresh = true
	return list
}

// join starts the copies that make output i of the whole batch. Outputs without axes become a
// vector; those without a batch are the first device's.
func (g *group) join(i int) {
	axis, parts := g.outAxes[i], make([]*nd.Array, len(g.parts))
	for k, ex := range g.parts {
		parts[k] = ex.Outputs()[i]
	}
	if axis < 0 {
		g.joined[i] = parts[:1]
		return
	}
	if g.joined[i] == nil {
		g.joined[i] = g.room(parts, axis)
	}
	whole, staged := g.joined[i][0], g.joined[i][1:]
	for k, a := range parts {
		if staged[k] != nil {
			a.Reshape(staged[k].Shape()...).CopyInto(staged[k])
			parts[k] = staged[k]
		}
	}
	if err := nd.InvokeInto(prim.Concat.Op, prim.ConcatParams{Dim: nd.Some(axis)}, parts,
		[]*nd.Array{whole}); err != nil {
		panic(err)
	}
}

// room returns arrays for one output: first an array for the whole batch, then for every part an
// array to copy it to before it is joined, or nil if the part needs no copy.
func (g *group) room(parts []*nd.Array, axis int) []*nd.Array {
	shape, d := parts[0].Shape(), device.CPU()
	if len(shape) == 0 {
		shape = dtype.Shape{1}
	}
	whole := shape.Clone()
	whole[axis] *= len(parts)
	like := func(s dtype.Shape) *nd.Array {
		return nd.Empty(s, nd.On(d), nd.As(parts[0].DType()), nd.Using(parts[0].Engine()))
	}
	list := []*nd.Array{like(whole)}
	for _, a := range parts {
		if len(a.Shape()) == 0 || a.Device() != d {
			list = append(list, like(shape))
		} else {
			list = append(list, nil)
		}
	}
	return list
}

// Of returns the gradients of a parameter, one per device; nil if there are none.
func (g *group) Of(name string) []*nd.Array {
	list := g.grads[name]
	if list == nil && g.first().Grads[name] != nil {
		for _, ex := range g.parts {
			list = append(list, ex.Grads[name])
		}
		g.grads[name] = list
	}
	return list
}

// Firsts returns the gradients on the first device by name.
func (g *group) Firsts() map[string]*nd.Array { return g.first().Grads }

// inputGrads returns the gradients of an input for the whole batch, nil if there are none.
func (g *group) inputGrads(f feed) *nd.Array {
	grad := g.first().Grads[f.name]
	if grad == nil || len(g.parts) == 1 || f.axis < 0 {
		return grad
	}
	parts := make([]*nd.Array, len(g.parts))
	for k, ex := range g.parts {
		parts[k] = ex.Grads[f.name].To(grad.Device())
	}
	return nd.Concat(parts, prim.ConcatParams{Dim: nd.Some(f.axis)})
}

// closeOutputs releases the outputs.
func (g *group) closeOutputs() {
	for _, ex := range g.parts {
		closeAll(ex.Outputs())
	}
	g.closeJoined()
}

// closeJoined releases the arrays that hold the joined outputs of whole batches.
func (g *group) closeJoined() {
	for i, list := range g.joined {
		if g.outAxes[i] < 0 {
			continue // the first device's
		}
		for _, a := range list {
			if a != nil {
				a.Close()
			}
		}
	}
	g.joined, g.fresh = nil, false
}
