package prim_test

import (
	"testing"

	"gomx/internal/optest"
	"gomx/op/prim"
)

func TestCrossDeviceCopy(t *testing.T) {
	optest.Run(t, prim.CrossDeviceCopy.Op, optest.Case{In: optest.Ops(optest.Range(3, 4)),
		Want: optest.Ops(optest.Range(3, 4))})
}
