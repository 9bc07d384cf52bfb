package pure

import "math"

// Update holds the constants of an optimizer's step over float32 arrays. Its methods write the new
// weight to out, which may be w itself, and change states in place. Products are rounded before
// they are added, as in the kernels in C.
type Update struct {
	LR, WD, Rescale, Clip     float32 // negative Clip: no limit
	Momentum, Beta1, Beta2, E float32 // E is the epsilon of Adam and AdaGrad
}

func (u *Update) clip(g float32) float32 {
	switch {
	case u.Clip < 0:
		return g
	case g > u.Clip:
		return u.Clip
	case g < -u.Clip:
		return -u.Clip
	}
	return g
}

// SGD is a step of stochastic gradient descent.
func (u *Update) SGD(out, w, g []float32) {
	keep := float32(1 - float64(u.LR)*float64(u.WD))
	for i, v := range w {
		out[i] = float32(keep*v) - float32(u.LR*u.clip(u.Rescale*g[i]))
	}
}

// SGDMomentum is SGD with momentum.
func (u *Update) SGDMomentum(out, w, g, mom []float32) {
	decay := u.LR * u.WD
	for i, v := range w {
		m := float32(u.Momentum*mom[i]) - float32(decay*v) - float32(u.LR*u.clip(u.Rescale*g[i]))
		mom[i] = m
		out[i] = v + m
	}
}

// NAG is Nesterov's accelerated gradient.
func (u *Update) NAG(out, w, g, mom []float32) {
	for i, v := range w {
		step := u.LR * (u.clip(u.Rescale*g[i]) + float32(u.WD*v))
		m := float32(u.Momentum*mom[i]) - float32(step)
		mom[i] = m
		out[i] = v + (float32(u.Momentum*m) - float32(step))
	}
}

// Adam is a step of Adam; LR includes the correction of bias.
func (u *Update) Adam(out, w, g, mean, variance []float32) {
	c1, c2 := 1-u.Beta1, 1-u.Beta2
	for i, v := range w {
		d := u.clip(float32(u.Rescale*g[i]) + float32(u.WD*v))
		m := float32(u.Beta1*mean[i]) + float32(c1*d)
		s := float32(u.Beta2*variance[i]) + float32(float32(c2*d)*d)
		mean[i], variance[i] = m, s
		out[i] = v - float32(u.LR*m)/(float32(math.Sqrt(float64(s)))+u.E)
	}
}

// AdaGrad is a step of AdaGrad.
func (u *Update) AdaGrad(out, w, g, history []float32) {
	for i, v := range w {
		d := u.clip(u.Rescale * g[i])
		h := history[i] + float32(d*d)
		history[i] = h
		out[i] = v - float32(u.LR*(d/float32(math.Sqrt(float64(h+u.E)))+float32(u.WD*v)))
	}
}
