package oracle

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// mostElements is the size of the largest operand that is drawn.
const mostElements = 1 << 11

// drawer makes calls.
type drawer struct{ *rand.Rand }

// Generate draws a call of o; ok is false when shapes and attributes do not fit together, which is
// common. The same seed gives the same call.
func Generate(o *op.Op, seed uint64) (c *Call, ok bool) {
	d := drawer{randomOf(seed, o.Name)}
	c = &Call{Op: o}
	var r recipe
	if draw := recipes[o]; draw != nil {
		r = draw(d)
		c.Attrs = r.attrs
	} else {
		c.Attrs = d.attrs(o)
	}
	defer func() {
		if r := recover(); r != nil {
			if _, misuse := r.(*op.Error); !misuse {
				panic(r)
			}
			ok = false
		}
	}()
	params, err := o.ParseParams(c.Attrs)
	if err != nil {
		return nil, false
	}
	if o.Variadic {
		params = o.WithCount(params, d.count(r))
	}
	shapes, types, ok := d.infer(o, params, r)
	if !ok {
		return nil, false
	}
	n := len(o.Inputs(params))
	wild := d.IntN(12) == 0
	fill := func(x Operand) { d.fill(x, wild) }
	for pattern, f := range d.domains() {
		if regexp.MustCompile(pattern).MatchString(o.Name) {
			fill = f
		}
	}
	for i := range n {
		x := newOperand(types[i], shapes[i])
		if r.fill == nil || !r.fill(i, x) {
			fill(x)
		}
		c.In, c.Same, c.Views, c.Req = append(c.In, x), append(c.Same, -1), append(c.Views, false),
			append(c.Req, "null")
	}
	if o.Update || d.IntN(3) == 0 {
		d.imperative(c, shapes[n:], types[n:], o.NumVisible(params))
	} else {
		d.symbolic(c, shapes[n:], types[n:], o.NumVisible(params))
	}
	return c, true
}

// randomOf returns the numbers of a seed for a name.
func randomOf(seed uint64, name string) *rand.Rand {
	return rand.New(rand.NewPCG(seed, hash(name)))
}

// count draws the number of inputs of a variadic operator.
func (d drawer) count(r recipe) int {
	if n := len(r.shapes); n > 0 {
		return 1 + d.IntN(n)
	}
	return 1 + d.IntN(3)
}

// imperative draws the additions of an imperative call: views, repeated inputs, outputs that are
// given.
func (d drawer) imperative(c *Call, shapes []dtype.Shape, types []dtype.Type, visible int) {
	c.Imperative = true
	for i, x := range c.In {
		c.Views[i] = len(x.Shape) > 0 && x.Shape.Size() > 0 && d.IntN(3) == 0
	}
	if !c.Op.Update {
		d.repeat(c)
		if d.IntN(3) == 0 {
			for i := range visible {
				y := newOperand(types[i], shapes[i])
				d.fill(y, false)
				c.Out = append(c.Out, y)
			}
		}
	}
}

// symbolic draws the additions of a graph: repeated variables, and a backward pass.
func (d drawer) symbolic(c *Call, shapes []dtype.Shape, types []dtype.Type, visible int) {
	d.repeat(c)
	c.Train = d.IntN(3) > 0
	backward := c.Op.HasGrad() && d.IntN(4) > 0
	for i := range visible {
		backward = backward && isFloat(types[i]) // heads of whole numbers have no meaning
	}
	if !backward {
		return
	}
	c.Train = true
	for i := range visible {
		y := newOperand(types[i], shapes[i])
		d.fill(y, false)
		c.Heads = append(c.Heads, y)
	}
	aux := c.aux()
	for i, x := range c.In {
		g := newOperand(x.DType, x.Shape)
		d.fill(g, false)
		c.Grads = append(c.Grads, g)
		if c.Same[i] >= 0 {
			c.Req[i] = c.Req[c.Same[i]]
		} else if !aux[i] && isFloat(x.DType) {
			c.Req[i] = []string{"write", "write", "add", "add", "null"}[d.IntN(5)]
		}
	}
	if !slices.ContainsFunc(c.Req, func(r string) bool { return r != "null" }) {
		c.Heads, c.Grads = nil, nil
	}
}

// repeat uses an input twice now and then.
func (d drawer) repeat(c *Call) {
	if len(c.In) < 2 || d.IntN(6) > 0 {
		return
	}
	i := 1 + d.IntN(len(c.In)-1)
	aux := c.aux()
	if c.In[0].DType == c.In[i].DType && c.In[0].Shape.Equal(c.In[i].Shape) && !aux[0] && !aux[i] {
		c.Same[i], c.Views[i] = 0, false
		c.In[i] = c.In[0]
	}
}

func isFloat(t dtype.Type) bool {
	return t == dtype.Float32 || t == dtype.Float64 || t == dtype.Float16
}

// infer draws the shapes of the first inputs unless they are given, and element types, and lets the
// operator infer the others.
func (d drawer) infer(o *op.Op, params any, r recipe) ([]dtype.Shape, []dtype.Type, bool) {
	n, m := len(o.Inputs(params)), len(o.Outputs(params))
	s := make([]dtype.Shape, n+m)
	for i := range n {
		switch k := d.IntN(4); {
		case i < len(r.shapes):
			s[i] = r.shapes[i]
		case i == 0 || k == 0 && i < 3:
			s[i] = d.shape()
		case k == 1:
			s[i] = s[i-1].Clone()
		}
	}
	for range n + 2 {
		if o.InferShape(params, s[:n], s[n:]) != nil {
			return nil, nil, false
		}
		for i := range n {
			if s[i] == nil {
				s[i] = d.shape()
				break
			}
			for a, e := range s[i] {
				if e == -1 {
					s[i][a] = 1 + d.IntN(4)
				}
			}
		}
	}
	types := make([]dtype.Type, n+m)
	for i := range types {
		if types[i] = dtype.Unknown; i < len(r.types) {
			types[i] = r.types[i]
		}
	}
	t := d.dtype()
	for i := range n {
		if r.types == nil && (i == 0 || d.IntN(4) > 0) {
			types[i] = t
		}
	}
	for range 2 {
		if o.InferType(params, types[:n], types[n:]) != nil {
			return nil, nil, false
		}
		for i := range n {
			if types[i] == dtype.Unknown {
				types[i] = dtype.Float32
			}
		}
	}
	for i := range s {
		if !s[i].Known() || s[i].Size() > mostElements || !types[i].Valid() ||
			types[i] == dtype.BFloat16 || len(s[i]) == 0 && i < n {
			return nil, nil, false
		}
	}
	return s, types, true
}

func (d drawer) shape() dtype.Shape {
	extents := []int{1, 2, 3, 4, 5, 6, 2, 3, 4, 8, 7, 1, 9, 16}
	s := make(dtype.Shape, []int{1, 2, 2, 3, 3, 4, 4, 5}[d.IntN(8)])
	for i := range s {
		s[i] = extents[d.IntN(len(extents))]
		if i > 2 {
			s[i] = min(s[i], 6)
		}
	}
	if d.IntN(25) == 0 {
		s[d.IntN(len(s))] = 0
	}
	return s
}

func (d drawer) dtype() dtype.Type {
	list := []dtype.Type{dtype.Float32, dtype.Float32, dtype.Float32, dtype.Float32, dtype.Float32,
		dtype.Float64, dtype.Float64, dtype.Float16,
		dtype.Int32, dtype.Int64, dtype.Uint8, dtype.Int8}
	return list[d.IntN(len(list))]
}

// attrs draws attributes within the bounds that the operator declares.
func (d drawer) attrs(o *op.Op) map[string]string {
	attrs := map[string]string{}
	for _, p := range o.Params() {
		// ndev is how many calls wait for each other: a single call would wait in vain
		if !p.Auto && p.Name != "ndev" && (p.Required || d.IntN(3) == 0) {
			attrs[p.Name] = d.value(p)
		}
	}
	return attrs
}

// value draws an attribute.
func (d drawer) value(p op.ParamSpec) string {
	kind := strings.TrimSuffix(strings.TrimPrefix(p.GoType, "op.Opt["), "]")
	switch {
	case len(p.Enum) > 0:
		return p.Enum[d.IntN(len(p.Enum))]
	case strings.Contains(p.GoType, "[]") || strings.Contains(p.GoType, "Shape"):
		return d.tuple(p.GoType == "[]float64")
	case kind == "bool":
		return []string{"True", "False"}[d.IntN(2)]
	case kind == "float64":
		return strconv.FormatFloat(d.number(p, []float64{0, 1, -1, 0.5, 2, 0.1, 0.9, 1e-3, 3}), 'g',
			-1, 64)
	case strings.HasSuffix(kind, "dtype.Type"):
		return []string{"float32", "float16", "float64", "uint8", "int8", "int32",
			"int64"}[d.IntN(7)]
	case kind == "string":
		if p.Name == "ctx" {
			return "cpu(0)"
		}
		return []string{"None", "float32", "x"}[d.IntN(3)]
	}
	return strconv.Itoa(int(d.number(p, []float64{0, 1, 2, 3, 4, -1, 1, 2, -2, 5, 0, 7})))
}

// number draws one of a list that is within the bounds.
func (d drawer) number(p op.ParamSpec, list []float64) float64 {
	v := list[d.IntN(len(list))]
	low, high := p.Limits()
	return min(max(v, low), high)
}

func (d drawer) tuple(floats bool) string {
	list := make([]string, []int{1, 2, 2, 3, 1, 4, 0}[d.IntN(7)])
	for i := range list {
		switch {
		case floats:
			list[i] = []string{"0.5", "1", "2", "0.1"}[d.IntN(4)]
		case d.IntN(16) == 0:
			list[i] = "None"
		default:
			list[i] = []string{"1", "2", "3", "0", "1", "2", "-1", "4", "-2"}[d.IntN(9)]
		}
	}
	if len(list) == 1 {
		return "(" + list[0] + ",)"
	}
	return "(" + strings.Join(list, ", ") + ")"
}

// newOperand returns an operand of zeros.
func newOperand(t dtype.Type, s dtype.Shape) Operand {
	return Operand{DType: t, Shape: s.Clone(), Data: make([]byte, s.Size()*t.Size())}
}

// tensor views x as an operand of kernels.
func (a Operand) tensor() op.Tensor {
	mem := make([]uint64, len(a.Data)/8+1)
	t := op.Tensor{Desc: op.Plain(a.DType, a.Shape), Data: unsafe.Pointer(unsafe.SliceData(mem))}
	copy(unsafe.Slice((*byte)(t.Data), len(a.Data)), a.Data)
	return t
}

// fill writes ordinary numbers, or now and then strange ones.
func (d drawer) fill(a Operand, wild bool) {
	strange := []float64{0, -1, 1, 3, 100, -1e9, 1e30, math.NaN(), math.Inf(1), math.Inf(-1), 0.5,
		math.Copysign(0, -1)}
	t := a.tensor()
	exact := loop.Exact(a.DType)
	small := d.IntN(3) == 0
	loop.Generate(t, func(int) float64 {
		switch {
		case a.DType == dtype.Bool:
			return float64(d.IntN(2))
		case exact:
			return float64(d.IntN(5))
		case wild && d.IntN(6) == 0:
			return strange[d.IntN(len(strange))]
		case small:
			return float64(d.IntN(4))
		}
		return math.Round((d.Float64()*4-2)*64) / 64
	})
	copy(a.Data, unsafe.Slice((*byte)(t.Data), len(a.Data)))
}

// domains gives the operators' inputs that cannot be any numbers: their answers would differ, or
// not come, without a fault.
func (d drawer) domains() map[string]func(Operand) {
	return map[string]func(Operand){
		"^(gather_nd|_?scatter_(set_)?nd)$": d.whole, // MXNet cuts fractions off in several ways
		// MXNet's order of equal elements depends on its sorting
		"^topk$": d.distinct,
		// MXNet loops for ever on parameters that are none
		"^_(sample|random_pdf)_": d.open,
	}
}

// distinct writes different numbers in any order; types of one byte hold 256 of them.
func (d drawer) distinct(a Operand) {
	order := d.Perm(a.Shape.Size())
	write(a, func(i int) float64 { return float64(order[i]) })
}

// whole writes small whole numbers.
func (d drawer) whole(a Operand) {
	write(a, func(int) float64 { return float64(d.IntN(3)) })
}

// open writes numbers between 0 and 1, or 1 for types that have none.
func (d drawer) open(a Operand) {
	write(a, func(int) float64 {
		if loop.Exact(a.DType) {
			return 1
		}
		return float64(1+d.IntN(15)) / 16
	})
}

// write computes the elements of a.
func write(a Operand, f func(i int) float64) {
	t := a.tensor()
	loop.Generate(t, f)
	copy(a.Data, unsafe.Slice((*byte)(t.Data), len(a.Data)))
}

// hash tells operators apart.
func hash(s string) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range []byte(s) {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return h
}

// Repeat returns the flags that repeat a call.
func Repeat(o *op.Op, seed uint64) string {
	return fmt.Sprintf("-oracle.ops '^%s$' -oracle.seed %d -oracle.n 1", o.Name, seed)
}
