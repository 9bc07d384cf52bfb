package vision

import (
	"math"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/prim"
)

// BoxDecodeParams configures BoxDecode.
type BoxDecodeParams struct {
	Std0   op.Opt[float64] `op:"std0" default:"1" doc:"factor of the offset along x"`
	Std1   op.Opt[float64] `op:"std1" default:"1" doc:"factor of the offset along y"`
	Std2   op.Opt[float64] `op:"std2" default:"1" doc:"factor of the logarithm of the width"`
	Std3   op.Opt[float64] `op:"std3" default:"1" doc:"factor of the logarithm of the height"`
	Clip   op.Opt[float64] `op:"clip" default:"-1" doc:"upper limit of the logarithms of width and height; 0 and less: none"`
	Format string          `op:"format" default:"center" enum:"center|corner" doc:"meaning of the four numbers of an anchor"`
}

// BoxEncode and BoxDecode convert between boxes and their positions relative to anchors.
var (
	BoxEncode = op.Declare[op.NoParams]("_contrib_box_encode")
	BoxDecode = op.Declare[BoxDecodeParams]("_contrib_box_decode")
)

func init() {
	BoxEncode.Define(op.Spec[op.NoParams]{
		Traits: op.Traits{
			Multi:  true,
			GoName: "BoxEncode",
			Doc: `BoxEncode computes training targets: positions of boxes relative to anchors.

samples and matches have shape (b, n), anchors (b, n, 4), refs (b, m, 4), means and stds (4).
Anchors and refs are corners. Where samples is above 0.5, output0 (b, n, 4) holds the distance of
the centres of refs[matches] and of the anchor in widths and heights of the anchor, and the
logarithms of the ratios of widths and heights, each minus mean and divided by std; output1 is 1
there. Elsewhere, and where matches is no row of refs, both are 0. There is no gradient.`,
		},
		Inputs: prim.Inputs[op.NoParams]("samples", "matches", "anchors", "refs", "means",
			"stds"),
		Outputs:   func(op.NoParams) []string { return []string{"output0", "output1"} },
		Infer:     inferEncode,
		InferType: op.FloatType[op.NoParams],
		Grad:      prim.ZeroGrad[op.NoParams],
		Ref:       inType(boxEncode[float32], boxEncode[float64]),
	})
	BoxDecode.Define(op.Spec[BoxDecodeParams]{
		Traits: op.Traits{
			GoName: "BoxDecode",
			Doc: `BoxDecode computes boxes from their positions relative to anchors, as BoxEncode gives them.

Data has shape (b, n, 4), anchors (1, n, 4), the output (b, n, 4) with corners. The first two
numbers of data are multiplied by std0 and std1 and by width and height of the anchor, and added
to its centre. The exponentials of the others, times std2 and std3, are factors of its width and
height. There is no gradient.`,
		},
		Inputs:    prim.Inputs[BoxDecodeParams]("data", "anchors"),
		Infer:     inferDecode,
		InferType: op.FloatType[BoxDecodeParams],
		Grad:      prim.ZeroGrad[BoxDecodeParams],
		Ref:       inType(boxDecode[float32], boxDecode[float64]),
	})
}

func inferEncode(_ op.NoParams, in, out []dtype.Shape) error {
	names := []string{"samples", "matches", "anchors", "refs", "means", "stds"}
	b, n := -1, -1
	for range 2 {
		rows := []dtype.Shape{{b, n}, {b, n}, {b, n, 4}, {b, -1, 4}, {4}, {4}}
		for i, name := range names {
			if err := op.Require(name, &in[i], rows[i]); err != nil {
				return err
			}
		}
		for i, name := range []string{"output0", "output1"} {
			if err := op.Require(name, &out[i], dtype.Shape{b, n, 4}); err != nil {
				return err
			}
		}
		b, n = known(in[0][0], in[1][0], in[2][0], in[3][0], out[0][0], out[1][0]),
			known(in[0][1], in[1][1], in[2][1], out[0][1], out[1][1])
	}
	return nil
}

// known returns the first extent that is known, -1 if none is.
func known(list ...int) int {
	for _, n := range list {
		if n != -1 {
			return n
		}
	}
	return -1
}

func inferDecode(_ BoxDecodeParams, in, out []dtype.Shape) error {
	if err := op.Require("data", &in[0], dtype.Shape{-1, -1, 4}); err != nil {
		return err
	}
	if err := op.Same("output", &in[0], &out[0]); err != nil {
		return err
	}
	if err := op.Require("anchors", &in[1], dtype.Shape{1, in[0][1], 4}); err != nil {
		return err
	}
	in[0][1], out[0][1] = in[1][1], in[1][1]
	return nil
}

// centred returns centre and size of the box with the given corners.
func centred[T float](v []T) [4]T {
	w, h := v[2]-v[0], v[3]-v[1]
	return [4]T{v[0] + w*0.5, v[1] + h*0.5, w, h}
}

func boxEncode[T float](_ op.NoParams, c *op.Call) error {
	samples, matches := read[T](c.In[0]), read[T](c.In[1])
	anchors, refs := read[T](c.In[2]), read[T](c.In[3])
	means, stds := read[T](c.In[4]), read[T](c.In[5])
	targets, masks := blank[T](c.Out[0]), blank[T](c.Out[1])
	n, m := c.In[2].Shape[1], c.In[3].Shape[1]
	for i, s := range samples {
		match := whole(float64(matches[i]))
		if !(s > 0.5) || match < 0 || match >= m {
			continue
		}
		first := (i/n*m + match) * 4
		r, a := centred(refs[first:first+4]), centred(anchors[4*i:4*i+4])
		code := [4]T{(r[0] - a[0]) / a[2], (r[1] - a[1]) / a[3],
			T(math.Log(float64(r[2] / a[2]))), T(math.Log(float64(r[3] / a[3])))}
		for k, v := range code {
			targets[4*i+k], masks[4*i+k] = (v-means[k])/stds[k], 1
		}
	}
	store(c.Out[0], targets)
	store(c.Out[1], masks)
	return nil
}

// factors returns std0 to std3.
func (p BoxDecodeParams) factors() [4]float64 {
	return [4]float64{p.Std0.Value(), p.Std1.Value(), p.Std2.Value(), p.Std3.Value()}
}

func boxDecode[T float](p BoxDecodeParams, c *op.Call) error {
	data, anchors, y := read[T](c.In[0]), read[T](c.In[1]), blank[T](c.Out[0])
	std, clip := p.factors(), narrow[T](p.Clip.Value())
	for i := 0; i < len(y); i += 4 {
		a := [4]T(anchors[i%len(anchors):])
		if p.Format == "corner" {
			a = centred(a[:])
		}
		for k := range 2 {
			size := data[i+2+k] * narrow[T](std[2+k])
			if clip > 0 && !(size < clip) {
				size = clip
			}
			half := T(math.Exp(float64(size))) * a[2+k] * 0.5
			centre := data[i+k]*narrow[T](std[k])*a[2+k] + a[k]
			y[i+k], y[i+2+k] = centre-half, centre+half
		}
	}
	store(c.Out[0], y)
	return nil
}
