package rnn

import (
	"slices"

	"gomx/dtype"
	"gomx/op"
)

// fit merges want into the shape of an operand and reads extents back from it.
func fit(arg string, s *dtype.Shape, want dtype.Shape, back ...*int) error {
	if err := op.Require(arg, s, want); err != nil {
		return err
	}
	for i, b := range back {
		if b != nil && (*s)[i] != -1 {
			*b = (*s)[i]
		}
	}
	return nil
}

// operands holds the shapes of all operands of RNN, nil for operands that it does not have.
type operands struct {
	data, params, state, cell, lengths *dtype.Shape
	out, stateOut, cellOut, reserve    *dtype.Shape
}

// operandsOf sorts the shapes of inputs and outputs.
func operandsOf(p RNNParams, in, out []dtype.Shape) operands {
	o := operands{data: &in[0], params: &in[1], state: &in[2], out: &out[0],
		reserve: &out[len(out)-1]}
	if p.Mode == "lstm" {
		o.cell = &in[3]
	}
	if p.UseSequenceLength {
		o.lengths = &in[len(in)-1]
	}
	if p.StateOutputs {
		o.stateOut = &out[1]
		if p.Mode == "lstm" {
			o.cellOut = &out[2]
		}
	}
	return o
}

func inferRNN(p RNNParams, in, out []dtype.Shape) error {
	n, err := newNet(p)
	if err != nil {
		return err
	}
	o := operandsOf(p, in, out)
	for range 2 { // the second round infers the first operands from the last
		if err := n.infer(&o); err != nil {
			return err
		}
	}
	return nil
}

// infer merges the shapes of all operands with the known extents.
func (n *net) infer(o *operands) error {
	if err := fit("data", o.data, dtype.Shape{n.steps, n.batch, n.input}, &n.steps, &n.batch,
		&n.input); err != nil {
		return err
	}
	if err := fit("output", o.out, dtype.Shape{n.steps, n.batch, n.dirs * n.out}, &n.steps,
		&n.batch); err != nil {
		return err
	}
	if err := n.inferParams(o.params); err != nil {
		return err
	}
	states := []struct {
		arg  string
		s    *dtype.Shape
		size int
	}{{"state", o.state, n.out}, {"state_cell", o.cell, n.hidden}, {"state_output", o.stateOut,
		n.out}, {"statecell_output", o.cellOut, n.hidden}}
	for _, st := range states {
		if st.s == nil {
			continue
		}
		if err := fit(st.arg, st.s, dtype.Shape{n.layers * n.dirs, n.batch, st.size}, nil,
			&n.batch); err != nil {
			return err
		}
	}
	if o.lengths != nil {
		if err := fit("sequence_length", o.lengths, dtype.Shape{n.batch}, &n.batch); err != nil {
			return err
		}
	}
	size := -1
	if n.steps != -1 && n.batch != -1 {
		size = n.reserveSize()
	}
	return op.Require("reserve", o.reserve, dtype.Shape{n.layers * n.dirs, size})
}

func (n *net) inferParams(params *dtype.Shape) error {
	size := -1
	if n.input != -1 {
		size = n.paramSize()
	}
	if err := fit("parameters", params, dtype.Shape{size}, &size); err != nil {
		return err
	}
	if n.input != -1 || size == -1 {
		return nil
	}
	input, ok := n.inputOf(size)
	if !ok {
		return op.Errorf("parameters", "%d elements, which fits no input size", size)
	}
	n.input = input
	return nil
}

// inferRNNGrad infers the shapes of the backward operator: its inputs are the gradients of the
// visible outputs, the inputs of RNN and the reserve; its outputs the gradients of inputs.
func inferRNNGrad(p RNNParams, in, out []dtype.Shape) error {
	heads, inputs := len(visible(p)), len(rnnInputs(p))
	fin := slices.Clone(in[heads : heads+inputs])
	fout := append(slices.Clone(in[:heads]), in[heads+inputs])
	for i := range out {
		if err := op.Require("gradient", &fin[i], out[i]); err != nil {
			return err
		}
	}
	if err := inferRNN(p, fin, fout); err != nil {
		return err
	}
	copy(in, fout[:heads])
	copy(in[heads:], fin)
	in[heads+inputs] = fout[heads]
	for i := range out {
		out[i] = fin[i].Clone()
	}
	return nil
}

// floatTypes infers one floating-point type for all operands but the lengths of sequences, whose
// index is lengths, -1 for none; these are int32 unless another type is known.
func floatTypes(in, out []dtype.Type, lengths int) error {
	t := dtype.Unknown
	for i, u := range slices.Concat(in, out) {
		switch {
		case u == dtype.Unknown || i == lengths:
		case !u.IsFloat():
			return op.Errorf("", "element type %v, want a floating-point type", u)
		case t != dtype.Unknown && t != u:
			return op.Errorf("", "element types differ: %v and %v", t, u)
		default:
			t = u
		}
	}
	for i := range in {
		if i != lengths {
			in[i] = t
		} else if in[i] == dtype.Unknown {
			in[i] = dtype.Int32
		}
	}
	for i := range out {
		out[i] = t
	}
	return nil
}
