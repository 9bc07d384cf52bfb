package loss

import (
	"math"
	"slices"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// classes describes an array as (samples, count, inner): the classes of a sample are inner elements
// apart.
type classes struct{ samples, count, inner int }

func newClasses(p SoftmaxOutputParams, s dtype.Shape) classes {
	switch {
	case p.MultiOutput:
		return classes{s[0], s[1], s[2:].Size()}
	case p.PreserveShape:
		return classes{s[:len(s)-1].Size(), s[len(s)-1], 1}
	}
	return classes{s[0], s[1:].Size(), 1}
}

// each calls f for every position that has a distribution over classes, with its number and the
// offset of class 0.
func (v classes) each(f func(i, at int)) {
	for s := range v.samples {
		for k := range v.inner {
			f(s*v.inner+k, s*v.count*v.inner+k)
		}
	}
}

// softmax replaces x by its softmax over the classes.
func (v classes) softmax(x []float64) {
	v.each(func(_, at int) {
		top, sum := math.Inf(-1), 0.0
		for k := range v.count {
			top = math.Max(top, x[at+k*v.inner])
		}
		for k := range v.count {
			e := math.Exp(x[at+k*v.inner] - top)
			x[at+k*v.inner] = e
			sum += e
		}
		for k := range v.count {
			x[at+k*v.inner] /= sum
		}
	})
}

func softmaxRef(p SoftmaxOutputParams, c *op.Call) error {
	x := loop.Floats(c.In[0])
	newClasses(p, c.In[0].Shape).softmax(x)
	loop.Store(c.Out[0], 0, x)
	return nil
}

func softmaxGradRef(p SoftmaxOutputParams, c *op.Call) error {
	out, label := loop.Floats(c.In[0]), loop.Floats(c.In[1])
	y := slices.Clone(out)
	scale := p.GradScale.Value()
	if c.In[1].Shape.Equal(c.In[0].Shape) {
		for i := range y {
			y[i] -= label[i]
		}
	} else {
		v := newClasses(p, c.In[0].Shape)
		v.each(func(i, at int) {
			if i < len(label) { // an array without elements may have more positions than labels
				v.target(p, y, at, label[i])
			}
		})
		scale = v.scale(p, label)
	}
	for i := range y {
		y[i] *= scale
		if p.OutGrad {
			y[i] *= out[i]
		}
	}
	loop.Store(c.Out[0], 0, y)
	return nil
}

// target subtracts the label's distribution from the distribution at offset at. A label that is not
// a class subtracts nothing.
func (v classes) target(p SoftmaxOutputParams, y []float64, at int, label float64) {
	ignored := p.UseIgnore && int(label) == int(p.IgnoreLabel.Value())
	alpha := p.SmoothAlpha
	if p.MultiOutput {
		alpha = 0
	}
	for k := range v.count {
		i := at + k*v.inner
		switch {
		case ignored:
			y[i] = 0
		case k == int(label):
			y[i] -= 1 - alpha
		default:
			y[i] -= alpha / float64(max(v.count-1, 1))
		}
	}
}

// scale returns the factor of the gradient. Without normalization by valid labels, it is divided by
// the number of positions of a sample.
func (v classes) scale(p SoftmaxOutputParams, label []float64) float64 {
	s := p.GradScale.Value()
	if p.Normalization != "valid" {
		s /= float64(v.inner)
	}
	switch p.Normalization {
	case "batch":
		if p.MultiOutput {
			return s / float64(max(v.samples, 1))
		}
		s /= float64(max(len(label), 1))
	case "valid":
		valid := 0
		for _, l := range label {
			if int(l) != int(p.IgnoreLabel.Value()) {
				valid++
			}
		}
		s /= float64(max(valid, 1))
	}
	return s
}
