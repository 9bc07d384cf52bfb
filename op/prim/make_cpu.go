//go:build cgo

package prim

import (
	"gomx/op/attach"
)

func init() {
	attach.TierC(Zeros, fillWith(func(InitParams) float64 { return 0 }))
	attach.TierC(Ones, fillWith(func(InitParams) float64 { return 1 }))
	attach.TierC(Full, fillWith(func(p FullParams) float64 { return p.Value }))
}
