package update

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// rule is how an optimizer changes one element. step returns a function of v = weight, gradient,
// states in order, which leaves the new weight (or the operator's other result) in v[0] and
// the new states where the old ones were.
type rule[P any] struct {
	doc     string
	goName  string
	aliases []string
	states  []string
	step    func(p P) func(v []float64)
	rows    *byRows[P] // nil: row_sparse operands are made dense
}

const noGrad = "an update of parameters is not differentiated"

// define defines an operator whose operands all have one shape and one element type.
func define[P any](h op.Handle[P], r rule[P]) {
	in := operands(r.states)
	s := op.Spec[P]{
		Traits: op.Traits{
			Doc:     r.doc,
			GoName:  r.goName,
			Aliases: r.aliases,
			NoGrad:  noGrad,
			Inplace: [][2]int{{0, 0}},
			Mutates: from(2, len(in)),
			Update:  true,
		},
		Inputs:    func(P) []op.Input { return in },
		Infer:     op.SameShape[P],
		InferType: op.FloatType[P],
		Ref: func(p P, c *op.Call) error {
			stepTensors(group{c.In, c.Out[0], false}, r.step(p))
			return nil
		},
	}
	if r.rows != nil {
		if r.rows.row == nil {
			r.rows.row = func(p P, _ *op.Call) func(v [][]float64) { return byElement(r.step(p)) }
		}
		s.Storage, s.Sparse = r.rows.storage, r.rows.step
	}
	h.Define(s)
}

// defineMixed defines the operator that applies a rule to weights and gradients of low precision,
// with states and a master copy of the weights, the last input, in float32.
func defineMixed[P any](h op.Handle[P], goName string, r rule[P]) {
	in := append(operands(r.states), op.Input{Name: "weight32", Role: op.State})
	h.Define(op.Spec[P]{
		Traits: op.Traits{
			Doc: r.doc + "\nThe weight may have low precision: weight32 is the exact one, " +
				"and the output is rounded from it.",
			GoName:  goName,
			NoGrad:  noGrad,
			Inplace: [][2]int{{0, 0}},
			Mutates: from(2, len(in)),
			Update:  true,
		},
		Inputs:    func(P) []op.Input { return in },
		Infer:     op.SameShape[P],
		InferType: func(_ P, in, out []dtype.Type) error { return mixedType(in, out, 2, false) },
		Ref: func(p P, c *op.Call) error {
			stepTensors(group{c.In, c.Out[0], true}, r.step(p))
			return nil
		},
	})
}

// operands lists weight, gradient and states.
func operands(states []string) []op.Input {
	in := []op.Input{{Name: "weight"}, {Name: "grad"}}
	for _, s := range states {
		in = append(in, op.Input{Name: s, Role: op.State})
	}
	return in
}

// from returns the numbers from a to b-1.
func from(a, b int) []int {
	var list []int
	for i := a; i < b; i++ {
		list = append(list, i)
	}
	return list
}

// each runs step for every element of operands of equal size: v holds the elements of read, and
// is stored in write, operand by operand, afterwards. Operands without memory are skipped.
func each(read, write []op.Tensor, step func(v []float64)) {
	size := read[0].Shape.Size()
	columns, v := make([][loop.Block]float64, len(read)), make([]float64, len(read))
	for i := 0; i < size; i += loop.Block {
		n := min(loop.Block, size-i)
		for k, t := range read {
			loop.Load(columns[k][:n], t, i, 1)
		}
		for e := range n {
			for k := range v {
				v[k] = columns[k][e]
			}
			step(v)
			for k := range v {
				columns[k][e] = v[k]
			}
		}
		for k, t := range write {
			if t.Data != nil {
				loop.Store(t, i, columns[k][:n])
			}
		}
	}
}

// mixedType infers one floating-point type for the first low inputs and the outputs, and float32
// for the other inputs; with exact, also for the outputs.
func mixedType(in, out []dtype.Type, low int, exact bool) error {
	wide := [][]dtype.Type{in[low:]}
	if exact {
		wide, out = append(wide, out), nil
	}
	if err := op.FloatType(op.NoParams{}, in[:low], out); err != nil {
		return err
	}
	for _, list := range wide {
		for i, t := range list {
			if t != dtype.Unknown && t != dtype.Float32 {
				return op.Errorf("", "element type %v of a state, want float32", t)
			}
			list[i] = dtype.Float32
		}
	}
	return nil
}

// clip limits g to [-limit, limit]; a negative limit is none.
func clip(g, limit float64) float64 {
	if limit < 0 {
		return g
	}
	return min(max(g, -limit), limit)
}

// sign is -1, 0 or 1.
func sign(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return 0
}
