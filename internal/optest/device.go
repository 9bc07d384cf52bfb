package optest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"unsafe"

	"gomx/device"
	"gomx/op"
)

// checkDevices compares kernels of devices with queues with the reference, if this machine has such
// devices.
func checkDevices(t *testing.T, o *op.Op, params any, c Case, want []op.Tensor) {
	t.Helper()
	if device.Count(device.KindCUDA) == 0 || !o.HasKernel(device.KindCUDA, device.TierRef) {
		return
	}
	in, out := cloneAll(c.In), cloneAll(want)
	for _, x := range out {
		if x.Data != nil {
			poison(rawBytes(x))
		}
	}
	r := Runner{Train: c.Train, Seed: c.Seed}
	switch err := r.onDevice(device.CUDA(0), o, params, in, out); {
	case errors.Is(err, errNotServed):
		return
	case err != nil:
		t.Errorf("on %v: %v", device.CUDA(0), err)
		return
	}
	compareAll(t, "on the device: output", out, want, c.Tol)
	compareAll(t, "on the device: input after the run", in, c.After, c.Tol)
	for i, x := range in {
		if x.Data != nil && !slices.Contains(o.Changes(params), i) &&
			string(rawBytes(x)) != string(rawBytes(c.In[i])) {
			t.Errorf("on the device: the kernel changes input %d", i)
		}
	}
}

// errNotServed is the error of a kernel that does not support the element types or parameters.
var errNotServed = errors.New("the kernel does not serve the operands")

// onDevice runs a kernel of a device on copies of the operands between fences, and copies the
// results back.
func (r Runner) onDevice(d device.Device, o *op.Op, params any, in, out []op.Tensor) error {
	a := &op.Args{Need: make([]bool, len(out)), Train: r.Train, Threads: 1}
	for _, t := range in {
		a.In = append(a.In, t.Desc)
	}
	for i, t := range out {
		a.Out, a.Need[i] = append(a.Out, t.Desc), t.Data != nil
	}
	if !o.Serves(d, device.TierRef, params, a) {
		return errNotServed
	}
	k, err := o.Prepare(d, device.TierRef, params, a)
	if err != nil {
		return err
	}
	q, err := device.QueueOf(d, device.QueueCompute)
	if err != nil {
		return err
	}
	call := &op.Call{Train: r.Train, Seed: r.Seed, Queue: q}
	var there []fencedBlock
	for i, x := range slices.Concat(in, out) {
		f, err := newFenced(d, x)
		if err != nil {
			return err
		}
		defer f.block.Free()
		there = append(there, f)
		if i < len(in) {
			call.In = append(call.In, f.tensor())
		} else {
			call.Out = append(call.Out, f.tensor())
		}
	}
	scratch, err := device.Alloc(d, k.Scratch, device.PurposeScratch)
	if err != nil {
		return err
	}
	defer scratch.Free()
	noise := make([]byte, k.Scratch)
	poison(noise)
	scratch.CopyIn(0, noise)
	call.Scratch = scratch.Ptr
	if err := k.Run(call); err != nil {
		return err
	}
	if err := q.Sync(); err != nil {
		return err
	}
	for i, f := range there {
		if !f.back() {
			return fmt.Errorf("the kernel writes outside of operand %d of %d inputs and %d outputs",
				i, len(in), len(out))
		}
	}
	return nil
}

// fencedBlock is a copy of an operand on a device.
type fencedBlock struct {
	host  op.Tensor
	block device.Block
	n     int
}

// newFenced copies x to the device.
func newFenced(d device.Device, x op.Tensor) (f fencedBlock, err error) {
	f = fencedBlock{host: x}
	if x.Data == nil {
		return f, nil
	}
	f.n = x.Shape.Size() * x.DType.Size()
	all := make([]byte, f.n+2*deviceFence)
	poison(all)
	copy(all[deviceFence:], rawBytes(x))
	if f.block, err = device.Alloc(d, len(all), device.PurposeArray); err == nil {
		f.block.CopyIn(0, all)
	}
	return f, err
}

const deviceFence = 256

func (f *fencedBlock) tensor() op.Tensor {
	if f.host.Data == nil {
		return op.Tensor{Desc: f.host.Desc}
	}
	return op.Tensor{Desc: f.host.Desc, Data: unsafe.Add(f.block.Ptr, deviceFence)}
}

// back copies the values to the host and reports whether the fences are unchanged.
func (f *fencedBlock) back() bool {
	if f.host.Data == nil {
		return true
	}
	all := make([]byte, f.n+2*deviceFence)
	f.block.CopyOut(all, 0)
	copy(rawBytes(f.host), all[deviceFence:deviceFence+f.n])
	changed := func(b byte) bool { return b != 0xff }
	return !slices.ContainsFunc(all[:deviceFence], changed) &&
		!slices.ContainsFunc(all[deviceFence+f.n:], changed)
}
