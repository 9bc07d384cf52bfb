package nn

import (
	"math"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// channels sees an array as (outer, count, inner), where the middle axis holds the channels.
type channels struct{ outer, count, inner int }

// newChannels splits a shape at a valid axis.
func newChannels(s dtype.Shape, axis int) channels {
	if axis < 0 {
		axis += len(s)
	}
	return channels{s[:axis].Size(), s[axis], s[axis+1:].Size()}
}

// each visits the elements of channel c.
func (v channels) each(c int, f func(i int)) {
	for o := range v.outer {
		at := (o*v.count + c) * v.inner
		for i := range v.inner {
			f(at + i)
		}
	}
}

// moments returns the mean and biased variance of channel c.
func (v channels) moments(x []float64, c int) (mean, variance float64) {
	n := float64(v.outer * v.inner)
	v.each(c, func(i int) { mean += x[i] })
	mean /= n
	v.each(c, func(i int) { variance += (x[i] - mean) * (x[i] - mean) })
	return mean, variance / n
}

// store writes v to an output that may be unwanted.
func store(t op.Tensor, v []float64) {
	if t.Data != nil {
		loop.Store(t, 0, v)
	}
}

func batchNormRef(p BatchNormParams, c *op.Call) error {
	y, means, invs := batchNorm(p, c)
	return storeWanted(c, y, means, invs)
}

// batchNorm moves the moving averages and returns the outputs.
func batchNorm(p BatchNormParams, c *op.Call) (x, means, invs []float64) {
	v := newChannels(c.In[0].Shape, p.Axis.Value())
	x = loop.Floats(c.In[0])
	gamma, beta := loop.Floats(c.In[1]), loop.Floats(c.In[2])
	movingMean, movingVar := loop.Floats(c.In[3]), loop.Floats(c.In[4])
	learn, m := c.Train && !p.UseGlobalStats, p.Momentum.Value()
	means, invs = make([]float64, v.count), make([]float64, v.count)
	for k := range v.count {
		mean, variance := movingMean[k], movingVar[k]
		if learn {
			mean, variance = v.moments(x, k)
			movingMean[k] = movingMean[k]*m + mean*(1-m)
			movingVar[k] = movingVar[k]*m + variance*(1-m)
		}
		inv := 1 / math.Sqrt(variance+p.Eps.Value())
		means[k], invs[k] = mean, inv
		scale := inv
		if p.NoFixGamma {
			scale *= gamma[k]
		}
		v.each(k, func(i int) { x[i] = (x[i]-mean)*scale + beta[k] })
	}
	if learn {
		loop.Store(c.In[3], 0, movingMean)
		loop.Store(c.In[4], 0, movingVar)
	}
	return x, means, invs
}

func batchNormGradRef(p BatchNormParams, c *op.Call) error {
	dy := loop.Floats(c.In[0])
	dgamma, dbeta := batchNormGrad(p, c, dy)
	return storeWanted(c, dy, dgamma, dbeta)
}

// batchNormGrad turns dy, the gradient of the output, into the gradient of the data, and returns
// the gradients of gamma and beta.
func batchNormGrad(p BatchNormParams, c *op.Call, dy []float64) (dgamma, dbeta []float64) {
	v := newChannels(c.In[1].Shape, p.Axis.Value())
	x := loop.Floats(c.In[1])
	gamma, mean, inv := loop.Floats(c.In[2]), loop.Floats(c.In[3]), loop.Floats(c.In[4])
	dgamma, dbeta = make([]float64, v.count), make([]float64, v.count)
	n := float64(v.outer * v.inner)
	for k := range v.count {
		v.each(k, func(i int) {
			dgamma[k] += dy[i] * (x[i] - mean[k]) * inv[k]
			dbeta[k] += dy[i]
		})
		scale := inv[k]
		if p.NoFixGamma {
			scale *= gamma[k]
		}
		var shift, tilt float64 // what batch statistics take away
		if c.Train && !p.UseGlobalStats {
			shift, tilt = dbeta[k]/n, dgamma[k]/n*inv[k]
		}
		v.each(k, func(i int) { dy[i] = scale * (dy[i] - shift - (x[i]-mean[k])*tilt) })
		if !p.NoFixGamma {
			dgamma[k] = 0
		}
	}
	return dgamma, dbeta
}
