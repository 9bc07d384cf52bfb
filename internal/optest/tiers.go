package optest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"gomx/device"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// checkTiers compares faster kernels with the reference.
func checkTiers(t *testing.T, o *op.Op, params any, c Case, want []op.Tensor) {
	t.Helper()
	for _, tier := range tiers(o)[1:] {
		r := Runner{Train: c.Train, Seed: c.Seed, Tier: tier}
		in := cloneAll(c.In)
		out, err := r.Apply(o, params, in)
		if err != nil {
			t.Errorf("tier %v: %v", tier, err)
			continue
		}
		compareAll(t, fmt.Sprintf("tier %v: output", tier), out, want, c.Tol)
		compareAll(t, fmt.Sprintf("tier %v: input after the run", tier), in, c.After, c.Tol)
		checkBorders(t, r, o, params, c, want)
	}
	for _, narrow := range []dtype.Type{dtype.Float16, dtype.BFloat16} {
		checkNarrow(t, o, params, c, narrow)
	}
}

// fence is the number of bytes, which read as NaN, before and after operands.
const fence = 136

// fenced copies an operand to memory between fences, at an address that is aligned only to its
// elements. An operand without elements gets no memory, as in arrays.
func fenced(x op.Tensor) (y op.Tensor, all []byte) {
	if x.Data == nil || x.Shape.Size() == 0 {
		return op.Tensor{Desc: x.Desc}, nil
	}
	n := x.Shape.Size() * x.DType.Size()
	words := make([]uint64, (n+2*fence)/8+2)
	all = unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), len(words)*8)
	poison(all)
	begin := fence - x.DType.Size()
	y = op.Tensor{Desc: x.Desc, Data: unsafe.Pointer(&all[begin])}
	copy(all[begin:begin+n], rawBytes(x))
	return y, all
}

func poison(b []byte) {
	for i := range b {
		b[i] = 0xff
	}
}

// intact reports whether the fences around an operand are unchanged.
func intact(x op.Tensor, all []byte) bool {
	if all == nil {
		return true
	}
	begin, n := fence-x.DType.Size(), x.Shape.Size()*x.DType.Size()
	changed := func(b byte) bool { return b != 0xff }
	return !slices.ContainsFunc(all[:begin], changed) &&
		!slices.ContainsFunc(all[begin+n:], changed)
}

// checkBorders runs a kernel on operands between fences, with outputs full of NaN.
func checkBorders(t *testing.T, r Runner, o *op.Op, params any, c Case, want []op.Tensor) {
	t.Helper()
	in, out := make([]op.Tensor, len(c.In)), make([]op.Tensor, len(want))
	inFence, outFence := make([][]byte, len(in)), make([][]byte, len(out))
	for i, x := range c.In {
		in[i], inFence[i] = fenced(x)
	}
	for i, x := range want {
		if out[i], outFence[i] = fenced(x); x.Data != nil {
			poison(rawBytes(out[i]))
		}
	}
	if err := r.call(o, params, in, out); err != nil {
		t.Errorf("tier %v between fences: %v", r.Tier, err)
		return
	}
	compareAll(t, fmt.Sprintf("tier %v between fences: output", r.Tier), out, want, c.Tol)
	for i, x := range in {
		if !intact(x, inFence[i]) {
			t.Errorf("tier %v writes outside of input %d", r.Tier, i)
		}
		if x.Data != nil && !slices.Contains(o.Mutates, i) &&
			string(rawBytes(x)) != string(rawBytes(c.In[i])) {
			t.Errorf("tier %v changes input %d", r.Tier, i)
		}
	}
	for i, x := range out {
		if !intact(x, outFence[i]) {
			t.Errorf("tier %v writes outside of output %d", r.Tier, i)
		}
	}
}

// checkNarrow compares faster kernels with the reference on the operands of a float32 case in a
// narrower type, if the operator supports that type.
func checkNarrow(t *testing.T, o *op.Op, params any, c Case, narrow dtype.Type) {
	t.Helper()
	in := cloneAll(c.In)
	for i, x := range in {
		if x.DType == dtype.Float32 {
			in[i] = New(narrow, x.Shape...)
			loop.Store(in[i], 0, loop.Floats(x))
		}
	}
	ref := Runner{Train: c.Train, Seed: c.Seed}
	want, err := ref.Apply(o, params, cloneAll(in))
	if err != nil {
		return
	}
	if narrow == dtype.Float16 { // on devices the types differ in conversions alone
		half := c
		half.In, half.After, half.Tol = in, nil, Tolerance{}
		checkDevices(t, o, params, half, want)
	}
	for _, i := range o.Ignores {
		if i < len(in) {
			in[i].Data = nil
		}
	}
	for _, tier := range tiers(o)[1:] {
		ref.Tier = tier
		out, err := ref.Apply(o, params, cloneAll(in))
		if err != nil {
			t.Errorf("tier %v, %v: %v", tier, narrow, err)
			continue
		}
		for i := range want {
			if d := Diff(out[i], want[i], narrowTolerance(want[i].DType, c.Tol)); d != "" {
				t.Errorf("tier %v, %v: output %d: %s", tier, narrow, i, d)
			}
		}
	}
}

// narrowTolerance bounds the difference of two kernels that round their results to a type: where
// their sums differ by the tolerance tol of float32, they may round to neighbours.
func narrowTolerance(t dtype.Type, tol Tolerance) Tolerance {
	if t != dtype.BFloat16 {
		return Tolerance{}
	}
	if tol == (Tolerance{}) {
		tol = TypeTolerance(dtype.Float32)
	}
	return Tolerance{tol.Abs, tol.Rel + 1.0/(1<<7)}
}

// checkGradTiers compares the gradient by faster kernels with that by reference kernels.
func checkGradTiers(t *testing.T, o *op.Op, params any, c Case, out []op.Tensor) {
	t.Helper()
	need := make([]bool, len(c.In))
	for i := range need {
		need[i] = isFloat(c.In[i]) && !slices.Contains(c.Const, i)
	}
	rng := rand.New(rand.NewPCG(3, 3))
	heads, visible, flows := make([]op.Tensor, len(out)), o.NumVisible(params), false
	for i, v := range out {
		if isFloat(v) && i < visible {
			heads[i], flows = New(v.DType, v.Shape...), true
			loop.Generate(heads[i], func(int) float64 { return 0.5 + rng.Float64() })
		}
	}
	if !flows {
		return
	}
	evalOn := func(tier device.Tier, d device.Device) ([]op.Tensor, error) {
		g, err := newGraph(o, params, cloneAll(c.In), heads, need)
		if err != nil {
			return nil, err
		}
		return g.eval(Runner{Train: c.Train, Seed: c.Seed, Tier: tier, Device: d})
	}
	eval := func(tier device.Tier) ([]op.Tensor, error) { return evalOn(tier, device.CPU()) }
	want, err := eval(device.TierRef)
	if err != nil {
		return // checkDiff reports it
	}
	for _, tier := range []device.Tier{device.TierGo, device.TierC} {
		got, err := eval(tier)
		if err != nil {
			t.Errorf("gradient, tier %v: %v", tier, err)
			continue
		}
		compareAll(t, fmt.Sprintf("gradient, tier %v, of input", tier), got, want, c.Tol)
	}
	if device.Count(device.KindCUDA) == 0 {
		return
	}
	got, err := evalOn(device.TierRef, device.CUDA(0))
	if err != nil {
		t.Errorf("gradient on the device: %v", err)
		return
	}
	compareAll(t, "gradient on the device, of input", got, want, c.Tol)
}
