package optest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gomx/dtype"
	passes "gomx/graph"
	"gomx/op"
	"gomx/op/loop"
)

// second is the gradient of an operator, weighted and summed, with its own gradient.
type second struct {
	*graph
	weights []op.Tensor // weights of each input's gradient; no memory where there is no gradient
	wrt     []*op.Node  // differentiated inputs, and heads
	runner  Runner
}

// checkTwice compares the gradient of the gradient with differences of the gradient, in float64.
// The definition of an operator must say if its gradient has no gradient.
func checkTwice(t *testing.T, o *op.Op, params any, c Case) {
	t.Helper()
	s, err := newSecond(o, params, c)
	if err != nil || s == nil {
		if err != nil {
			t.Errorf("gradient of the gradient: %v", err)
		}
		return
	}
	if n := s.opaque(); n != nil {
		if o.Once == "" {
			t.Errorf("the gradient uses %s, which has no gradient, but the definition does not "+
				"say so", n.Op.Name)
		}
		return
	}
	got, err := s.gradients()
	if err != nil {
		t.Errorf("gradient of the gradient: %v", err)
		return
	}
	rng := rand.New(rand.NewPCG(11, 11))
	for i, v := range s.wrt {
		want, at, err := s.differences(v, rng)
		if err != nil {
			t.Errorf("differences of the gradient by %s: %v", v.Name, err)
			return
		}
		have := New(dtype.Float64, len(at))
		for k, p := range at {
			if got[i].Data != nil {
				op.Slice[float64](have)[k] = op.Slice[float64](got[i])[p]
			}
		}
		if d := Diff(have, want, Tolerance{2e-6, 1e-5}); d != "" {
			t.Errorf("gradient of the gradient by %s at %v against differences: %s", v.Name, at, d)
		}
	}
}

// newSecond makes the gradient of the floating-point inputs in float64; it returns nil if there is
// none.
func newSecond(o *op.Op, params any, c Case) (*second, error) {
	in, need := c.widened()
	r := Runner{Train: c.Train, Seed: c.Seed}
	out, err := r.Apply(o, params, cloneAll(in))
	if err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(9, 9))
	random := func(like op.Tensor) op.Tensor {
		v := New(dtype.Float64, like.Shape...)
		loop.Generate(v, func(int) float64 { return 0.5 + rng.Float64() })
		return v
	}
	heads := make([]op.Tensor, len(out))
	for i, v := range out {
		if v.DType == dtype.Float64 && i < o.NumVisible(params) {
			heads[i] = random(v)
		}
	}
	s := &second{runner: r}
	if s.graph, err = newGraph(o, params, in, heads, need); err != nil {
		return nil, err
	}
	s.weights = make([]op.Tensor, len(in))
	for i, e := range s.grads {
		if need[i] && e.Valid() {
			s.weights[i] = random(in[i])
			s.wrt = append(s.wrt, s.vars[i])
		}
	}
	if len(s.wrt) == 0 {
		return nil, nil
	}
	for _, h := range s.heads {
		if h != nil {
			s.wrt = append(s.wrt, h)
		}
	}
	return s, nil
}

// opaque returns a node of the gradient that has no gradient.
func (s *second) opaque() *op.Node {
	var list []op.Entry
	for _, e := range s.grads {
		if e.Valid() {
			list = append(list, e)
		}
	}
	for _, n := range op.Topo(list) {
		if !n.IsVar() && !n.Op.HasGrad() {
			return n
		}
	}
	return nil
}

// gradients computes the gradients of the weighted gradients by wrt.
func (s *second) gradients() ([]op.Tensor, error) {
	feeds := s.clone()
	var heads, headGrads, wrt, want []op.Entry
	for i, w := range s.weights {
		if w.Data != nil {
			v := op.Var(fmt.Sprintf("weight%d", i))
			feeds[v] = w
			heads, headGrads = append(heads, s.grads[i]), append(headGrads, v.Entry(0))
		}
	}
	for _, v := range s.wrt {
		wrt = append(wrt, v.Entry(0))
	}
	grads, err := passes.Gradient(heads, headGrads, wrt)
	if err != nil {
		return nil, err
	}
	for _, e := range grads {
		if e.Valid() {
			want = append(want, e)
		}
	}
	got, err := s.runner.Eval(want, feeds)
	if err != nil {
		return nil, err
	}
	res := make([]op.Tensor, len(grads))
	for i, e := range grads {
		if e.Valid() {
			res[i], got = got[0], got[1:]
		}
	}
	return res, nil
}

// clone copies the values of the variables, because operators may change them.
func (s *second) clone() map[*op.Node]op.Tensor {
	feeds := map[*op.Node]op.Tensor{}
	for v, x := range s.feeds {
		feeds[v] = Clone(x)
	}
	return feeds
}

// mostPlaces is the number of elements of an array that are varied for differences.
const mostPlaces = 12

// differences returns the derivative of the weighted gradients by some elements of v, and their
// numbers.
func (s *second) differences(v *op.Node, rng *rand.Rand) (want op.Tensor, at []int, err error) {
	x := op.Slice[float64](s.feeds[v])
	at = rng.Perm(len(x))
	at = at[:min(len(at), mostPlaces)]
	want = New(dtype.Float64, len(at))
	for k, p := range at {
		keep := x[p]
		var side [2]float64
		for j, d := range []float64{step, -step} {
			x[p] = keep + d
			side[j], err = s.value()
			x[p] = keep
			if err != nil {
				return want, at, err
			}
		}
		op.Slice[float64](want)[k] = (side[0] - side[1]) / (2 * step)
	}
	return want, at, nil
}

// value is the sum of the weighted gradients.
func (s *second) value() (float64, error) {
	g := *s.graph
	g.feeds = s.clone()
	grads, err := g.eval(s.runner)
	sum := 0.0
	for i, w := range s.weights {
		if w.Data == nil || err != nil {
			continue
		}
		y := op.Slice[float64](grads[i])
		for k, v := range op.Slice[float64](w) {
			sum += v * y[k]
		}
	}
	return sum, err
}
