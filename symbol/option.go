package symbol

import (
	"maps"
	"strconv"

	"gomx/dtype"
)

// Option changes how one node is made.
type Option func(*options)

type options struct {
	name  string
	attrs map[string]string
	with  map[string]*Symbol
	after []*Symbol
}

func config(opts []Option) *options {
	c := &options{}
	for _, o := range opts {
		o(c)
	}
	return c
}

// Name names the node; variables made for it are called <name>_weight and so on.
func Name(name string) Option { return func(c *options) { c.name = name } }

// With gives an input by its name: one that would be made by name, such as a weight shared by two
// layers, or one that the operator has only under some parameters:
//
//	sym.Softmax(x, sym.SoftmaxParams{UseLength: true}, sym.With("length", lengths))
func With(input string, s *Symbol) Option {
	return func(c *options) {
		if c.with == nil {
			c.with = map[string]*Symbol{}
		}
		c.with[input] = s
	}
}

// Attr attaches an attribute to the node. MXNet's own have the form __key__.
func Attr(key, value string) Option {
	return func(c *options) {
		if c.attrs == nil {
			c.attrs = map[string]string{}
		}
		c.attrs[key] = value
	}
}

// Attrs attaches several attributes, for a scope of nodes: pass the same option to each.
func Attrs(attrs map[string]string) Option {
	return func(c *options) {
		merged := map[string]string{}
		maps.Copy(merged, attrs)
		maps.Copy(merged, c.attrs)
		c.attrs = merged
	}
}

// Shape fixes the shape of a variable.
func Shape(dims ...int) Option { return Attr("__shape__", dtype.Shape(dims).String()) }

// DType fixes the element type of a variable.
func DType(t dtype.Type) Option { return Attr("__dtype__", strconv.Itoa(int(t))) }

// LRMult scales the learning rate of a variable.
func LRMult(f float64) Option { return Attr("__lr_mult__", strconv.FormatFloat(f, 'g', -1, 64)) }

// WDMult scales the weight decay of a variable.
func WDMult(f float64) Option { return Attr("__wd_mult__", strconv.FormatFloat(f, 'g', -1, 64)) }

// Init names the initializer of a variable in MXNet's JSON form, such as ["zero", {}].
func Init(json string) Option { return Attr("__init__", json) }
