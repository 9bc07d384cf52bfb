package onnx

import (
	"math"

	"gomx/dtype"
	sym "gomx/symbol"
)

// contribRows are operators of the domain com.microsoft that ONNX Runtime's tools put into models.
var contribRows = map[string]row{
	"com.microsoft:FusedMatMul": {2, fusedMatMul}, "com.microsoft:FusedConv": {2, fusedConv},
	"com.microsoft:FusedGemm": {2, fusedGemm},
	"com.microsoft:FastGelu":  {1, biased(fastGelu)}, "com.microsoft:BiasGelu": {2, biased(gelu)},
	"com.microsoft:QuickGelu": activation(func(c *call, x *sym.Symbol) *sym.Symbol {
		return sym.BroadcastMul(x, sym.Sigmoid(times(x, c.float("alpha", 1.702))))
	}),
	"com.microsoft:SkipLayerNormalization":           {3, skipNorm(false)},
	"com.microsoft:SkipSimplifiedLayerNormalization": {3, skipNorm(true)},
	"com.microsoft:EmbedLayerNormalization":          {7, embedNorm},
	"com.microsoft:Attention":                        {2, packedAttention},
	"com.microsoft:MultiHeadAttention":               {3, multiHead},
}

// derived is a call of another importer with other inputs and the same attributes.
func derived(c *call, in []*value) *call {
	d := *c
	d.in, d.direct = in, nil
	return &d
}

// made is a value of a symbol with ONNX's shape.
func made(c *call, s *sym.Symbol) *value {
	k := c.fact(s)
	return &value{name: c.node.GetName(), s: s, shape: k.shape, typ: k.typ}
}

// fusedMatMul multiplies matrices that may be transposed, and a number.
func fusedMatMul(c *call) []*sym.Symbol {
	if c.num("transBatchA", 0) != 0 || c.num("transBatchB", 0) != 0 {
		return c.fail("transBatchA or transBatchB, want only the last two axes to change places")
	}
	var ops [2]*value
	for i, name := range []string{"transA", "transB"} {
		ops[i] = c.in[i]
		if n := c.in[i].rank(); c.num(name, 0) != 0 && n > 1 {
			ops[i] = made(c, sym.SwapAxis(c.x(i), sym.SwapAxisParams{Dim1: n - 2, Dim2: n - 1}))
		}
	}
	s := c.matMul(ops[0].s, ops[0].shape, ops[1].s, ops[1].shape)
	if alpha := c.float("alpha", 1); alpha != 1 {
		s = times(s, alpha)
	}
	return out(s)
}

// fusedConv adds an array to a convolution, and applies an activation.
func fusedConv(c *call) []*sym.Symbol {
	outs := conv(derived(c, c.in[:min(3, len(c.in))]))
	if c.err != nil || len(outs) == 0 {
		return outs
	}
	s := outs[0]
	if c.has(3) {
		s = sym.BroadcastAdd(s, c.x(3))
	}
	return out(activated(c, s, c.text("activation", ""), c.floats("activation_params")))
}

func fusedGemm(c *call) []*sym.Symbol {
	outs := gemm(c)
	if len(outs) == 0 {
		return outs
	}
	return out(activated(c, outs[0], c.text("activation", ""),
		[]float64{c.float("leaky_relu_alpha", 0.01)}))
}

// activated applies an activation by its name, with its parameters in ONNX's order.
func activated(c *call, s *sym.Symbol, name string, p []float64) *sym.Symbol {
	param := func(i int, usual float64) float64 {
		if i < len(p) {
			return p[i]
		}
		return usual
	}
	switch name {
	case "":
		return s
	case "LeakyRelu":
		return sym.LeakyReLU(s, sym.LeakyReLUParams{ActType: "leaky",
			Slope: sym.Some(param(0, 0.01))})
	case "Clip":
		return sym.Clip(s, sym.ClipParams{AMin: param(0, -math.MaxFloat32),
			AMax: param(1, math.MaxFloat32)})
	case "HardSigmoid":
		return hardSigmoid(s, param(0, 0.2), param(1, 0.5))
	}
	if y := plain(s, name); y != nil {
		return y
	}
	c.fail("activation %q, want Relu, Sigmoid, Tanh, Softsign, Softplus, LeakyRelu, Clip or "+
		"HardSigmoid", name)
	return s
}

// plain applies an activation without parameters by its name: nil if it is not one.
func plain(x *sym.Symbol, name string) *sym.Symbol {
	switch name {
	case "Relu":
		return sym.Relu(x)
	case "Sigmoid":
		return sym.Sigmoid(x)
	case "Tanh":
		return sym.Tanh(x)
	case "Softsign":
		return sym.Softsign(x)
	case "Softplus":
		return softplus(x)
	}
	return nil
}

// biased makes an importer of a function of elements of the sum of an array and a bias.
func biased(f func(c *call, x *sym.Symbol) *sym.Symbol) importer {
	return func(c *call) []*sym.Symbol {
		c.elementwise()
		x := c.x(0)
		if c.has(1) {
			x = sym.BroadcastAdd(x, c.x(1))
		}
		return out(f(c, x))
	}
}

// fastGelu is the approximation of x·Φ(x) by tanh.
func fastGelu(_ *call, x *sym.Symbol) *sym.Symbol {
	inner := times(sym.BroadcastMul(x, plus(times(sym.Square(x), 0.044715), 1)),
		math.Sqrt(2/math.Pi))
	return times(sym.BroadcastMul(x, plus(sym.Tanh(inner), 1)), 0.5)
}

// skipNorm normalizes the sum of two arrays and a bias over the last axis. The outputs are the
// result, mean and factor of the normalization, and the sum. The simple form has no mean.
func skipNorm(simple bool) importer {
	return func(c *call) []*sym.Symbol {
		bias := 4
		if simple {
			bias = 3
		}
		s := sym.BroadcastAdd(c.x(0), c.x(1))
		if c.has(bias) {
			s = sym.BroadcastAdd(s, c.x(bias))
		}
		axes, eps := []int{c.in[0].rank() - 1}, c.float("epsilon", 1e-12)
		if simple {
			factor := sym.Rsqrt(plus(sym.Mean(sym.Square(s), sym.ReduceParams{Axis: axes,
				KeepDims: true}), eps))
			y := sym.BroadcastMul(sym.BroadcastMul(s, factor), c.x(2))
			return []*sym.Symbol{y, sym.ZerosLike(factor), factor, s}
		}
		y, mean, factor := normalized(s, axes, eps)
		y = sym.BroadcastMul(y, c.x(2))
		if c.has(3) {
			y = sym.BroadcastAdd(y, c.x(3))
		}
		return []*sym.Symbol{y, mean, factor, s}
	}
}

// embedNorm adds embeddings of words, positions and segments and normalizes them. The inputs are
// words, segments, the three tables, gamma, beta, a mask and positions; the outputs the result, the
// number of words that the mask keeps, and the sum.
func embedNorm(c *call) []*sym.Symbol {
	ids := c.in[0].shape
	if len(ids) != 2 {
		return c.fail("words of shape %v, want (n, length)", ids)
	}
	s := sym.Take(c.x(2), c.x(0), sym.TakeParams{})
	if c.has(8) {
		s = sym.BroadcastAdd(s, sym.Take(c.x(3), c.x(8), sym.TakeParams{}))
	} else {
		if c.in[3].rank() != 2 || c.in[3].shape[0] < ids[1] {
			return c.fail("positions of shape %v for a length of %d", c.in[3].shape, ids[1])
		}
		s = sym.BroadcastAdd(s, c.reshape(cut(c.x(3), 0, 0, ids[1]),
			append(dtype.Shape{1, ids[1]}, c.in[3].shape[1:]...)))
	}
	if c.has(1) && c.has(4) {
		s = sym.BroadcastAdd(s, sym.Take(c.x(4), c.x(1), sym.TakeParams{}))
	}
	y, _, _ := normalized(s, []int{2}, c.float("epsilon", 1e-12))
	y = sym.BroadcastAdd(sym.BroadcastMul(y, c.x(5)), c.x(6))
	count := c.filled(dtype.Shape{ids[0]}, 0, dtype.Int32)
	if c.has(7) {
		count = cast(sym.Sum(c.x(7), sym.ReduceParams{Axis: []int{1}}), dtype.Int32)
	}
	return []*sym.Symbol{y, sym.Identity(count), s}
}
