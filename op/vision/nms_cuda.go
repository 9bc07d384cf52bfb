//go:build cuda

package vision

import (
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(BoxNMS, nmsCUDA)
	attach.CUDA(boxNMSGrad, func(_ BoxNMSParams, a *op.Args) (*op.Prepared, error) {
		s := a.Out[0].Shape
		rows := a.In[1].Shape.Size()
		return attach.NewGroups(1, rows, rows, s[len(s)-1], attach.LeftOut, 1).Sum(a.Out[0])
	})
}
