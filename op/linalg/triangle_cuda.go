//go:build cuda

package linalg

import (
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	for h, unpack := range map[op.Handle[TriangleParams]]bool{ExtractTrian: false,
		MakeTrian: true} {
		attach.CUDA(h, func(p TriangleParams, a *op.Args) (*op.Prepared, error) {
			upper := p.Offset > 0 || p.Offset == 0 && p.Upper
			return bandCUDA("triangle", bandArgs{offset: p.Offset, upper: attach.B2I(upper),
				unpack: attach.B2I(unpack)}, a)
		})
	}
}
