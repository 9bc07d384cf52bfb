package onnx

import (
	"gomx/dtype"
	sym "gomx/symbol"
)

// trainRows are steps of optimizers.
var trainRows = map[string]row{
	"ai.onnx.preview.training:Adagrad":  {5, steps(3, adagrad)},
	"ai.onnx.preview.training:Adam":     {6, steps(4, adam)},
	"ai.onnx.preview.training:Momentum": {5, steps(3, momentum)},
}

// step is an update of one parameter. Its inputs are the rate, the number of updates before, the
// parameter, the gradient, and the states; its results the parameter and the states.
type step struct {
	c       *call
	rate, t *sym.Symbol // float32 or float64, of shape (1)
	x, g    *sym.Symbol // g with the gradient of the penalty
	states  []*sym.Symbol
}

// steps makes an importer of updates that are given in groups: all parameters, all gradients, and
// all of each state.
func steps(kinds int, f func(s step) []*sym.Symbol) importer {
	return func(c *call) []*sym.Symbol {
		n := (len(c.in) - 2) / kinds
		if len(c.in) != 2+kinds*n {
			return c.fail("%d inputs, want 2 and a multiple of %d", len(c.in), kinds)
		}
		groups := make([][]*sym.Symbol, kinds-1)
		for i := range n {
			x := c.in[2+i]
			if x == nil || c.in[0].size() != 1 || c.in[1].size() != 1 {
				return c.fail("a rate of shape %v and a count of shape %v, want one number each",
					c.in[0].shape, c.in[1].shape)
			}
			s := step{c: c, rate: number(c, 0, x.typ), t: number(c, 1, x.typ), x: c.x(2 + i)}
			s.g = sym.ElemwiseAdd(times(s.x, c.float("norm_coefficient", 0)), c.x(2+n+i))
			for k := 2; k < kinds; k++ {
				s.states = append(s.states, c.x(2+k*n+i))
			}
			for k, r := range f(s) {
				groups[k] = append(groups[k], r)
			}
		}
		var outs []*sym.Symbol
		for _, g := range groups {
			outs = append(outs, g...)
		}
		return outs
	}
}

// number is input i, one number, in an element type.
func number(c *call, i int, t dtype.Type) *sym.Symbol {
	return cast(c.reshape(c.x(i), dtype.Shape{1}), t)
}

// mix is a·x + b·y.
func mix(a float64, x *sym.Symbol, b float64, y *sym.Symbol) *sym.Symbol {
	return sym.ElemwiseAdd(times(x, a), times(y, b))
}

// descend is the parameter less rate times direction; the rate has shape (1).
func (s step) descend(rate, direction *sym.Symbol) *sym.Symbol {
	k := s.c.shapeOf(s.x)
	x := sym.BroadcastSub(s.x, sym.BroadcastMul(rate, direction))
	return s.c.reshape(x, k)
}

func adagrad(s step) []*sym.Symbol {
	c := s.c
	rate := sym.ElemwiseDiv(s.rate, plus(times(s.t, c.float("decay_factor", 0)), 1))
	h := sym.ElemwiseAdd(s.states[0], sym.Square(s.g))
	d := sym.ElemwiseDiv(s.g, plus(sym.Sqrt(h), c.float("epsilon", 1e-6)))
	return []*sym.Symbol{s.descend(rate, d), h}
}

// adam corrects the bias of the means in all updates but that with the number 0.
func adam(s step) []*sym.Symbol {
	c := s.c
	alpha, beta := c.float("alpha", 0.9), c.float("beta", 0.999)
	v := mix(alpha, s.states[0], 1-alpha, s.g)
	h := mix(beta, s.states[1], 1-beta, sym.Square(s.g))
	rest := func(v float64) *sym.Symbol { // 1 - v^t, at t = 0: 1
		p := sym.RPowerScalar(s.t, sym.ScalarParams{Scalar: v})
		none := sym.EqualScalar(s.t, sym.ScalarParams{})
		return sym.ElemwiseAdd(sym.RMinusScalar(p, sym.ScalarParams{Scalar: 1}), none)
	}
	rate := sym.ElemwiseMul(s.rate, sym.ElemwiseDiv(sym.Sqrt(rest(beta)), rest(alpha)))
	d := sym.ElemwiseDiv(v, plus(sym.Sqrt(h), c.float("epsilon", 1e-6)))
	x := times(s.descend(rate, d), 1-c.float("norm_coefficient_post", 0))
	return []*sym.Symbol{x, v, h}
}

// momentum takes the gradient as it is in the update with the number 0.
func momentum(s step) []*sym.Symbol {
	c := s.c
	alpha, beta := c.float("alpha", 0), c.float("beta", 0)
	later := sym.GreaterScalar(s.t, sym.ScalarParams{})
	share := plus(times(later, beta-1), 1)
	v := sym.BroadcastAdd(times(s.states[0], alpha), sym.BroadcastMul(share, s.g))
	v = c.reshape(v, c.shapeOf(s.x))
	d := v
	if c.text("mode", "standard") == "nesterov" {
		d = mix(1, s.g, alpha, v)
	}
	return []*sym.Symbol{s.descend(s.rate, d), v}
}
