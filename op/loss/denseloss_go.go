package loss

import (
	"gomx/device/cpu/pure"
	"gomx/op"
	"gomx/op/attach"
)

func init() { attach.TierGo(DenseGrad, denseGradGo) }

// denseBlock is the number of classes that denseGradGo processes at a time.
const denseBlock = 256

// denseGradGo computes the gradient of denseBlock of the layer's results at a time.
func denseGradGo(p DenseGradParams, a *op.Args) (*op.Prepared, error) {
	q := p.loss()
	v, in := newClasses(q, a.In[denseOutput].Shape), a.In[denseWeight].Shape[1]
	if !attach.Float32(a) || v.samples == 0 || in == 0 {
		return nil, op.ErrUnsupported
	}
	k := denseGrad{SoftmaxOutputParams: q, classes: v, in: in,
		factor: float32(v.scale(q, make([]float64, v.samples)))}
	return attach.Kernel(1, 4*v.samples*min(denseBlock, v.count), func(c *op.Call) {
		k.run(c, attach.Scratch(c, v.samples*min(denseBlock, v.count)))
	}), nil
}

type denseGrad struct {
	SoftmaxOutputParams
	classes
	in     int
	factor float32 // factor of the gradient, if it does not depend on the labels
}

func (k denseGrad) run(c *op.Call, block []float32) {
	y, label := attach.Floats(c.In[denseOutput]), attach.Floats(c.In[denseLabel])
	x, w := attach.Floats(c.In[denseData]), attach.Floats(c.In[denseWeight])
	dx, dw := attach.Floats(c.Out[0]), attach.Floats(c.Out[1])
	var db []float32
	if len(c.Out) > 2 {
		db = attach.Floats(c.Out[2])
	}
	scale := k.labelScale(label)
	for from := 0; from < k.count; from += denseBlock {
		n := min(denseBlock, k.count-from)
		d := block[:k.samples*n]
		for i, l := range label {
			k.fill(d[i*n:][:n], y[i*k.count+from:][:n], int(l), from, scale)
		}
		if db != nil {
			pure.SumRows(db[from:][:n], d)
		}
		if dw != nil {
			pure.Gemm{M: n, N: k.in, K: k.samples, TransA: true,
				Alpha: 1}.Run(dw[from*k.in:][:n*k.in], d, x)
		}
		if dx != nil {
			g := pure.Gemm{M: k.samples, N: k.in, K: n, Alpha: 1}
			if from > 0 {
				g.Beta = 1
			}
			g.Run(dx, d, w[from*k.in:][:n*k.in])
		}
	}
}

// fill writes the gradient of one row's classes from number from on.
func (k denseGrad) fill(d, y []float32, label, from int, scale float32) {
	if k.UseIgnore && label == int(k.IgnoreLabel.Value()) {
		clear(d)
		return
	}
	off := float32(k.SmoothAlpha / float64(max(k.count-1, 1)))
	for i, v := range y {
		d[i] = (v - off) * scale
	}
	if at := label - from; at >= 0 && at < len(d) {
		d[at] = (y[at] - float32(1-k.SmoothAlpha)) * scale
	}
}

// labelScale returns the factor of the gradient.
func (k denseGrad) labelScale(label []float32) float32 {
	if k.Normalization != "valid" {
		return k.factor
	}
	valid := 0
	for _, l := range label {
		if int(l) != int(k.IgnoreLabel.Value()) {
			valid++
		}
	}
	return float32(k.GradScale.Value() / float64(max(valid, 1)))
}
