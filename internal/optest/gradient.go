package optest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// step is the half-width of central differences in float64.
const step = 1e-5

// graph is an operator applied to variables, with gradients of its inputs.
type graph struct {
	feeds map[*op.Node]op.Tensor
	vars  []*op.Node
	node  *op.Node
	heads []*op.Node
	grads []op.Entry
}

// newGraph applies the operator and builds the gradients of the inputs marked in need.
func newGraph(o *op.Op, params any, in, heads []op.Tensor, need []bool) (*graph, error) {
	g := &graph{feeds: map[*op.Node]op.Tensor{}}
	var entries []op.Entry
	for i, t := range in {
		v := op.Var(fmt.Sprintf("in%d", i))
		g.feeds[v], g.vars = t, append(g.vars, v)
		entries = append(entries, v.Entry(0))
	}
	n, err := op.NewNode(o, "node", params, entries...)
	if err != nil {
		return nil, err
	}
	g.node = n
	var outGrad []op.Entry
	for i, t := range heads {
		if t.Data == nil {
			g.heads, outGrad = append(g.heads, nil), append(outGrad, op.Entry{})
			continue
		}
		v := op.Var(fmt.Sprintf("head%d", i))
		g.feeds[v], g.heads = t, append(g.heads, v)
		outGrad = append(outGrad, v.Entry(0))
	}
	for len(outGrad) < n.NumOutputs() {
		outGrad = append(outGrad, op.Entry{})
	}
	g.grads, err = op.Gradient(n, outGrad, need)
	return g, err
}

// eval computes the gradients; a gradient that is zero by structure has no memory.
func (g *graph) eval(r Runner) ([]op.Tensor, error) {
	var want []op.Entry
	for _, e := range g.grads {
		if e.Valid() {
			want = append(want, e)
		}
	}
	got, err := r.Eval(want, g.feeds)
	if err != nil {
		return nil, err
	}
	res := make([]op.Tensor, len(g.grads))
	for i, e := range g.grads {
		if e.Valid() {
			res[i], got = got[0], got[1:]
		}
	}
	return res, nil
}

// checkWantGrad compares gradients for given heads with given values. A gradient without memory
// counts as zeros.
func checkWantGrad(t *testing.T, o *op.Op, params any, c Case) {
	t.Helper()
	if c.WantGrad == nil {
		return
	}
	need := make([]bool, len(c.In))
	for i := range c.WantGrad {
		need[i] = c.WantGrad[i].Data != nil
	}
	g, err := newGraph(o, params, cloneAll(c.In), c.Heads, need)
	if err != nil {
		t.Error(err)
		return
	}
	got, err := g.eval(Runner{Train: c.Train, Seed: c.Seed})
	if err != nil {
		t.Errorf("gradient: %v", err)
		return
	}
	for i := range got {
		if got[i].Data == nil {
			got[i] = New(c.In[i].DType, c.In[i].Shape...)
		}
	}
	compareAll(t, "gradient of input", got, c.WantGrad, c.Tol)
}

// widened returns copies of the inputs, with differentiable ones in float64, and marks the inputs
// whose gradient is tested.
func (c Case) widened() (in []op.Tensor, need []bool) {
	in, need = cloneAll(c.In), make([]bool, len(c.In))
	for i := range in {
		if isFloat(in[i]) {
			in[i] = widen(in[i])
			need[i] = !slices.Contains(c.Const, i)
		}
	}
	return in, need
}

// checkDiff compares the gradient with central differences of sum(head·output) in float64.
func checkDiff(t *testing.T, o *op.Op, params any, c Case) {
	t.Helper()
	in, need := c.widened()
	r := Runner{Train: c.Train, Seed: c.Seed}
	out, err := r.Apply(o, params, cloneAll(in))
	if err != nil {
		t.Errorf("in float64: %v", err)
		return
	}
	rng := rand.New(rand.NewPCG(7, 7))
	heads, visible := make([]op.Tensor, len(out)), o.NumVisible(params)
	for i, v := range out {
		if v.DType == dtype.Float64 && i < visible {
			heads[i] = New(dtype.Float64, v.Shape...)
			loop.Generate(heads[i], func(int) float64 { return 0.5 + rng.Float64() })
		}
	}
	g, err := newGraph(o, params, cloneAll(in), heads, need)
	if err != nil {
		t.Error(err)
		return
	}
	got, err := g.eval(r)
	if err != nil {
		t.Errorf("gradient: %v", err)
		return
	}
	for i := range in {
		if !need[i] {
			continue
		}
		want, err := loss{r, o, params, in, heads}.differences(i)
		if err != nil {
			t.Errorf("differences of input %d: %v", i, err)
			return
		}
		if got[i].Data == nil {
			got[i] = New(dtype.Float64, in[i].Shape...)
		}
		if d := Diff(got[i], want, Tolerance{2e-6, 1e-5}); d != "" {
			t.Errorf("gradient of input %d against differences: %s", i, d)
		}
	}
}

// loss is the sum of head·output of one operator, as a function of its inputs.
type loss struct {
	r         Runner
	op        *op.Op
	params    any
	in, heads []op.Tensor
}

// at returns the loss with element k of input i replaced by x.
func (l loss) at(i, k int, x float64) (float64, error) {
	in := cloneAll(l.in)
	op.Slice[float64](in[i])[k] = x
	out, err := l.r.Apply(l.op, l.params, in)
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for j, h := range l.heads {
		if h.Data == nil {
			continue
		}
		y := op.Slice[float64](out[j])
		for m, v := range op.Slice[float64](h) {
			sum += v * y[m]
		}
	}
	return sum, nil
}

// differences returns the derivative of the loss by input i.
func (l loss) differences(i int) (op.Tensor, error) {
	want := New(dtype.Float64, l.in[i].Shape...)
	w := op.Slice[float64](want)
	for k, x := range op.Slice[float64](l.in[i]) {
		up, err := l.at(i, k, x+step)
		if err != nil {
			return want, err
		}
		down, err := l.at(i, k, x-step)
		if err != nil {
			return want, err
		}
		w[k] = (up - down) / (2 * step)
	}
	return want, nil
}

// widen converts a floating-point operand to float64.
func widen(t op.Tensor) op.Tensor {
	w := New(dtype.Float64, t.Shape...)
	loop.Load(op.Slice[float64](w), t, 0, 1)
	return w
}
