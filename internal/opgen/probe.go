package main

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"

	"gomx/device"
	"gomx/device/cpu"
	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/loop"
)

// probed are the element types to try, in the order of the documentation.
var probed = []dtype.Type{dtype.Float32, dtype.Float64, dtype.Float16, dtype.BFloat16, dtype.Uint8,
	dtype.Int8, dtype.Int32, dtype.Int64, dtype.Bool}

// served lists the element types of data that the kernels of an operator support, by tier.
type served map[device.Tier][]dtype.Type

const (
	mostTries = 20000 // tries after which the search for operands of an operator ends
	mostFits  = 16    // number of fitting sets of operands to find
)

// probe searches attributes and shapes that fit an operator and tries its kernels with the element
// types. The choices depend only on the operator's name.
func probe(o *op.Op) served {
	seed := fnv.New64a()
	seed.Write([]byte(o.Name))
	d := &chooser{rand.New(rand.NewPCG(seed.Sum64(), 1))}
	found := served{}
	for try, fits := 0, 0; try < mostTries && fits < mostFits; try++ {
		attrs := d.attrs(o)
		shapes, fit := d.operands(o, attrs)
		if !fit {
			continue
		}
		fits++
		for _, t := range probed {
			found.try(o, attrs, shapes, t)
		}
	}
	if len(found[device.TierRef]) == 0 {
		found[device.TierRef] = accepted(o)
	}
	for _, list := range found {
		slices.SortFunc(list, func(a, b dtype.Type) int {
			return slices.Index(probed, a) - slices.Index(probed, b)
		})
	}
	return found
}

// try tries all kernels of o with operands whose data have element type t.
func (s served) try(o *op.Op, attrs map[string]string, shapes []dtype.Shape, t dtype.Type) {
	params, inputs, ok := parse(o, attrs, t)
	if !ok {
		return
	}
	types := make([]dtype.Type, len(shapes))
	for i := range types {
		types[i] = dtype.Unknown
	}
	if inputs > 0 {
		types[0] = t
	}
	for i := 0; ; {
		if o.InferType(params, types[:inputs], types[inputs:]) != nil {
			return
		}
		if i = slices.Index(types, dtype.Unknown); i < 0 {
			break
		}
		types[i] = dtype.Float32
	}
	if inputs == 0 && types[0] != t {
		return
	}
	a := &op.Args{Threads: 1}
	for i, shape := range shapes {
		if d := op.Plain(types[i], shape); i < inputs {
			a.In = append(a.In, d)
		} else {
			a.Out = append(a.Out, d)
		}
	}
	for _, tier := range []device.Tier{device.TierRef, device.TierGo, device.TierC} {
		if slices.Contains(s[tier], t) {
			continue
		}
		if tier == device.TierRef && runs(o, params, a) || o.Serves(device.CPU(), tier, params, a) {
			s[tier] = append(s[tier], t)
		}
	}
}

// runs reports whether the reference kernel supports operands of the given kind.
func runs(o *op.Op, params any, a *op.Args) (ok bool) {
	defer func() { ok = recover() == nil && ok }()
	in := make([]op.Tensor, len(a.In))
	for i, d := range a.In {
		in[i] = optest.New(d.DType, d.Shape...)
		regular(in[i])
	}
	_, err := optest.Runner{}.Apply(o, params, in)
	return err == nil
}

// accepted lists the element types that inference accepts, for operators without fitting operands.
func accepted(o *op.Op) (list []dtype.Type) {
	params, err := o.Normalize(nil)
	if err != nil {
		params = reflect.New(o.ParamsType).Elem().Interface()
	}
	inputs, outputs := len(o.Inputs(params)), len(o.Outputs(params))
	for _, t := range probed {
		types := slices.Repeat([]dtype.Type{dtype.Unknown}, inputs+outputs)
		if inputs > 0 {
			types[0] = t
		}
		if o.InferType(params, types[:inputs], types[inputs:]) == nil {
			list = append(list, t)
		}
	}
	return list
}

// regular fills matrices so that they are invertible and have a root.
func regular(x op.Tensor) {
	n := 1
	if len(x.Shape) > 0 {
		n = x.Shape[len(x.Shape)-1]
	}
	loop.Generate(x, func(i int) float64 {
		if i/n%n == i%n {
			return 1
		}
		return 0
	})
}

// parse makes parameters from attributes; operators without inputs get the element type as an
// attribute.
func parse(o *op.Op, attrs map[string]string, t dtype.Type) (params any, inputs int, ok bool) {
	params, err := o.ParseParams(attrs)
	if err != nil {
		return nil, 0, false
	}
	if o.Variadic {
		params = o.WithCount(params, 2)
	}
	if inputs = len(o.Inputs(params)); inputs > 0 {
		return params, inputs, true
	}
	for _, p := range o.Params() {
		if strings.Contains(p.GoType, "dtype.Type") {
			typed := map[string]string{p.Name: t.String()}
			for k, v := range attrs {
				if k != p.Name {
					typed[k] = v
				}
			}
			params, err = o.ParseParams(typed)
		}
	}
	return params, 0, err == nil
}

// chooser makes random choices.
type chooser struct{ *rand.Rand }

func (d *chooser) of(list ...string) string { return list[d.IntN(len(list))] }

// attrs chooses the required attributes, and sometimes others.
func (d *chooser) attrs(o *op.Op) map[string]string {
	attrs := map[string]string{}
	for _, p := range o.Params() {
		if p.Auto || !p.Required && d.IntN(4) != 0 {
			continue
		}
		switch {
		case len(p.Enum) > 0:
			attrs[p.Name] = d.of(p.Enum...)
		case strings.Contains(p.GoType, "dtype.Type"):
			attrs[p.Name] = d.of("float32", "float32", "float16", "float64", "int32")
		case strings.Contains(p.GoType, "[]") || strings.Contains(p.GoType, "Shape"):
			attrs[p.Name] = d.tuple()
		case strings.Contains(p.GoType, "bool"):
			attrs[p.Name] = d.of("True", "False")
		case strings.Contains(p.GoType, "string"):
			attrs[p.Name] = ""
		default:
			attrs[p.Name] = d.of("1", "2", "2", "4", "3", "0", "-1")
		}
	}
	return attrs
}

func (d *chooser) tuple() string {
	list := make([]string, []int{0, 1, 2, 2, 3, 4, 8}[d.IntN(7)])
	for i := range list {
		list[i] = d.of("1", "2", "1", "0", "4")
		if len(list) == 8 {
			list[i] = "0"
		}
	}
	return "(" + strings.Join(list, ",") + ")"
}

// operands chooses the shape of some inputs and infers the others.
func (d *chooser) operands(o *op.Op, attrs map[string]string) (shapes []dtype.Shape, fit bool) {
	params, inputs, ok := parse(o, attrs, dtype.Float32)
	if !ok {
		return nil, false
	}
	shapes = make([]dtype.Shape, inputs+len(o.Outputs(params)))
	for i := range inputs {
		switch {
		case i == 0 || d.IntN(3) == 0:
			shapes[i] = d.shape()
		case d.IntN(3) == 0:
			shapes[i] = shapes[0].Clone()
			if n := len(shapes[i]); n > 0 && d.IntN(2) == 0 {
				shapes[i][n-1] *= 2
			}
		}
	}
	for range 4 {
		if o.InferShape(params, shapes[:inputs], shapes[inputs:]) != nil {
			return nil, false
		}
	}
	size := 0
	for _, s := range shapes {
		if !s.Known() {
			return nil, false
		}
		size += s.Size()
	}
	return shapes, size < 1<<16
}

func (d *chooser) shape() dtype.Shape {
	s := make(dtype.Shape, 1+d.IntN(5))
	for i := range s {
		s[i] = []int{4, 4, 3, 2, 5, 12, 1}[d.IntN(7)]
	}
	if d.IntN(2) == 0 { // square matrices
		for i := range s {
			s[i] = 4
		}
	}
	return s
}

// probeAll probes all visible operators. Builds without kernels in C read their element types from
// ctypes.txt, so that the documentation is the same in every build.
func probeAll() (map[string]served, error) {
	types := map[string]served{}
	for _, o := range op.All() {
		if !o.Hidden {
			types[o.Name] = probe(o)
		}
	}
	if cpu.HasC {
		return types, nil
	}
	text, err := sources.ReadFile("ctypes.txt")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) == 0 || types[f[0]] == nil {
			continue
		}
		for _, name := range f[1:] {
			t, err := dtype.Parse(name)
			if err != nil {
				return nil, fmt.Errorf("ctypes.txt: %s: %w", f[0], err)
			}
			types[f[0]][device.TierC] = append(types[f[0]][device.TierC], t)
		}
	}
	return types, nil
}

// formatCTypes formats the element types that the kernels in C support, one operator per line.
func formatCTypes(types map[string]served) []byte {
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(types)) {
		if list := types[name][device.TierC]; len(list) > 0 {
			fmt.Fprintf(&b, "%s %s\n", name, strings.Trim(fmt.Sprint(list), "[]"))
		}
	}
	return b.Bytes()
}

var families = []struct {
	name  string
	types []dtype.Type
}{
	{"all", probed},
	{"numbers", []dtype.Type{dtype.Float32, dtype.Float64, dtype.Float16, dtype.BFloat16,
		dtype.Uint8, dtype.Int8, dtype.Int32, dtype.Int64}},
	{"floats", []dtype.Type{dtype.Float32, dtype.Float64, dtype.Float16, dtype.BFloat16}},
}

// typeNames formats a list of element types, with a short word for the commonest lists.
func typeNames(list []dtype.Type) string {
	for _, f := range families {
		if slices.Equal(list, f.types) {
			return f.name
		}
	}
	var names []string
	for _, t := range list {
		names = append(names, fmt.Sprint(t))
	}
	return strings.Join(names, " ")
}
