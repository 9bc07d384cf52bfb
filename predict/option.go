package predict

import (
	"fmt"
	"slices"
	"strings"

	"gomx/checkpoint"
	"gomx/device"
	"gomx/dtype"
	"gomx/op"
)

// Option configures a Predictor.
type Option func(*config)

type config struct {
	device device.Device
	names  []string
	shapes map[string]dtype.Shape
	limit  int
	kept   int // of ONNX: lists of shapes

	precision dtype.Type
	products  op.Opt[device.Products]
}

// Input names an argument that Predict takes and says its shape. Predict takes arrays in the order
// of the Inputs. Arrays of other extents, such as smaller batches, cost a compilation once.
func Input(name string, dims ...int) Option {
	return func(c *config) { c.names, c.shapes[name] = append(c.names, name), dims }
}

// InFlight bounds the number of runs that go on at the same time, and with it the planned memory:
// further calls wait. The default is the number of cores.
func InFlight(n int) Option { return func(c *config) { c.limit = max(n, 1) } }

// On places the predictor on a device; the default is device.CPU().
func On(d device.Device) Option { return func(c *config) { c.device = d } }

// Precision makes layers that are mostly products compute in float16 or bfloat16, as
// module.MixedPrecision does in training. Parameters are converted once; inputs and outputs keep
// their types.
func Precision(t dtype.Type) Option { return func(c *config) { c.precision = t } }

// NarrowProducts sets the classes of products that processors compute in bfloat16, if Precision asks
// for that; without it, package narrow chooses the classes that this processor computes faster than
// in float32.
func NarrowProducts(p device.Products) Option {
	return func(c *config) { c.products = op.Some(p) }
}

// check compares inputs and parameters with the symbol.
func (c *config) check(model *checkpoint.Model) error {
	args := model.Symbol.Arguments()
	if err := model.Symbol.Err(); err != nil {
		return err
	}
	for _, name := range c.names {
		if !slices.Contains(args, name) {
			return fmt.Errorf("input %q is not an argument of the symbol, whose arguments are %s",
				name, quoted(args))
		}
	}
	var missing []string
	for _, name := range args {
		if model.Args[name] == nil && c.shapes[name] == nil && !strings.HasSuffix(name, "label") {
			missing = append(missing, name)
		}
	}
	for _, name := range model.Symbol.AuxStates() {
		if model.Aux[name] == nil {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("the model has no values for %s: they are neither parameters nor "+
			"named by Input", quoted(missing))
	}
	return nil
}

// quoted lists names in quotes.
func quoted(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	list := make([]string, len(names))
	for i, n := range names {
		list[i] = fmt.Sprintf("%q", n)
	}
	return strings.Join(list, ", ")
}
