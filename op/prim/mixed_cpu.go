//go:build cgo

package prim

import (
	"unsafe"

	"gomx/device/cpu"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.TierC(KeptCast, func(_ CastParams, a *op.Args) (*op.Prepared, error) {
		if w, ok := a.Out[0].Layout.(*cpu.Packing); ok {
			return castPacked(a, w)
		}
		return castC(a)
	})
}

// castPacked rounds weights in scratch memory and brings them into the layout of a convolution.
func castPacked(a *op.Args, w *cpu.Packing) (*op.Prepared, error) {
	plain := *a
	plain.Out = []op.Desc{op.Plain(a.Out[0].DType, a.Out[0].Shape)}
	k, err := castC(&plain)
	if err != nil {
		return nil, err
	}
	begin := attach.Align(plain.Out[0].Bytes)
	return &op.Prepared{Threads: max(k.Threads, w.Threads()), Scratch: begin + w.Scratch(),
		Impls: w.Impls(), Run: func(c *op.Call) error {
			rounded := *c
			rounded.Out = []op.Tensor{{Desc: plain.Out[0], Data: c.Scratch}}
			if err := k.Run(&rounded); err != nil {
				return err
			}
			return w.Run(c.Out[0].Data, c.Scratch, unsafe.Add(c.Scratch, begin))
		}}, nil
}
