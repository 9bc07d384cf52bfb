package control

import (
	"gomx/device"
	"gomx/op"
)

func init() {
	Foreach.Kernel(device.KindCPU, device.TierGo, prepared(foreachLoop))
	WhileLoop.Kernel(device.KindCPU, device.TierGo, prepared(whileLoop))
	scan.Kernel(device.KindCPU, device.TierGo, prepared(scanLoop))
	Cond.Kernel(device.KindCPU, device.TierGo,
		func(p CondParams, a *op.Args) (*op.Prepared, error) {
			if a.Ready == nil {
				return nil, op.ErrUnsupported
			}
			return newChoice(p).prepare(a)
		})
}

// prepared is the kernel that runs prepared bodies of a loop.
func prepared[P any](form func(P) *loop) op.Prepare[P] {
	return func(p P, a *op.Args) (*op.Prepared, error) {
		if a.Ready == nil {
			return nil, op.ErrUnsupported
		}
		return form(p).prepare(a)
	}
}
