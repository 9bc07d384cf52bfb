package optest

import (
	"fmt"
	"testing"
	"unsafe"

	"gomx/device"
	"gomx/op"
	"gomx/op/loop"
)

// Case is one application of an operator with its known results.
type Case struct {
	Name   string
	Params any               // parameter struct; nil: use Attrs
	Attrs  map[string]string // parameters as MXNet writes them
	In     []op.Tensor
	Want   []op.Tensor // wanted outputs; a zero Tensor is not compared, nil compares none
	After  []op.Tensor // content of each input after the run, for operators that mutate
	Tol    Tolerance   // zero: the default of the element type
	Train  bool
	Seed   op.Seed

	NoDiff   bool        // compare neither the gradient nor its gradient with differences
	Twice    bool        // with NoDiff: compare the gradient of the gradient
	Const    []int       // inputs that are not differentiated, such as indices and labels
	Heads    []op.Tensor // gradients of the outputs, for WantGrad
	WantGrad []op.Tensor // wanted gradient of each input; a zero Tensor is not compared
}

// Run checks one operator on every case.
func Run(t *testing.T, o *op.Op, cases ...Case) {
	t.Helper()
	for i, c := range cases {
		name := o.Name + "/" + c.Name
		if c.Name == "" {
			name = fmt.Sprintf("%s/%d", o.Name, i)
		}
		t.Run(name, func(t *testing.T) { check(t, o, c) })
	}
}

// check runs one case.
func check(t *testing.T, o *op.Op, c Case) {
	t.Helper()
	params, err := c.params(o, len(c.In))
	if err != nil {
		t.Fatal(err)
	}
	if want := len(o.Inputs(params)); want != len(c.In) {
		t.Fatalf("case has %d inputs, %s wants %d", len(c.In), o.Name, want)
	}
	r := Runner{Train: c.Train, Seed: c.Seed}
	in := cloneAll(c.In)
	out, err := r.Apply(o, params, in)
	if err != nil {
		t.Fatal(err)
	}
	compareAll(t, "output", out, c.Want, c.Tol)
	compareAll(t, "input after the run", in, c.After, c.Tol)
	checkShapes(t, o, params, c.In, out)
	checkGarbage(t, o, params, len(c.In), len(out))
	checkTypes(t, o, params, c.In, out)
	checkFacts(t, o, params, c, out)
	checkInplace(t, o, params, c, out)
	checkAlone(t, o, params, c, out)
	checkIgnores(t, o, params, c, out)
	checkTiers(t, o, params, c, out)
	checkDevices(t, o, params, c, out)
	checkWantGrad(t, o, params, c)
	if !c.NoDiff && o.HasGrad() {
		checkDiff(t, o, params, c)
	}
	if (!c.NoDiff || c.Twice) && o.HasGrad() {
		checkTwice(t, o, params, c)
	}
	if o.HasGrad() {
		checkGradTiers(t, o, params, c, out)
	}
}

func (c Case) params(o *op.Op, inputs int) (any, error) {
	if c.Params == nil {
		p, err := o.ParseParams(c.Attrs)
		if err != nil {
			return nil, err
		}
		return o.WithCount(p, inputs), nil
	}
	return o.Normalize(o.WithCount(c.Params, inputs))
}

func compareAll(t *testing.T, what string, got, want []op.Tensor, tol Tolerance) {
	t.Helper()
	if len(want) > len(got) {
		t.Errorf("%d values for %s, want %d", len(got), what, len(want))
		return
	}
	for i, w := range want {
		if w.Data == nil {
			continue
		}
		if d := Diff(got[i], w, tol); d != "" {
			t.Errorf("%s %d: %s", what, i, d)
		}
	}
}

// checkInplace runs the kernels once for each pair of operands that may share memory.
func checkInplace(t *testing.T, o *op.Op, params any, c Case, want []op.Tensor) {
	t.Helper()
	pairs := o.Inplace
	if o.Identity {
		pairs = append([][2]int{{0, 0}}, pairs...)
	}
	for _, pair := range pairs {
		i, k := pair[0], pair[1]
		if i >= len(c.In) || k >= len(want) || c.In[i].Bytes != want[k].Bytes ||
			c.In[i].Bytes == 0 {
			continue
		}
		for _, tier := range tiers(o) {
			in, out := cloneAll(c.In), cloneAll(want)
			for j := range out {
				out[j] = New(out[j].DType, out[j].Shape...)
			}
			out[k].Data = in[i].Data
			r := Runner{Train: c.Train, Seed: c.Seed, Tier: tier}
			if err := r.call(o, params, in, out); err != nil {
				t.Errorf("output %d over input %d: %v", k, i, err)
				continue
			}
			compareAll(t, fmt.Sprintf("tier %v, with output %d over input %d, output", tier, k, i),
				out, want, c.Tol)
		}
	}
}

// checkAlone computes each output without the others.
func checkAlone(t *testing.T, o *op.Op, params any, c Case, want []op.Tensor) {
	t.Helper()
	for _, tier := range tiers(o) {
		for k := range want {
			if len(want) == 1 || want[k].Bytes == 0 {
				continue
			}
			out := make([]op.Tensor, len(want))
			for j, w := range want {
				out[j].Desc = w.Desc
			}
			out[k] = New(want[k].DType, want[k].Shape...)
			if err := (Runner{Train: c.Train, Seed: c.Seed, Tier: tier}).call(o, params,
				cloneAll(c.In), out); err != nil {
				t.Errorf("tier %v, output %d alone: %v", tier, k, err)
				continue
			}
			if d := Diff(out[k], want[k], c.Tol); d != "" {
				t.Errorf("tier %v, output %d alone: %s", tier, k, d)
			}
		}
	}
}

// checkIgnores runs the kernels with ignored inputs that have no memory.
func checkIgnores(t *testing.T, o *op.Op, params any, c Case, want []op.Tensor) {
	t.Helper()
	if len(o.Ignores) == 0 {
		return
	}
	for _, tier := range tiers(o) {
		in, out := cloneAll(c.In), cloneAll(want)
		for _, i := range o.Ignores {
			if i < len(in) {
				in[i].Data = unsafe.Pointer(nil)
			}
		}
		if err := (Runner{Train: c.Train, Seed: c.Seed, Tier: tier}).call(o, params, in,
			out); err != nil {
			t.Errorf("tier %v, without ignored inputs: %v", tier, err)
			continue
		}
		compareAll(t, fmt.Sprintf("tier %v, without ignored inputs, output", tier), out, want,
			c.Tol)
	}
}

// tiers lists the reference tier and the tiers for which the operator has a kernel.
func tiers(o *op.Op) []device.Tier {
	list := []device.Tier{device.TierRef}
	for _, tier := range []device.Tier{device.TierGo, device.TierC} {
		if o.HasKernel(device.KindCPU, tier) {
			list = append(list, tier)
		}
	}
	return list
}

// isFloat reports whether t is differentiable.
func isFloat(t op.Tensor) bool { return t.Data != nil && !loop.Exact(t.DType) }
