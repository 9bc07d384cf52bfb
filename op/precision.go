package op

import (
	"gomx/device"
	"gomx/dtype"
)

// Precision says in which floating-point type mixed precision lets an operator compute. The
// assignment agrees with contrib.amp of MXNet 1.9.1.
type Precision uint8

const (
	// AnyPrecision operators compute in the type of their inputs, the wider one of two.
	AnyPrecision Precision = iota
	// Narrow operators are mostly products: they compute in the narrow type, float16 or bfloat16.
	Narrow
	// Wide operators compute in float32, because they leave the range of narrow types or add up
	// many small numbers.
	Wide
	// Inner operators are Wide, but their kernels on processors compute in float32 whatever the
	// type of their operands is: bfloat16 arrays, which have the range of float32, need no
	// conversion around them.
	Inner
)

// PrecisionOf returns the precision under the given normalized parameters.
func (o *Op) PrecisionOf(params any) Precision { return o.precision(params) }

// ProductOf returns the class of a Narrow operator under the given normalized parameters, for inputs
// of known shapes. Classes of which a processor has no fast kernel in bfloat16 compute in float32.
func (o *Op) ProductOf(params any, in []dtype.Shape) device.Product { return o.product(params, in) }

// ProductOfRows returns the class of the product of two matrices, of which the first has some
// number of rows.
func ProductOfRows(rows int) device.Product {
	if rows < device.FewRows {
		return device.FewRowProducts
	}
	return device.DenseProducts
}
