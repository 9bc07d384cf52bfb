package loss

import (
	"math"

	"gomx/op"
	"gomx/op/attach"
)

func init() { attach.TierGo(RowLoss, rowLossGo) }

func rowLossGo(p RowLossParams, a *op.Args) (*op.Prepared, error) {
	if !attach.Float32(a) {
		return nil, op.ErrUnsupported
	}
	return attach.Kernel(1, 0, func(c *op.Call) { rowLossFloats(p, c) }), nil
}

// rowLossFloats processes the rows one by one.
func rowLossFloats(p RowLossParams, c *op.Call) {
	x, w, label := attach.Floats(c.In[rowData]), attach.Floats(c.In[rowWeight]),
		attach.Floats(c.In[rowLabel])
	y, dw := attach.Floats(c.Out[0]), attach.Floats(c.Out[1])
	bias, sum := float32(0), float32(0)
	if !p.NoBias {
		bias = attach.Floats(c.In[rowBias])[0]
	}
	clear(dw)
	for i, l := range label {
		row := x[i*len(w):][:len(w)]
		d := dotFloats(row, w) + bias
		if p.Link == "sigmoid" {
			d = float32(1 / (1 + math.Exp(-float64(d))))
		}
		if y != nil {
			y[i] = d
		}
		if d -= l; p.Absolute {
			d = float32(side(float64(d)))
		}
		sum += d
		if dw == nil {
			continue
		}
		for k, v := range row {
			dw[k] += d * v
		}
	}
	if !p.NoBias && c.Out[2].Data != nil {
		attach.Floats(c.Out[2])[0] = sum
	}
}

// dotFloats sums in four lanes, which has smaller rounding errors and is faster than one lane.
func dotFloats(a, b []float32) float32 {
	var s [4]float32
	n := len(a) &^ 3
	for i := 0; i < n; i += 4 {
		u, v := a[i:i+4:i+4], b[i:i+4:i+4]
		s[0] += u[0] * v[0]
		s[1] += u[1] * v[1]
		s[2] += u[2] * v[2]
		s[3] += u[3] * v[3]
	}
	for i := n; i < len(a); i++ {
		s[0] += a[i] * b[i]
	}
	return (s[0] + s[1]) + (s[2] + s[3])
}
