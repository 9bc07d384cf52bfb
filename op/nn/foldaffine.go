package nn

import (
	"strings"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// FoldAffineParams configures FoldAffine.
type FoldAffineParams struct {
	// Steps are the functions after the layer, in their order. Each is a sign and has an input:
	// + adds it, - subtracts it, * multiplies by it, / divides by it, ~ subtracts the result so far
	// from it.
	Steps  string `op:"steps,required" doc:"functions after the layer: + - * / ~, one input each"`
	NoBias bool   `op:"no_bias" doc:"the layer has no bias"`
}

// FoldAffine makes of a layer's weight and bias and of the sums and products per output channel
// that follow the weight and bias of one layer that does the same. Inputs 1 to len(Steps) have one
// element for each output channel, or one element, in any shape; the bias comes last.
var FoldAffine = op.Declare[FoldAffineParams]("_fold_affine")

func init() {
	FoldAffine.Define(op.Spec[FoldAffineParams]{
		Traits: op.Traits{
			Hidden:  true,
			Derived: true,
			Layouts: true,
			NoGrad:  "it exists in inference only",
		},
		Inputs:    foldAffineInputs,
		Outputs:   func(FoldAffineParams) []string { return []string{"weight", "bias"} },
		Infer:     inferFoldAffine,
		InferType: op.FloatType[FoldAffineParams],
		Ref:       foldAffineRef,
	})
}

func foldAffineInputs(p FoldAffineParams) []op.Input {
	list := []op.Input{{Name: "weight", Role: op.Param}}
	for i := range len(p.Steps) {
		list = append(list, op.Input{Name: "operand" + string(rune('0'+i)), Role: op.Param})
	}
	if p.NoBias {
		return list
	}
	return append(list, op.Input{Name: "bias", Role: op.Param})
}

func inferFoldAffine(p FoldAffineParams, in, out []dtype.Shape) error {
	if i := strings.IndexFunc(p.Steps, func(r rune) bool {
		return !strings.ContainsRune("+-*/~", r)
	}); i >= 0 || len(p.Steps) == 0 {
		return op.Errorf("steps", "are %q, want signs of + - * / ~", p.Steps)
	}
	if in[0] != nil && len(in[0]) == 0 {
		return op.Errorf("weight", "is a scalar, want at least one axis")
	}
	if err := op.Same("weight", &in[0], &out[0]); err != nil {
		return err
	}
	channels, err := vector("bias", &out[1], extent(in[0], 0))
	if err != nil {
		return err
	}
	if !p.NoBias {
		if _, err := vector("bias", &in[len(in)-1], channels); err != nil {
			return err
		}
	}
	for i, s := range in[1 : 1+len(p.Steps)] {
		if n := s.Size(); s.Known() && out[1].Known() && n != 1 && n != out[1][0] {
			return op.Errorf("operand", "%d has shape %v, want %d elements or one", i, s, out[1][0])
		}
	}
	return nil
}

// apply takes one step for an output channel whose result so far is scale·y + shift.
func (p FoldAffineParams) apply(step int, by float64, scale, shift *float64) {
	switch p.Steps[step] {
	case '+':
		*shift += by
	case '-':
		*shift -= by
	case '*':
		*scale, *shift = *scale*by, *shift*by
	case '/':
		*scale, *shift = *scale/by, *shift/by
	case '~':
		*scale, *shift = -*scale, by-*shift
	}
}

func foldAffineRef(p FoldAffineParams, c *op.Call) error {
	in := make([][]float64, len(c.In))
	for i := range in {
		in[i] = loop.Floats(c.In[i])
	}
	bias := make([]float64, c.In[0].Shape[0])
	foldAffine(p, in[0], bias, in)
	return storeWanted(c, in[0], bias)
}

// foldAffine writes the folded weight, which may be the one given, and the folded bias.
func foldAffine[T float32 | float64](p FoldAffineParams, weight, bias []T, in [][]T) {
	row := len(weight) / max(len(bias), 1)
	for k := range bias {
		scale, shift := 1.0, 0.0
		if !p.NoBias {
			shift = float64(in[len(in)-1][k])
		}
		for step := range len(p.Steps) {
			by := in[1+step]
			p.apply(step, float64(by[min(k, len(by)-1)]), &scale, &shift)
		}
		bias[k] = T(shift)
		to := weight[k*row:][:row]
		for i, v := range in[0][k*row : (k+1)*row] {
			to[i] = v * T(scale)
		}
	}
}
