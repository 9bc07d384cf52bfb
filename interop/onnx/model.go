package onnx

import (
	"maps"

	"gomx/checkpoint"
	"gomx/dtype"
	nd "gomx/ndarray"
)

// Info describes an input or an output of a model.
type Info struct {
	Name  string
	Shape dtype.Shape // ONNX's shape: empty for a scalar, whose array has shape (1)
	Type  dtype.Type
	// Format is ONNX's name of an element type that gomx lacks, such as INT4 or FLOAT8E4M3FN. Type
	// holds its numbers. Empty: Type is the element type.
	Format string
}

// Model is an imported model: a graph, its parameters, and its inputs and outputs.
type Model struct {
	checkpoint.Model
	Inputs  []Info // inputs without a value from the file or from Values, in the model's order
	Outputs []Info // in the order of the outputs of Symbol
	// Switches lists inputs of one integer or boolean each that alone decide about a condition of the
	// graph. With Values for them an import has the branch that is taken in the place of a Cond.
	Switches []string
}

// Values joins the parameters of the model with values of its inputs, as Eval of the symbol and
// executors want them. Inputs that the graph does not read are left out.
func (m *Model) Values(inputs map[string]*nd.Array) map[string]*nd.Array {
	all := map[string]*nd.Array{}
	for _, name := range m.Symbol.Arguments() {
		if a, ok := inputs[name]; ok {
			all[name] = a
		}
	}
	maps.Copy(all, m.Args)
	maps.Copy(all, m.Aux)
	return all
}

// config holds the options of an import.
type config struct {
	shapes map[string]dtype.Shape
	dims   map[string]int
	values map[string]*nd.Array
}

// Option configures an import.
type Option func(*config)

// Shapes gives inputs their shapes by name, where the model leaves extents open.
func Shapes(shapes map[string]dtype.Shape) Option {
	return func(c *config) { maps.Copy(c.shapes, shapes) }
}

// Dims gives named extents of inputs, such as batch, their values.
func Dims(dims map[string]int) Option {
	return func(c *config) { maps.Copy(c.dims, dims) }
}

// Values gives inputs their values by name. They become constants, and may decide about shapes,
// such as the second input of Reshape. An array of shape (1) fits a scalar.
func Values(values map[string]*nd.Array) Option {
	return func(c *config) { maps.Copy(c.values, values) }
}
