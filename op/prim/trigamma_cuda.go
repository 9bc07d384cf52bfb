//go:build cuda

package prim

import (
	"gomx/op"
)

func init() {
	mapsCUDA(map[op.Handle[op.NoParams]]string{
		trigamma: "trigamma",
	})
}
