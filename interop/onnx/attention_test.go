package onnx_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"gomx/device"
	"gomx/dtype"
	nd "gomx/ndarray"
	"gomx/op"
	sym "gomx/symbol"
)

// attentions counts the operators of attention that the passes make of a graph.
func attentions(t *testing.T, s *sym.Symbol, values map[string]*nd.Array) int {
	t.Helper()
	x, err := sym.Explain(s, sym.BindConfig{Device: device.CPU(), DefaultReq: op.ReqNull,
		Args: values}, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range x.Passes {
		if p.Pass == "fuse-attention" {
			return len(p.Changes)
		}
	}
	return 0
}

// TestAttentionForms imports attention in the forms of exporters: divided by a constant, with scores
// below the diagonal chosen by a constant, and with a choice of keys whose rows may be empty. Each is
// one operator, with the numbers of its definition.
func TestAttentionForms(t *testing.T) {
	const n, size = 5, 4
	r := rand.New(rand.NewPCG(91, 0))
	low := map[string]float64{"chosen": -math.MaxFloat32, "guarded": math.Inf(-1), "divided": 0}
	for form := range low {
		may := make([]bool, n*n)
		for i := range may {
			may[i] = i%n <= i/n && !(form == "guarded" && i/n == 2)
		}
		c := &coder{t: t, b: built{opset: 17, outs: []string{"y"}, inputs: map[string]*nd.Array{}}}
		for _, name := range []string{"q", "k", "v"} {
			c.b.inputs[name] = random(r, dtype.Float32, -2, 2, 1, 2, n, size)
		}
		scalar := func(name string, v float64) string {
			return c.put(name, nd.FromSlice([]float32{float32(v)}, []int{}...))
		}
		c.put("may", nd.FromSlice(may, 1, 1, n, n))
		c.node("Transpose", []string{"k"}, "t", attrs{"perm": []int{0, 1, 3, 2}})
		c.node("MatMul", []string{"q", "t"}, "scores", nil)
		s := c.node("Div", []string{"scores", scalar("root", math.Sqrt(size))}, "divided", nil)
		scalar("low", low[form])
		switch form {
		case "chosen":
			s = c.node("Where", []string{"may", s, "low"}, "masked", nil)
		case "guarded":
			c.node("Where", []string{"may", scalar("zero", 0), "low"}, "mask", nil)
			s = c.node("Add", []string{s, "mask"}, "masked", nil)
		}
		w := c.node("Softmax", []string{s}, "weights", attrs{"axis": -1})
		if form == "guarded" {
			c.node("IsNaN", []string{w}, "empty", nil)
			w = c.node("Where", []string{"empty", "zero", w}, "kept", nil)
		}
		c.node("MatMul", []string{w, "v"}, "y", nil)
		c.b.fixed = c.fixed
		v := c.b.floats(t, "q", "k", "v")
		m, err := c.b.load(t)
		if err != nil {
			t.Fatal(err)
		}
		values := m.Values(c.b.inputs)
		if found := attentions(t, m.Symbol, values); found != 1 {
			t.Errorf("%s: %d operators of attention, want 1", form, found)
		}
		got := evaluate(t, m.Symbol, values)[0]
		for head := range 2 {
			at := head * n * size
			for i := range n {
				reads := func(k int) bool { return form == "divided" || may[i*n+k] }
				want := weighed(v, at, i, reads)
				for d := range size {
					if g := got[at+i*size+d]; math.Abs(g-want[d]) > 1e-5 {
						t.Fatalf("%s: got %g at head %d, query %d, want %g", form, g, head, i, want[d])
					}
				}
			}
		}
	}
}

// weighed is the attention of query i of a head, whose arrays begin at an offset: the mean of the
// values of the keys that it reads, by their weights; zeros if it reads none.
func weighed(v [][]float64, at, i int, reads func(k int) bool) []float64 {
	const n, size = 5, 4
	sum, y := 0.0, make([]float64, size)
	for k := range n {
		if !reads(k) {
			continue
		}
		score := 0.0
		for d := range size {
			score += v[0][at+i*size+d] * v[1][at+k*size+d] / math.Sqrt(size)
		}
		w := math.Exp(score)
		sum += w
		for d := range size {
			y[d] += w * v[2][at+k*size+d]
		}
	}
	for d := range y {
		if sum > 0 {
			y[d] /= sum
		}
	}
	return y
}
