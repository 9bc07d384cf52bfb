//go:build cuda

package prim

import (
	"gomx/op"
	"gomx/op/attach"
)

// mapsCUDA attaches functions of one element by their names in CUDA.
func mapsCUDA(names map[op.Handle[op.NoParams]]string) {
	for h, name := range names {
		attach.CUDA(h, rounded(h, attach.CUDAUnary[op.NoParams](name)))
	}
}

// rounded leaves integers as they are where the function only rounds.
func rounded(h op.Handle[op.NoParams], prepare op.Prepare[op.NoParams]) op.Prepare[op.NoParams] {
	switch h {
	case Round, Rint, Ceil, Floor, Trunc, Fix:
	default:
		return prepare
	}
	return func(p op.NoParams, a *op.Args) (*op.Prepared, error) {
		k, err := prepare(p, a)
		if err == op.ErrUnsupported {
			return attach.CUDAMap(a, "copy")
		}
		return k, err
	}
}
