package optest

import (
	"fmt"
	"runtime/metrics"
	"slices"
	"strings"

	"gomx/dtype"
	"gomx/op"
)

// mostBytes is the number of bytes that inference may allocate.
const mostBytes = 64 << 20

// Infers lets an operator parse attributes and infer shapes and element types, all of which derive
// from data. It returns an error if the operator panics with a value other than *op.Error,
// allocates more than mostBytes, forgets known shapes, or infers impossible ones.
func Infers(o *op.Op, data []byte) (err error) {
	d := &draw{data: data}
	attrs := d.attrs(o)
	before := allocated()
	defer func() {
		if r := recover(); r != nil {
			if e, ok := r.(*op.Error); ok {
				r = nil
				_ = e.Error()
			} else {
				err = fmt.Errorf("%s with %v panics: %v", o.Name, attrs, r)
			}
		}
		if n := allocated() - before; err == nil && n > mostBytes {
			err = fmt.Errorf("%s with %v allocates %d bytes", o.Name, attrs, n)
		}
	}()
	params, err := o.ParseParams(attrs)
	if err == nil && o.NumGraphs() > 0 {
		params, err = o.Normalize(params) // an error: there are no graphs
	}
	if err != nil {
		return nil // an error is fine, since it is no panic
	}
	if o.Variadic {
		params = o.WithCount(params, d.below(5))
	}
	if again, err := o.ParseParams(o.FormatParams(params)); err == nil {
		params = again
	}
	inputs, outputs := len(o.Inputs(params)), len(o.Outputs(params))
	if v := o.NumVisible(params); v < 0 || v > outputs {
		return fmt.Errorf("%s with %v shows %d of %d outputs", o.Name, attrs, v, outputs)
	}
	if err := d.shapes(o, params, inputs, outputs); err != nil {
		return fmt.Errorf("with %v: %w", attrs, err)
	}
	types := make([]dtype.Type, inputs+outputs)
	for i := range types {
		types[i] = d.dtype()
	}
	_ = o.InferType(params, types[:inputs], types[inputs:])
	return nil
}

// shapes infers shapes from shapes that derive from data, until nothing changes.
func (d *draw) shapes(o *op.Op, params any, inputs, outputs int) error {
	s := make([]dtype.Shape, inputs+outputs)
	for i := range s {
		s[i] = d.shape()
	}
	given := make([]dtype.Shape, len(s))
	for i := range s {
		given[i] = s[i].Clone()
	}
	for range 8 {
		before := fmt.Sprint(s)
		if err := o.InferShape(params, s[:inputs], s[inputs:]); err != nil {
			return nil
		}
		for i := range s {
			if m, ok := s[i].Merge(given[i]); !ok || !m.Equal(s[i]) {
				return fmt.Errorf("%s: inference from shapes %v: operand %d became %v and lost "+
					"what was known", o.Name, given, i, s[i])
			}
			if len(s[i]) > 0 && slices.Min(s[i]) < -1 {
				return fmt.Errorf("%s: inference from shapes %v: operand %d became %v", o.Name,
					given, i, s[i])
			}
		}
		if fmt.Sprint(s) == before {
			return nil
		}
	}
	return fmt.Errorf("%s: inference from shapes %v does not settle", o.Name, given)
}

func allocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// draw makes choices from bytes; when they are used up it always makes the first choice.
type draw struct {
	data []byte
	tame bool // attributes have no huge numbers
	// empty makes most shapes have an extent of zero, and many attributes that value.
	empty bool
}

func (d *draw) below(n int) int {
	if len(d.data) == 0 || n <= 1 {
		return 0
	}
	b := int(d.data[0])
	d.data = d.data[1:]
	return b % n
}

// numbers are integers that are often handled wrongly; frequent ones occur several times.
var numbers = []string{"0", "1", "2", "3", "1", "2", "3", "4", "-1", "-2", "-3", "-4", "5", "7",
	"100", "-100", "65536", "1000000007", "2147483648",
	"4611686018427387904", "9223372036854775807", "-9223372036854775808"}

var words = map[string][]string{
	"bool":    {"True", "False", "1", "0", "maybe"},
	"float64": {"0", "1", "-1", "0.5", "2", "1e30", "-1e30", "1e-30", "nan", "inf", "-inf", "x"},
	"dtype.Type": {"float32", "float16", "float64", "bfloat16", "uint8", "int8", "int32", "int64",
		"bool", "None", "-1", "complex"},
	"string": {"", "None", "x", "float32", "csr", "(", "{", "[1]"},
}

// together is the parameter that says how many calls of an operator wait for each other: a single
// call would wait in vain.
const together = "ndev"

// attrs chooses attributes.
func (d *draw) attrs(o *op.Op) map[string]string {
	attrs := map[string]string{}
	for _, p := range o.Params() {
		if p.Auto || !p.Required && d.below(2) == 0 || p.Name == together {
			continue
		}
		attrs[p.Name] = d.value(p)
	}
	return attrs
}

// value chooses an attribute's text.
func (d *draw) value(p op.ParamSpec) string {
	switch kind := strings.TrimSuffix(strings.TrimPrefix(p.GoType, "op.Opt["), "]"); {
	case len(p.Enum) > 0 && d.below(16) != 15:
		return p.Enum[d.below(len(p.Enum))]
	case kind == "int":
		return d.number()
	case strings.Contains(p.GoType, "[]") || strings.Contains(p.GoType, "Shape"):
		return d.tuple(p.GoType == "[]float64")
	case words[kind] != nil:
		list := words[kind]
		if d.tame && kind == "float64" {
			list = list[:5]
		}
		return list[d.below(len(list))]
	}
	return d.number()
}

func (d *draw) number() string {
	if d.empty && d.below(3) == 0 {
		return "0"
	}
	if d.tame {
		return numbers[d.below(14)]
	}
	return numbers[d.below(len(numbers))]
}

func (d *draw) tuple(floats bool) string {
	list := make([]string, d.below(7))
	for i := range list {
		switch {
		case floats:
			list[i] = words["float64"][d.below(len(words["float64"]))]
		case d.below(12) == 11:
			list[i] = "None"
		default:
			list[i] = d.number()
		}
	}
	return "(" + strings.Join(list, ", ") + ")"
}

// extents are extents of shapes; products of large ones overflow.
var extents = []int{-1, 1, 2, 3, 4, 5, 6, 8, 0, 1, 2, 3, 4, 12, 16, 100, 65536, 1 << 31, 1 << 62}

func (d *draw) shape() dtype.Shape {
	rank := d.below(9) - 1
	if rank < 0 {
		return nil
	}
	s := make(dtype.Shape, rank)
	for i := range s {
		s[i] = extents[d.below(len(extents))]
	}
	return s
}

func (d *draw) dtype() dtype.Type {
	if d.empty && d.below(2) == 0 {
		return dtype.Float32 // most kernels support it
	}
	list := []dtype.Type{dtype.Unknown, dtype.Float32, dtype.Float64, dtype.Float16, dtype.BFloat16,
		dtype.Uint8, dtype.Int8, dtype.Int32, dtype.Int64, dtype.Bool}
	return list[d.below(len(list))]
}
