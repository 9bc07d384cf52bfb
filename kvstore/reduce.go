package kvstore

import (
	"slices"
	"unsafe"

	"gomx/device"
	"gomx/dtype"
	"gomx/engine"
	"gomx/kvstore/compress"
	"gomx/kvstore/joint"
	nd "gomx/ndarray"
	"gomx/op/prim"
)

// reducer adds up the gradients of the devices of one process: first those that lie on one device,
// then one sum per device, jointly where the devices can (package joint), otherwise in a tree of
// pairs, whose order depends on the list alone, so that results repeat. Its arrays are made at the
// first use and serve every later one.
type reducer struct {
	spaces []*workspace // by position of a gradient in the list
	keep   []*nd.Array  // all arrays that close closes: sums and staging copies
}

// workspace is the memory of the reducer for one gradient of the list.
type workspace struct {
	sum      *nd.Array // where gradients of one device are added
	moved    *nd.Array // a copy on the device of the other half of a pair
	host     *nd.Array // a copy on the processor, which compresses
	decoded  *nd.Array // the gradient after compression and decoding
	dense    *nd.Array // the gradient in the storage type of the sum
	residual []float32
	payload  []byte
}

// addN is the operator that adds arrays.
var addN = prim.AddN.Op

// add starts the sum and returns the array that it will be in: the first gradient itself when there
// is no other and it is where the sum is wanted.
func (r *reducer) add(grads []*nd.Array, dev device.Device, m compress.Method) (*nd.Array, error) {
	for len(r.spaces) < len(grads) {
		r.spaces = append(r.spaces, &workspace{})
	}
	if len(grads) == 1 && (m.Kind == compress.None || grads[0].Storage() != nd.Dense) {
		return r.move(&r.spaces[0].moved, grads[0], dev), nil
	}
	list := make([]*nd.Array, len(grads), max(len(grads), 4))
	copy(list, grads)
	if m.Kind != compress.None && grads[0].DType() == dtype.Float32 {
		for i, g := range grads {
			if g.Storage() == nd.Dense {
				list[i] = r.compress(r.spaces[i], g, m)
			}
		}
	}
	for i, g := range list {
		list[i] = r.stored(r.spaces[i], g, storedAlike(grads))
	}
	list, err := r.perDevice(list)
	if err != nil {
		return nil, err
	}
	if at := firstOn(list, dev); at >= 0 && joint.Can(list) {
		if sum := r.room(&r.spaces[at].sum, list[at], dev); joint.SumTo(list, sum) {
			return sum, nil
		}
	}
	for step := 1; step < len(list); step *= 2 {
		for i := 0; i+step < len(list); i += 2 * step {
			if list[i], err = r.pair(r.spaces[i], list[i], list[i+step]); err != nil {
				return nil, err
			}
		}
	}
	return r.move(&r.spaces[0].moved, list[0], dev), nil
}

// addDense is add on the processor for a key whose value is dense.
func (r *reducer) addDense(grads []*nd.Array) (*nd.Array, error) {
	for i, g := range grads {
		if g.Storage() == nd.Dense {
			continue
		}
		for len(r.spaces) <= i {
			r.spaces = append(r.spaces, &workspace{})
		}
		grads = slices.Clone(grads)
		grads[i] = r.stored(r.spaces[i], g, nd.Dense)
	}
	return r.add(grads, device.CPU(), compress.Method{})
}

// storedAlike returns the storage type of a sum: row_sparse if all arrays are.
func storedAlike(grads []*nd.Array) nd.Storage {
	for _, g := range grads {
		if g.Storage() != nd.RowSparse {
			return nd.Dense
		}
	}
	return nd.RowSparse
}

// stored returns g in a storage type, copied if it has another one.
func (r *reducer) stored(w *workspace, g *nd.Array, s nd.Storage) *nd.Array {
	if g.Storage() == s {
		return g
	}
	if w.dense == nil {
		w.dense = nd.ZerosOf(s, g.Shape(), nd.As(g.DType()), nd.Using(g.Engine()))
		r.keep = append(r.keep, w.dense)
	}
	g.CopyInto(w.dense)
	return w.dense
}

// perDevice adds up the gradients on each device. The results are in the order in which devices
// appear.
func (r *reducer) perDevice(grads []*nd.Array) ([]*nd.Array, error) {
	var sums []*nd.Array
	for i, g := range grads {
		if firstOn(grads, g.Device()) != i {
			continue
		}
		same := make([]*nd.Array, 0, len(grads))
		for _, h := range grads[i:] {
			if h.Device() == g.Device() {
				same = append(same, h)
			}
		}
		if len(same) > 1 {
			sum := r.room(&r.spaces[len(sums)].sum, g, g.Device())
			if err := nd.InvokeInto(addN, nil, same, []*nd.Array{sum}); err != nil {
				return nil, err
			}
			g = sum
		}
		sums = append(sums, g)
	}
	return sums, nil
}

// firstOn returns the index of the first array on a device.
func firstOn(list []*nd.Array, dev device.Device) int {
	for i, a := range list {
		if a.Device() == dev {
			return i
		}
	}
	return -1
}

// pair adds b, which is on another device, to a.
func (r *reducer) pair(w *workspace, a, b *nd.Array) (*nd.Array, error) {
	b = r.move(&w.moved, b, a.Device())
	sum := r.room(&w.sum, a, a.Device())
	return sum, nd.InvokeInto(addN, nil, []*nd.Array{a, b}, []*nd.Array{sum})
}

// move returns a on a device, copied into slot if it is elsewhere.
func (r *reducer) move(slot **nd.Array, a *nd.Array, dev device.Device) *nd.Array {
	if a.Device() == dev {
		return a
	}
	to := r.room(slot, a, dev)
	a.CopyInto(to)
	return to
}

// room returns an array like a on a device, kept in slot.
func (r *reducer) room(slot **nd.Array, a *nd.Array, dev device.Device) *nd.Array {
	if s := *slot; s == nil || s.Device() != dev ||
		dev.Kind == device.KindCPU && s.Storage() != a.Storage() {
		*slot = emptyLike(a, dev)
		r.keep = append(r.keep, *slot)
	}
	return *slot
}

// emptyLike returns an array of the shape, element type and, on the processor, storage type of a:
// other devices have dense arrays only.
func emptyLike(a *nd.Array, dev device.Device, opts ...nd.Option) *nd.Array {
	opts = append(opts, nd.On(dev), nd.As(a.DType()), nd.Using(a.Engine()))
	if a.Storage() != nd.Dense && dev.Kind == device.KindCPU {
		return nd.ZerosOf(a.Storage(), a.Shape(), opts...)
	}
	return nd.Empty(a.Shape(), opts...)
}

// compress starts coding a gradient and decoding it again, so that the sum contains every gradient
// as compression leaves it, on any device.
func (r *reducer) compress(w *workspace, g *nd.Array, m compress.Method) *nd.Array {
	g = r.move(&w.host, g, device.CPU())
	out := r.room(&w.decoded, g, device.CPU())
	if w.residual == nil {
		w.residual = make([]float32, g.Size())
	}
	// The residual belongs to the operations that write decoded, which the engine runs one by one.
	g.Engine().Push(&engine.Task{Name: "compress gradient", Fn: runCompress,
		Arg: &coding{m, w, floats(g), floats(out)},
		Uses: []engine.Use{{Var: g.Var(), Access: engine.Read},
			{Var: out.Var(), Access: engine.Overwrite}}})
	out.Touch()
	return out
}

// coding is the argument of runCompress.
type coding struct {
	method   compress.Method
	space    *workspace
	grad, to []float32
}

func runCompress(r *engine.Run) (err error) {
	c := r.Arg.(*coding)
	w := c.space
	if w.payload, err = c.method.Append(w.payload[:0], c.grad, w.residual); err != nil {
		return err
	}
	return compress.Decode(c.to, c.method.Kind, w.payload)
}

// floats views the memory of a float32 array of the processor: valid for operations that use its
// variable, even if the array is closed before they run.
func floats(a *nd.Array) []float32 {
	return unsafe.Slice((*float32)(a.Pointer()), a.Size())
}

// close releases the arrays.
func (r *reducer) close() {
	for _, a := range r.keep {
		a.Close()
	}
	r.keep, r.spaces = nil, nil
}
