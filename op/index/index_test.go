package index_test

import (
	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
)

// ids makes an operand of indices.
func ids(t dtype.Type, shape []int, values ...float64) op.Tensor {
	return optest.Array(t, shape, values...)
}
