// Package quant defines operators on quantized numbers, of MXNet's namespace contrib: integers of 8
// bits that stand for real numbers, and products of them in 32 bits.
//
// Names, attributes, shapes and results equal MXNet 1.9.1's on processors with oneDNN, bit for bit,
// where MXNet has a kernel; generated functions begin with ContribQuantize or ContribQuantized.
//
// # Ranges
//
// Each quantized operand comes with two operands of shape (1): the least and the greatest real
// number of its range. The magnitude m of a range is the greater absolute value of both. An int8
// number q stands for q·m/127.5, a uint8 number for q·m/255.5, an int32 number for q·m/2³¹; some
// operators use 127 and 255 instead, and the outputs of products count a step of int8 as m/127.
// Real numbers are rounded to the nearest integer, halves to even, and then limited to the type.
//
//	q := quant.QuantizeV2.Apply(quant.QuantizeV2Params{}, x) // outputs: data, least, greatest
//
// There are no gradients.
//
// # Kernels
//
// There are reference kernels for all operators. In inference, products of integers with known
// ranges are one operator with all that follows up to the next integers (FusedProduct), which has
// kernels of oneDNN where the processor adds products in 32 bits (AVX-512 VNNI, AMX), and loops in
// C elsewhere: sums are exact with both.
package quant
