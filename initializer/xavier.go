package initializer

import (
	"fmt"
	"math"

	"gomx/op"
)

// Xavier scales random weights by the number of inputs and outputs, so that gradients have about
// the same size in all layers (Glorot and Bengio, 2010).
type Xavier struct {
	RndType    string  `json:"rnd_type,omitempty"`    // uniform (default) or gaussian
	FactorType string  `json:"factor_type,omitempty"` // avg (default), in or out
	Magnitude  float64 `json:"magnitude,omitempty"`   // 0: 3
}

// MSRAPrelu is Xavier for layers followed by ReLU or PReLU (He et al., 2015).
type MSRAPrelu struct {
	FactorType string `json:"factor_type,omitempty"` // avg (default), in or out
	// initial slope of the PReLU; unset: 0.25
	Slope op.Opt[float64] `json:"slope,omitzero"`
}

// Weight fills dst; the parameter must have at least two axes.
func (x Xavier) Weight(d Desc, dst []float32) error {
	if len(d.Shape) < 2 {
		return fmt.Errorf("xavier: shape %v, want at least 2 axes", d.Shape)
	}
	hw := 1
	for _, n := range d.Shape[2:] {
		hw *= n
	}
	in, out := float64(d.Shape[1]*hw), float64(d.Shape[0]*hw)
	var factor float64
	switch x.FactorType {
	case "", "avg":
		factor = (in + out) / 2
	case "in":
		factor = in
	case "out":
		factor = out
	default:
		return fmt.Errorf("xavier: factor_type %q, want avg, in or out", x.FactorType)
	}
	scale := math.Sqrt(orDefault(x.Magnitude, 3) / factor)
	switch x.RndType {
	case "", "uniform":
		uniform(d, dst, scale)
	case "gaussian":
		normal(d, dst, scale)
	default:
		return fmt.Errorf("xavier: rnd_type %q, want uniform or gaussian", x.RndType)
	}
	return nil
}

// Weight fills dst; the parameter must have at least two axes.
func (m MSRAPrelu) Weight(d Desc, dst []float32) error {
	slope := m.Slope.Or(0.25)
	return Xavier{"gaussian", m.FactorType, 2 / (1 + slope*slope)}.Weight(d, dst)
}
