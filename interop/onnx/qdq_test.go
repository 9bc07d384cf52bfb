package onnx_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"gomx/dtype"
	nd "gomx/ndarray"
)

// coder builds graphs in which integers stand before and behind each operator.
type coder struct {
	t     *testing.T
	b     built
	fixed []string
}

// put adds a constant.
func (c *coder) put(name string, a *nd.Array) string {
	c.b.inputs[name] = a
	c.fixed = append(c.fixed, name)
	return name
}

// scalar makes an array for one number of a type.
func scalar(v float64, t dtype.Type) *nd.Array {
	return nd.Cast(nd.FromSlice([]float64{v}), nd.CastParams{DType: t})
}

// node adds a node of one output.
func (c *coder) node(name string, in []string, out string, a attrs) string {
	c.b.nodes = append(c.b.nodes, node(c.t, "", name, in, []string{out}, a))
	return out
}

// coded adds QuantizeLinear and DequantizeLinear behind x.
func (c *coder) coded(x string, scale, zero float64, t dtype.Type) string {
	s, z := c.put(x+".s", number(float32(scale))), c.put(x+".z", scalar(zero, t))
	q := c.node("QuantizeLinear", []string{x, s, z}, x+".q", nil)
	return c.node("DequantizeLinear", []string{q, s, z}, x+".d", nil)
}

// weight adds DequantizeLinear behind constant integers with a scale for each index of an axis.
func (c *coder) weight(r *rand.Rand, name string, axis int, shape ...int) string {
	q := c.put(name+".q", integers(r, dtype.Int8, shape...))
	s := c.put(name+".s", random(r, dtype.Float32, 0.001, 0.003, shape[axis]))
	z := c.put(name+".z", nd.Cast(nd.Zeros(nd.Shape{shape[axis]}), nd.CastParams{DType: dtype.Int8}))
	return c.node("DequantizeLinear", []string{q, s, z}, name, attrs{"axis": axis})
}

// TestCodedNetwork imports convolutions, poolings, a sum, a join and dense layers between integers.
// The results of quantized operators must equal the results of float32 operators, but for one step
// of a rounding in a few places.
func TestCodedNetwork(t *testing.T) {
	for name, typ := range map[string]dtype.Type{"uint8": dtype.Uint8, "int8": dtype.Int8} {
		r := rand.New(rand.NewPCG(81, 0))
		c := &coder{t: t, b: built{opset: 17, outs: []string{"y"}, inputs: map[string]*nd.Array{
			"x": random(r, dtype.Float32, -1, 1, 2, 3, 12, 10)}}}
		least, middle := 0.0, 117.0 // zero points of numbers from 0 on, and of all numbers
		if typ == dtype.Int8 {
			least, middle = -128, -11
		}
		pads := attrs{"pads": []int{1, 1, 1, 1}}
		x := c.coded("x", 1/127.0, middle, typ)
		bias := c.put("b", random(r, dtype.Float32, -1, 1, 8))
		h := c.node("Conv", []string{x, c.weight(r, "w1", 0, 8, 3, 3, 3), bias}, "h", pads)
		h = c.coded(c.node("Relu", []string{h}, "relu", nil), 0.01, least, typ)
		p := c.node("MaxPool", []string{h}, "pool", attrs{"kernel_shape": []int{3, 3},
			"strides": []int{2, 2}, "pads": []int{1, 1, 1, 1}})
		p = c.coded(p, 0.01, least, typ)
		a := c.coded(c.node("Conv", []string{p, c.weight(r, "w2", 0, 8, 4, 3, 3), bias}, "a", attrs{
			"pads": []int{1, 1, 1, 1}, "group": 2}), 0.02, middle, typ)
		d := c.coded(c.node("Conv", []string{a, c.weight(r, "w3", 0, 8, 8, 3, 3)}, "d", pads), 0.03,
			middle, typ)
		sum := c.coded(c.node("Add", []string{d, p}, "sum", nil), 0.04, middle, typ)
		j := c.coded(c.node("Concat", []string{sum, a}, "j", attrs{"axis": 1}), 0.04, middle, typ)
		f := c.coded(c.node("Flatten", []string{j}, "f", nil), 0.04, middle, typ)
		m := c.coded(c.node("MatMul", []string{f, c.weight(r, "w4", 1, 480, 20)}, "m", nil), 0.05,
			middle, typ)
		c.node("Gemm", []string{m, c.weight(r, "w5", 0, 6, 20)}, "y", attrs{"transB": 1})
		want := c.b.run(t)[0]
		c.b.fixed = c.fixed
		model, err := c.b.load(t)
		if err != nil {
			t.Fatal(err)
		}
		if n := quantizedOps(model.Symbol); n != 5 {
			t.Errorf("%s: %d quantized products, want 5", name, n)
		}
		got := evaluate(t, model.Symbol, model.Values(c.b.inputs))[0]
		off, size := 0.0, 0.0
		for i := range want {
			off, size = max(off, math.Abs(got[i]-want[i])), max(size, math.Abs(want[i]))
		}
		if t.Logf("%s: difference %g of %g", name, off, size); off > 0.02*size || size < 0.1 {
			t.Errorf("%s: difference %g, numbers up to %g", name, off, size)
		}
	}
}

// TestCodedTwice rounds numbers that are rounded already: the second rounding changes nothing.
func TestCodedTwice(t *testing.T) {
	r := rand.New(rand.NewPCG(82, 0))
	c := &coder{t: t, b: built{opset: 17, outs: []string{"y"}, inputs: map[string]*nd.Array{
		"x": random(r, dtype.Float32, -1, 1, 40)}}}
	d := c.coded("x", 0.01, 3, dtype.Int8)
	q := c.node("QuantizeLinear", []string{d, "x.s", "x.z"}, "q", nil)
	c.node("DequantizeLinear", []string{q, "x.s", "x.z"}, "y", nil)
	want := c.b.run(t)[0]
	c.b.fixed = c.fixed
	got := c.b.run(t)[0]
	for i := range want {
		if math.Abs(got[i]-want[i]) > 1e-6 {
			t.Fatalf("got %g at element %d, want %g", got[i], i, want[i])
		}
	}
	m, err := c.b.load(t)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, node := range m.Symbol.Nodes() {
		if !node.IsVar() && node.Op.Name == "_contrib_quantize_v2" {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d quantizing operators, want 1", n)
	}
}
