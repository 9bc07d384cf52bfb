//go:build cgo

package prim

import (
	"gomx/op/attach"
)

func init() {
	attach.TierC(Where, chooseC)
}
