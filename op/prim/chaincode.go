package prim

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gomx/dtype"
	"gomx/op"
)

// Chain is a program of pointwise operators, which FusedPointwise runs. Its values are numbered:
// inputs come first, then the results of the steps in their order.
type Chain struct {
	Inputs int
	Steps  []ChainStep
	Outs   []int // the values that are outputs
}

// ChainStep is one operator of a Chain.
type ChainStep struct {
	Op     *op.Op
	Params any
	Args   []int // values
}

// chainLimit is how many steps, inputs or outputs a chain may have at most.
const chainLimit = 4096

// Code spells c: "in 2; broadcast_add 0 1; _mul_scalar 2 scalar=0.5; out 3". Parameters are spelled
// as in symbol files.
func (c *Chain) Code() string {
	var b strings.Builder
	fmt.Fprintf(&b, "in %d", c.Inputs)
	for _, s := range c.Steps {
		b.WriteString("; " + s.Op.Name)
		writeInts(&b, s.Args)
		attrs := s.Op.FormatParams(s.Params)
		for _, key := range slices.Sorted(maps.Keys(attrs)) {
			value := attrs[key]
			if strings.ContainsAny(value, " ;\"") || value == "" {
				value = strconv.Quote(strings.ReplaceAll(strings.ReplaceAll(value, " ", ""), ";",
					""))
			}
			fmt.Fprintf(&b, " %s=%s", key, value)
		}
	}
	b.WriteString("; out")
	writeInts(&b, c.Outs)
	return b.String()
}

func writeInts(b *strings.Builder, list []int) {
	for _, v := range list {
		fmt.Fprintf(b, " %d", v)
	}
}

// ParseChain reads the text that Code writes. The operators must be pointwise ones with one output.
func ParseChain(code string) (*Chain, error) {
	parts := strings.Split(code, ";")
	if len(parts) < 3 || len(parts) > chainLimit {
		return nil, op.Errorf("code", "%d parts, want inputs, steps and outputs", len(parts))
	}
	c := &Chain{}
	head, err := chainInts("in", parts[0])
	if err != nil || len(head) != 1 || head[0] < 0 || head[0] > chainLimit {
		return nil, op.Errorf("code", "begins with %q, want the number of inputs", parts[0])
	}
	c.Inputs = head[0]
	for _, text := range parts[1 : len(parts)-1] {
		s, err := parseStep(text, c.Inputs+len(c.Steps))
		if err != nil {
			return nil, err
		}
		c.Steps = append(c.Steps, s)
	}
	if c.Outs, err = chainInts("out", parts[len(parts)-1]); err != nil {
		return nil, err
	}
	for _, v := range c.Outs {
		if v < c.Inputs || v >= c.Inputs+len(c.Steps) {
			return nil, op.Errorf("code", "output %d, want the result of a step", v)
		}
	}
	return c, nil
}

// chainInts reads a word and the numbers that follow it.
func chainInts(word, text string) ([]int, error) {
	fields := strings.Fields(text)
	if len(fields) == 0 || fields[0] != word {
		return nil, op.Errorf("code", "%q, want %s and numbers", text, word)
	}
	list := make([]int, len(fields)-1)
	for i, f := range fields[1:] {
		v, err := strconv.Atoi(f)
		if err != nil {
			return nil, op.Errorf("code", "%q is not a number", f)
		}
		list[i] = v
	}
	return list, nil
}

// parseStep reads one step, which may use the values before number values.
func parseStep(text string, values int) (s ChainStep, err error) {
	fields := strings.Fields(text)
	if len(fields) == 0 {
		return s, op.Errorf("code", "an empty step")
	}
	if s.Op = op.Lookup(fields[0]); s.Op == nil || !s.Op.Pointwise && !IsCast(s.Op) {
		return s, op.Errorf("code", "%q is not a pointwise operator", fields[0])
	}
	attrs := map[string]string{}
	for _, f := range fields[1:] {
		if key, value, ok := strings.Cut(f, "="); ok {
			if q, err := strconv.Unquote(value); err == nil {
				value = q
			}
			attrs[key] = value
			continue
		}
		v, err := strconv.Atoi(f)
		if err != nil || v < 0 || v >= values {
			return s, op.Errorf("code", "%s reads value %s, want one of %d", s.Op.Name, f, values)
		}
		s.Args = append(s.Args, v)
	}
	if s.Params, err = s.Op.ParseParams(attrs); err != nil {
		return s, err
	}
	if s.Op.Variadic {
		s.Params = s.Op.WithCount(s.Params, len(s.Args))
	}
	if want := len(s.Op.Inputs(s.Params)); len(s.Args) != want || want == 0 {
		return s, op.Errorf("code", "%s with %d operands, want %d", s.Op.Name, len(s.Args), want)
	}
	if outs := len(s.Op.Outputs(s.Params)); outs != 1 {
		return s, op.Errorf("code", "%s has %d outputs, want one", s.Op.Name, outs)
	}
	return s, nil
}

// infer computes the shapes of all outputs from the shapes of the inputs, as far as these are
// known.
func (c *Chain) infer(in, out []dtype.Shape) error {
	values := slices.Clone(in)
	for _, s := range c.Steps {
		args, y := make([]dtype.Shape, len(s.Args)), make([]dtype.Shape, 1)
		for k, a := range s.Args {
			args[k] = values[a].Clone()
		}
		if err := s.Op.InferShape(s.Params, args, y); err != nil {
			return err
		}
		values = append(values, y[0])
	}
	for k, v := range c.Outs {
		if err := op.Require("output", &out[k], values[v]); err != nil {
			return err
		}
		if err := op.Require("output", &out[k], out[0]); err != nil {
			return err
		}
	}
	return nil
}

// types returns the element types of all values, given the types of the inputs: casts change them.
func (c *Chain) types(in []dtype.Type) ([]dtype.Type, error) {
	values := slices.Clone(in)
	for _, s := range c.Steps {
		args, y := make([]dtype.Type, len(s.Args)), []dtype.Type{dtype.Unknown}
		for k, a := range s.Args {
			args[k] = values[a]
		}
		if err := s.Op.InferType(s.Params, args, y); err != nil {
			return nil, err
		}
		values = append(values, y[0])
	}
	return values, nil
}

// casts reports whether a step of c may change the element type.
func (c *Chain) casts() bool {
	return slices.ContainsFunc(c.Steps, func(s ChainStep) bool { return IsCast(s.Op) })
}

// IsCast reports whether o converts to another element type.
func IsCast(o *op.Op) bool { return o == Cast.Op || o == AmpCast.Op }

// typesOf lists the element types of operands.
func typesOf(list []op.Desc) []dtype.Type {
	types := make([]dtype.Type, len(list))
	for i, d := range list {
		types[i] = d.DType
	}
	return types
}

// Repeats says how an array of shape in, broadcast to shape out, repeats: element e of out meets
// element e / each % size of the array. Size is 0 when in is as large as out; ok is false for
// arrays that repeat in another way.
func Repeats(in, out dtype.Shape) (each, size int, ok bool) {
	if in.Size() == out.Size() {
		return 1, 0, len(in) <= len(out)
	}
	if len(in) > len(out) {
		return 0, 0, false
	}
	each, size = 1, 1
	phase := 0 // 0: trailing axes that repeat, 1: axes of the array, 2: leading ones that repeat
	for i := len(out) - 1; i >= 0; i-- {
		have, k := 1, i-len(out)+len(in)
		if k >= 0 {
			have = in[k]
		}
		switch {
		case out[i] == 1:
		case have == 1 && phase == 0:
			each *= out[i]
		case have == 1:
			phase = 2
		case have != out[i] || phase == 2:
			return 0, 0, false
		default:
			phase, size = 1, size*have
		}
	}
	return each, size, true
}
