package onnx

import (
	"fmt"

	"gomx/dtype"
	"gomx/interop/onnx/internal/file"
	"gomx/interop/onnx/internal/onnxpb"
	nd "gomx/ndarray"
	sym "gomx/symbol"
)

// row of the table says how a node of an operator becomes a graph.
type row struct {
	inputs int // inputs that must be there
	make   importer
}

// importer makes the outputs of a node. Errors go to call.fail; the result counts only without an
// error.
type importer func(c *call) []*sym.Symbol

// call is one node during its import.
type call struct {
	im      *importing
	node    *onnxpb.NodeProto
	scope   *scope
	version int // operator set of the node's domain
	in      []*value
	attr    map[string]*onnxpb.AttributeProto
	err     error
	scalar  bool         // outputs of shape (1) are ONNX's scalars
	direct  []*value     // outputs that exist already: of constants and branches
	format  *file.Format // format of the outputs; nil: gomx has their type
	coding  *coding      // of the first output; nil: none
	before  *sym.Symbol  // numbers that the first output holds as integers; nil: not known
}

// fail keeps the first error.
func (c *call) fail(format string, args ...any) []*sym.Symbol {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
	return nil
}

// has reports whether input i is given.
func (c *call) has(i int) bool { return i < len(c.in) && c.in[i] != nil }

// x returns the symbol of input i, which must be given.
func (c *call) x(i int) *sym.Symbol {
	if !c.has(i) {
		c.fail("input %d is missing", i)
		return sym.Zeros(sym.InitParams{Shape: []int{1}})
	}
	return c.in[i].s
}

// out lists one symbol.
func out(s *sym.Symbol) []*sym.Symbol { return []*sym.Symbol{s} }

// outputs splits the outputs of a symbol.
func outputs(s *sym.Symbol, n int) []*sym.Symbol {
	list := make([]*sym.Symbol, n)
	for i := range list {
		list[i] = s.At(i)
	}
	return list
}

// wanted returns the number of outputs that have names, counted to the last one.
func (c *call) wanted() int {
	for i := len(c.node.Output); i > 0; i-- {
		if c.node.Output[i-1] != "" {
			return i
		}
	}
	return 0
}

// attrs indexes the attributes.
func (c *call) attrs() {
	c.attr = map[string]*onnxpb.AttributeProto{}
	for _, a := range c.node.GetAttribute() {
		name := a.GetName()
		if from := a.GetRefAttrName(); from != "" {
			if a = c.scope.attr(from); a == nil {
				continue // the default of the operator holds
			}
		}
		c.attr[name] = a
	}
}

// num returns an attribute of one integer.
func (c *call) num(name string, otherwise int) int {
	a := c.attr[name]
	if a == nil {
		return otherwise
	}
	if a.I == nil {
		c.fail("attribute %q is %v, want an integer", name, a.GetType())
	}
	return int(a.GetI())
}

// nums returns an attribute of integers, nil if it is absent.
func (c *call) nums(name string) []int {
	a := c.attr[name]
	if a == nil {
		return nil
	}
	list := make([]int, len(a.GetInts()))
	for i, v := range a.GetInts() {
		list[i] = int(v)
	}
	return list
}

// float returns an attribute of one number.
func (c *call) float(name string, otherwise float64) float64 {
	a := c.attr[name]
	if a == nil {
		return otherwise
	}
	if a.F == nil {
		c.fail("attribute %q is %v, want a float", name, a.GetType())
	}
	return float64(a.GetF())
}

// floats returns an attribute of numbers, nil if it is absent.
func (c *call) floats(name string) []float64 {
	a := c.attr[name]
	if a == nil {
		return nil
	}
	list := make([]float64, len(a.GetFloats()))
	for i, v := range a.GetFloats() {
		list[i] = float64(v)
	}
	return list
}

// text returns an attribute of text.
func (c *call) text(name, otherwise string) string {
	a := c.attr[name]
	if a == nil {
		return otherwise
	}
	return string(a.GetS())
}

// texts returns an attribute of several texts.
func (c *call) texts(name string) []string {
	var list []string
	for _, s := range c.attr[name].GetStrings() {
		list = append(list, string(s))
	}
	return list
}

// ints returns the values of input i, which must be known; nil if the input is not given.
func (c *call) ints(i int) []int {
	if !c.has(i) {
		return nil
	}
	list, err := c.in[i].ints()
	if err != nil && c.err == nil {
		c.err = err
	}
	return list
}

// reals returns the values of input i, which must be known; nil if the input is not given.
func (c *call) reals(i int) []float64 {
	if !c.has(i) {
		return nil
	}
	list, err := c.in[i].floats()
	if err != nil && c.err == nil {
		c.err = err
	}
	return list
}

// axis makes an axis positive and checks it against a number of axes.
func (c *call) axis(a, rank int) int {
	if a < -rank || a >= rank {
		c.fail("axis %d of an array with %d axes", a, rank)
		return 0
	}
	if a < 0 {
		a += rank
	}
	return a
}

// axes is axis for a list, which must not name an axis twice.
func (c *call) axes(list []int, rank int) []int {
	seen := map[int]bool{}
	axes := make([]int, len(list))
	for i, a := range list {
		axes[i] = c.axis(a, rank)
		if seen[axes[i]] {
			c.fail("axes %v name axis %d twice", list, axes[i])
		}
		seen[axes[i]] = true
	}
	return axes
}

// shapeOf returns the shape of a symbol inside of the import.
func (c *call) shapeOf(s *sym.Symbol) dtype.Shape {
	k := c.fact(s)
	if k.shape == nil {
		return dtype.Shape{1}
	}
	return k.shape
}

// fact infers a symbol.
func (c *call) fact(s *sym.Symbol) fact {
	if s.Err() != nil {
		if c.err == nil {
			c.err = s.Err()
		}
		return fact{}
	}
	k, err := c.im.facts.of(s.Entries()[0])
	if err != nil && c.err == nil {
		c.err = err
	}
	return k
}

// constant makes a symbol of values with a shape.
func (c *call) constant(a *nd.Array) *sym.Symbol {
	return c.im.constant(c.node.GetOpType()+"_constant", a, a.Shape()).s
}

// numbers makes a constant of an element type.
func (c *call) numbers(typ dtype.Type, data []float64, shape ...int) *sym.Symbol {
	if len(shape) == 0 {
		shape = []int{len(data)}
	}
	a := nd.FromSlice(data, shape...)
	return c.constant(nd.Cast(a, nd.CastParams{DType: typ}))
}

// indices makes a constant of int64.
func (c *call) indices(data []int, shape ...int) *sym.Symbol {
	if len(shape) == 0 {
		shape = []int{len(data)}
	}
	wide := make([]int64, len(data))
	for i, v := range data {
		wide[i] = int64(v)
	}
	return c.constant(nd.FromSlice(wide, shape...))
}

// finish infers the outputs of a node, folds constants and gives the results their names.
func (c *call) finish(outs []*sym.Symbol) error {
	values := c.direct
	if values == nil {
		var err error
		if values, err = c.valuesOf(outs); err != nil {
			return err
		}
	}
	for i, name := range c.node.GetOutput() {
		if name == "" {
			continue
		}
		if i >= len(values) {
			return fmt.Errorf("output %d, %q, is not computed: %d outputs are", i, name,
				len(values))
		}
		v := *values[i]
		v.name = name
		if v.source == "" {
			v.source = c.source()
		}
		if c.format != nil {
			v.format = c.format
		}
		if i == 0 && c.coding != nil {
			v.coding = c.coding
		}
		if i == 0 && c.before != nil {
			v.real = c.before
		}
		c.scope.values[name] = &v
	}
	return nil
}

// source is the first input of the model that the values of the node's inputs depend on.
func (c *call) source() string {
	for _, v := range c.in {
		if v != nil && v.fixed == nil && v.source != "" {
			return v.source
		}
	}
	return ""
}

// valuesOf makes values of symbols.
func (c *call) valuesOf(outs []*sym.Symbol) ([]*value, error) {
	var values []*value
	for _, s := range outs {
		k := c.fact(s)
		if c.err != nil {
			return nil, c.err
		}
		if s.Len() != 1 {
			s = s.At(0)
		}
		v := &value{name: c.node.GetName(), s: s, shape: k.shape, typ: k.typ}
		if c.scalar && k.shape.Equal(dtype.Shape{1}) {
			v.shape = dtype.Shape{}
		}
		values = append(values, v)
	}
	arrays, err := c.im.fold(outs)
	if err != nil || arrays == nil {
		return values, err
	}
	for i, a := range arrays {
		v := c.im.constant(fmt.Sprintf("%s_%d", c.node.GetOpType(), i), a, values[i].shape)
		values[i] = v
	}
	return values, nil
}

// spend takes the bytes of a constant that is made at import from the budget. It fails if they are
// too many.
func (c *call) spend(bytes int) bool {
	if bytes < 0 || bytes > c.im.budget {
		c.fail("a constant of %d bytes is too large: %d are left for values made at import", bytes,
			c.im.budget)
		return false
	}
	c.im.budget -= bytes
	return c.err == nil
}
