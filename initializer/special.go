package initializer

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"gomx/op"
)

// Orthogonal makes the rows or columns of the weight, seen as a matrix, orthogonal (Saxe et al.,
// 2013).
type Orthogonal struct {
	Scale    float64 `json:"scale,omitempty"`     // 0: 1.414
	RandType string  `json:"rand_type,omitempty"` // uniform (default) or normal
}

// Bilinear makes an upsampling layer (a transposed convolution) interpolate bilinearly.
type Bilinear struct{}

// LSTMBias sets the biases of the forget gate, the second of four blocks, to ForgetBias and the
// others to 0.
type LSTMBias struct {
	ForgetBias op.Opt[float64] `json:"forget_bias,omitzero"` // unset: 1
}

// Weight fills dst.
func (o Orthogonal) Weight(d Desc, dst []float32) error {
	if len(d.Shape) < 2 || len(dst) == 0 {
		return fmt.Errorf("orthogonal: shape %v, want at least 2 axes and one element", d.Shape)
	}
	switch o.RandType {
	case "", "uniform":
		uniform(d, dst, 1)
	case "normal":
		normal(d, dst, 1)
	default:
		return fmt.Errorf("orthogonal: rand_type %q, want uniform or normal", o.RandType)
	}
	rows := d.Shape[0]
	cols := len(dst) / rows
	a := mat.NewDense(rows, cols, nil)
	for i, v := range dst {
		a.Set(i/cols, i%cols, float64(v))
	}
	var svd mat.SVD
	if !svd.Factorize(a, mat.SVDThin) {
		return fmt.Errorf("orthogonal: no singular value decomposition of shape %v", d.Shape)
	}
	var u, v mat.Dense
	svd.UTo(&u)
	svd.VTo(&v)
	scale := orDefault(o.Scale, 1.414)
	for i := range dst {
		r, c := i/cols, i%cols
		if rows >= cols {
			dst[i] = float32(scale * u.At(r, c))
		} else {
			dst[i] = float32(scale * v.At(c, r))
		}
	}
	return nil
}

// Weight fills dst; the parameter must have four axes.
func (Bilinear) Weight(d Desc, dst []float32) error {
	if len(d.Shape) != 4 {
		return fmt.Errorf("bilinear: shape %v, want 4 axes", d.Shape)
	}
	h, w := d.Shape[2], d.Shape[3]
	f := math.Ceil(float64(w) / 2)
	c := (2*f - 1 - math.Mod(f, 2)) / (2 * f)
	for i := range dst {
		x, y := float64(i%w), float64(i/w%h)
		dst[i] = float32((1 - math.Abs(x/f-c)) * (1 - math.Abs(y/f-c)))
	}
	return nil
}

// Weight fills dst.
func (l LSTMBias) Weight(_ Desc, dst []float32) error {
	bias := l.ForgetBias.Or(1)
	hidden := len(dst) / 4
	clear(dst)
	for i := hidden; i < 2*hidden; i++ {
		dst[i] = float32(bias)
	}
	return nil
}
