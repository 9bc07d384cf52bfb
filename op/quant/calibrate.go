package quant

import (
	"math"

	"gomx/dtype"
	"gomx/op"
)

// CalibrateParams configures Calibrate.
type CalibrateParams struct {
	Bins int `op:"num_quantized_bins" default:"255" min:"1" doc:"number of quantized numbers"`
}

// Calibrate finds the range of numbers with which quantization loses the least information.
var Calibrate = op.Declare[CalibrateParams]("_contrib_calibrate_entropy")

func init() {
	Calibrate.Define(op.Spec[CalibrateParams]{
		Traits: op.Traits{
			Multi: true,
			Doc: `ContribCalibrateEntropy finds the magnitude at which quantization may cut numbers off.

hist holds how many numbers fall between neighbours of hist_edges, which are symmetric about zero.
The outputs are the edge with the least divergence (Kullback and Leibler) between the histogram
that is cut off there and its quantized form, and that divergence.`,
			NoGrad: "it only measures",
		},
		Inputs:  inputs[CalibrateParams]("hist", "hist_edges"),
		Outputs: func(CalibrateParams) []string { return []string{"threshold", "divergence"} },
		Infer: func(p CalibrateParams, in, out []dtype.Shape) error {
			if err := single("output", out); err != nil {
				return err
			}
			if in[0] != nil && in[1] != nil && in[0].Known() && in[1].Known() {
				n, edges := in[0].Size(), in[1].Size()
				if edges != n+1 {
					return op.Errorf("hist_edges", "%d edges of %d bins, want %d", edges, n, n+1)
				}
				if n/2 < p.Bins/2 {
					return op.Errorf("num_quantized_bins", "%d of %d bins", p.Bins, n)
				}
			}
			return nil
		},
		InferType: func(_ CalibrateParams, in, out []dtype.Type) error {
			if err := typed("input", in, dtype.Float32); err != nil {
				return err
			}
			return typed("output", out, dtype.Float32)
		},
		Ref: calibrate,
	})
}

func calibrate(p CalibrateParams, c *op.Call) error {
	hist, edges := op.Slice[float32](c.In[0]), op.Slice[float32](c.In[1])
	middle, least := len(hist)/2, float32(math.MaxFloat32)
	threshold := edges[min(middle+p.Bins/2+1, len(hist))]
	for i := p.Bins / 2; i <= middle; i++ {
		stop := min(middle+i+1, len(hist))
		if d := p.divergence(hist, middle-i, stop); d < least {
			least, threshold = d, edges[stop]
		}
	}
	storeRange(c.Out, threshold, least)
	return nil
}

// divergence compares the histogram of which only bins from start to stop are kept with its
// quantized form.
func (p CalibrateParams) divergence(hist []float32, start, stop int) float32 {
	kept := make([]float32, stop-start) // without the outermost bins, as in MXNet
	cut := make([]float32, stop-start)  // with all other bins added to the outermost ones
	for j, n := range hist {
		switch {
		case j <= start:
			cut[0] += n
		case j >= stop:
			cut[len(cut)-1] += n
		default:
			kept[j-start] = float32(int64(n))
			cut[j-start] = n
		}
	}
	quantized := p.quantize(kept, cut)
	smooth(cut)
	if !smooth(quantized) {
		return float32(math.Inf(1))
	}
	return entropy(cut, quantized)
}

// quantize merges neighbouring bins and spreads each sum evenly over those of them that hold any.
func (p CalibrateParams) quantize(kept, cut []float32) []float32 {
	out, merged := make([]float32, len(kept)), len(kept)/p.Bins
	for j := range p.Bins {
		from, to := j*merged, (j+1)*merged
		if j == p.Bins-1 {
			to = len(kept)
		}
		var sum, filled int64
		for _, n := range kept[from:to] {
			sum += int64(n)
			if n != 0 {
				filled++
			}
		}
		for k := from; k < to && filled > 0; k++ {
			if cut[k] != 0 {
				out[k] = float32(sum) / float32(filled)
			}
		}
	}
	return out
}

// smooth replaces zeros by a little, which it takes from the others; it returns false where that is
// impossible.
func smooth(p []float32) bool {
	const little = float32(0.0001)
	zeros := 0
	for _, v := range p {
		if v == 0 {
			zeros++
		}
	}
	if zeros == len(p) {
		return false
	}
	share := little * float32(zeros) / float32(len(p)-zeros)
	if share >= 1 {
		return false
	}
	for i, v := range p {
		if v == 0 {
			p[i] = little
		} else {
			p[i] = v - share
		}
	}
	return true
}

// entropy is the divergence of two distributions, which need not be normalized.
func entropy(p, q []float32) (d float32) {
	var sumP, sumQ float32
	for i := range p {
		sumP += p[i]
		sumQ += q[i]
	}
	for i := range p {
		a, b := p[i]/sumP, q[i]/sumQ
		d += a * float32(math.Log(float64(a/b)))
	}
	return d
}
