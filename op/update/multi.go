package update

import (
	"fmt"

	"gomx/dtype"
	"gomx/op"
)

// maxWeights is how many weights one call may update.
const maxWeights = 64

// group holds the operands that belong to one weight: weight, gradient, states and, with mixed,
// the master copy of the weight as the last one.
type group struct {
	in    []op.Tensor
	out   op.Tensor
	mixed bool
}

// operands returns the operands that a rule reads and the operands that it writes.
func (g group) operands() (read, write []op.Tensor) {
	if !g.mixed {
		return g.in, append([]op.Tensor{g.out, {}}, g.in[2:]...)
	}
	last := len(g.in) - 1
	master := g.in[last]
	return append([]op.Tensor{master}, g.in[1:last]...), append([]op.Tensor{master, {}},
		g.in[2:last]...)
}

// round copies the master weight to the output.
func (g group) round() {
	if g.mixed {
		each(g.in[len(g.in)-1:], []op.Tensor{g.out}, func([]float64) {})
	}
}

// stepTensors applies a rule to all elements of a group.
func stepTensors(g group, step func(v []float64)) {
	read, write := g.operands()
	each(read, write, step)
	g.round()
}

// multi is an operator that updates many weights: operands are interleaved by weight and followed
// by those that all of them share.
type multi[P any] struct {
	doc, goName string
	states      []string
	mixed       bool
	shared      []string
	count       func(p P) int
	// lengths of the lists, one element per weight
	lists func(p P) map[string]int
	apply func(p P, c *op.Call, i int, g group) // updates weight number i
}

func defineMulti[P any](h op.Handle[P], m multi[P]) {
	if m.mixed {
		m.states = append(append([]string{}, m.states...), "weight32")
	}
	stride := 2 + len(m.states)
	var mutates []int
	var pairs [][2]int
	for i := range maxWeights * stride {
		if i%stride >= 2 {
			mutates = append(mutates, i)
		}
		if i%stride == 0 {
			pairs = append(pairs, [2]int{i, i / stride})
		}
	}
	h.Define(op.Spec[P]{
		Traits: op.Traits{
			Doc: m.doc + fmt.Sprintf(
				"\nAt most %d weights. The outputs are the new weights; give the weights "+
					"themselves as outputs to replace them.", maxWeights),
			GoName:   m.goName,
			Variadic: true,
			Multi:    true,
			NoGrad:   noGrad,
			Mutates:  mutates,
			Inplace:  pairs,
			Update:   true,
		},
		Inputs: m.inputs,
		Outputs: func(p P) []string {
			names := make([]string, m.count(p))
			for i := range names {
				names[i] = fmt.Sprintf("output%d", i)
			}
			return names
		},
		Infer: func(p P, in, out []dtype.Shape) error { return m.infer(p, in, out, stride) },
		InferType: func(p P, in, out []dtype.Type) error {
			return m.inferType(p, in, out, stride)
		},
		Ref: func(p P, c *op.Call) error {
			for i, out := range c.Out {
				m.apply(p, c, i, group{c.In[i*stride : (i+1)*stride], out, m.mixed})
			}
			return nil
		},
	})
}

func (m multi[P]) inputs(p P) []op.Input {
	var in []op.Input
	for i := range m.count(p) {
		for _, o := range operands(m.states) {
			in = append(in, op.Input{Name: fmt.Sprintf("%s_%d", o.Name, i), Role: o.Role})
		}
	}
	for _, s := range m.shared {
		in = append(in, op.Input{Name: s})
	}
	return in
}

func (m multi[P]) infer(p P, in, out []dtype.Shape, stride int) error {
	n := len(out)
	if n < 1 || n > maxWeights {
		return op.Errorf("", "%d weights, want 1 to %d", n, maxWeights)
	}
	if m.lists != nil {
		for name, length := range m.lists(p) {
			if length != n {
				return op.Errorf(name, "%d numbers for %d weights", length, n)
			}
		}
	}
	for i := range n {
		if err := op.SameShape(p, in[i*stride:(i+1)*stride], out[i:i+1]); err != nil {
			return err
		}
	}
	for i, name := range m.shared {
		s := &in[n*stride+i]
		if name == "rescale_grad" {
			if err := oneElement(name, s); err != nil {
				return err
			}
		} else if err := op.Require(name, s, dtype.Shape{n}); err != nil {
			return err
		}
	}
	return nil
}

func (m multi[P]) inferType(p P, in, out []dtype.Type, stride int) error {
	if !m.mixed {
		return op.FloatType(p, in, out)
	}
	var low, wide []dtype.Type
	for i := range in {
		if i < len(out)*stride && i%stride < 2 {
			low = append(low, in[i])
		} else {
			wide = append(wide, in[i])
		}
	}
	both := append(low, wide...)
	if err := mixedType(both, out, len(low), false); err != nil {
		return err
	}
	low, wide = both[:len(low)], both[len(low):]
	for i := range in {
		if i < len(out)*stride && i%stride < 2 {
			in[i], low = low[0], low[1:]
		} else {
			in[i], wide = wide[0], wide[1:]
		}
	}
	return nil
}
