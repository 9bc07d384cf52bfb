package joint

import (
	"runtime"

	"gomx/device"
	"gomx/engine"
	nd "gomx/ndarray"
	"gomx/op"
)

// Can reports whether arrays are on several devices of a kind that may have means to work together,
// so that it makes sense to try.
func Can(arrays []*nd.Array) bool {
	return len(arrays) > 1 && arrays[0].Device() != arrays[1].Device() &&
		device.JoinerOf(arrays[0].Device().Kind) != nil
}

// Sum adds up arrays of one shape and element type on several devices. out has an array for the
// sum on each of these devices, in the same order; it may be the operand itself.
func Sum(in, out []*nd.Array) (done bool) {
	if len(in) != len(out) {
		return false
	}
	for i, a := range in {
		if a.Device() != out[i].Device() {
			return false
		}
	}
	return start(device.SumToAll, 0, in, out)
}

// SumTo adds up arrays of one shape and element type on several devices. out, for the sum, is on
// one of these devices; it may be the operand itself.
func SumTo(in []*nd.Array, out *nd.Array) (done bool) {
	for i, a := range in {
		if a.Device() == out.Device() {
			return start(device.SumToRoot, i, in, []*nd.Array{out})
		}
	}
	return false
}

// Spread copies an array to arrays of its shape and element type on at least two other devices: to
// a single one a plain copy is as fast.
func Spread(from *nd.Array, to []*nd.Array) (done bool) {
	if len(to) < 2 {
		return false
	}
	return start(device.Spread, 0, []*nd.Array{from}, append([]*nd.Array{from}, to...))
}

// start pushes an operation. The longer list has an array on each device; a single array belongs
// to the root.
func start(kind device.JointKind, root int, in, out []*nd.Array) bool {
	devices := out
	if len(in) > len(out) {
		devices = in
	}
	j, means := together(kind, devices)
	if means == nil || !fit(devices[0], in, out) {
		return false
	}
	j.Root = root
	uses := make([]engine.Use, 0, len(in)+len(out))
	for i, a := range in {
		if len(in) < len(devices) {
			i = root
		}
		j.Parts[i].From = a.Pointer()
		uses = append(uses, engine.Use{Var: a.Var(), Access: engine.Read})
	}
	for i, a := range out {
		if len(out) < len(devices) {
			i = root
		}
		j.Parts[i].To = a.Pointer()
		if kind == device.Spread && i == root {
			continue // the operand keeps its values
		}
		uses = append(uses, engine.Use{Var: a.Var(), Access: writing(a)})
		a.Touch()
	}
	lane := engine.Lane{Device: devices[root].Device(), Kind: engine.CopyIn}
	devices[0].Engine().Push(&engine.Task{Name: names[kind], Async: put, Queued: true,
		Arg: &work{j, means}, Lane: lane, Uses: uses, Bytes: int64(devices[0].Bytes())})
	runtime.KeepAlive(in)
	runtime.KeepAlive(out)
	return true
}

// names of operations, by kind.
var names = [...]string{device.SumToAll: "joint sum to all", device.SumToRoot: "joint sum",
	device.Spread: "joint copy"}

// writing returns the access for writing all of a.
func writing(a *nd.Array) engine.Access {
	if a.Whole() {
		return engine.Overwrite
	}
	return engine.Update
}

// together returns an operation of the devices that hold arrays, and the means to run it; nil if
// there are none.
func together(kind device.JointKind, arrays []*nd.Array) (*device.Joint, device.Joiner) {
	first := arrays[0]
	means := device.JoinerOf(first.Device().Kind)
	if means == nil || len(arrays) < 2 || first.Size() == 0 {
		return nil, nil
	}
	j := &device.Joint{Kind: kind, Type: first.DType(), Elements: first.Size()}
	ids := make([]int, 0, len(arrays))
	for _, a := range arrays {
		d := a.Device()
		if d.Kind != first.Device().Kind {
			return nil, nil
		}
		for _, id := range ids {
			if id == d.ID {
				return nil, nil
			}
		}
		ids = append(ids, d.ID)
		j.Parts = append(j.Parts, device.JointPart{ID: d.ID})
	}
	ok, err := means.Joins(ids, j.Type)
	if err != nil {
		op.Notice("devices %v copy arrays to each other instead of working together: %v", ids, err)
	}
	if !ok {
		return nil, nil
	}
	return j, means
}

// fit reports whether arrays are dense, belong to one engine and are of one size and element type.
func fit(first *nd.Array, lists ...[]*nd.Array) bool {
	for _, list := range lists {
		for _, a := range list {
			if a.Storage() != nd.Dense || a.Engine() != first.Engine() ||
				a.Size() != first.Size() || a.DType() != first.DType() {
				return false
			}
		}
	}
	return true
}

// work is the argument of put.
type work struct {
	joint *device.Joint
	means device.Joiner
}

// put is the body of the operations.
func put(r *engine.Run, done func(error)) {
	w := r.Arg.(*work)
	q, err := device.QueueOf(r.Lane().Device, device.QueueKind(r.Lane().Kind))
	if err != nil {
		done(err)
		return
	}
	if err = r.Begin(q); err == nil {
		err = w.means.Join(q, w.joint)
	}
	r.Finish(q, done, err)
}
