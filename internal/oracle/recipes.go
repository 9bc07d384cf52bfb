package oracle

import (
	"fmt"
	"strings"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/contrib"
	"gomx/op/index"
	"gomx/op/loss"
	"gomx/op/nn"
	"gomx/op/prim"
	"gomx/op/update"
	"gomx/op/vision"
)

// recipe is a call whose attributes, shapes and values fit together, for an operator of which
// independent draws hardly ever do.
type recipe struct {
	attrs  map[string]string
	shapes []dtype.Shape               // of the first inputs; inference finds the others
	types  []dtype.Type                // of the first inputs; drawn for the others
	fill   func(i int, x Operand) bool // values of input i; false: as for other operators
}

// recipes gives the operators that need one a way to draw it.
var recipes = map[*op.Op]func(d drawer) recipe{
	nn.Convolution.Op:                    drawer.convolution,
	nn.Deconvolution.Op:                  drawer.deconvolution,
	nn.DeformableConvolution.Op:          deformable,
	nn.ModulatedDeformableConvolution.Op: deformable,
	nn.Attention.Op:                      attention,
	nn.Pad.Op:                            drawer.padding,
	nn.UpSampling.Op:                     drawer.upSampling,
	vision.GridGenerator.Op:              drawer.gridGenerator,
	vision.SpatialTransformer.Op:         drawer.spatialTransformer,
	vision.ROIAlign.Op:                   drawer.roiAlign,
	vision.Proposal.Op:                   func(d drawer) recipe { return d.proposal(1) },
	vision.MultiProposal.Op:              func(d drawer) recipe { return d.proposal(1 + d.IntN(2)) },
	vision.MultiBoxTarget.Op:             drawer.multiBoxTarget,
	loss.CTCLoss.Op:                      ctc,
	index.ScatterND.Op:                   drawer.scatter,
	index.ScatterSetND.Op:                drawer.scatterSet,
	prim.BroadcastTo.Op:                  drawer.broadcastTo,
	vision.Col2Im.Op:                     drawer.col2im,
	contrib.EncDecValAtt.Op:              drawer.valatt,
	update.MultiAdamWUpdate.Op:           func(d drawer) recipe { return d.multiAdamW(4) },
	update.MultiMPAdamWUpdate.Op:         func(d drawer) recipe { return d.multiAdamW(5) },
}

// between draws a whole number from low to high, both included.
func (d drawer) between(low, high int) int { return low + d.IntN(high-low+1) }

// list draws n numbers from low to high.
func (d drawer) list(n, low, high int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = d.between(low, high)
	}
	return s
}

// maybe sets an attribute in half of the calls.
func (d drawer) maybe(attrs map[string]string, name, value string) {
	if d.IntN(2) == 0 {
		attrs[name] = value
	}
}

func (d drawer) bool() string { return []string{"True", "False"}[d.IntN(2)] }

// one returns an element of a list.
func (d drawer) one(list ...string) string { return list[d.IntN(len(list))] }

// tupleOf writes a tuple.
func tupleOf[T any](list []T) string {
	text := make([]string, len(list))
	for i, v := range list {
		text[i] = fmt.Sprint(v)
	}
	if len(text) == 1 {
		return "(" + text[0] + ",)"
	}
	return "(" + strings.Join(text, ", ") + ")"
}

// window draws the attributes of a sliding window over n axes.
func (d drawer) window(n int) (attrs map[string]string, kernel, stride, dilate, pad []int) {
	kernel, stride, dilate, pad = d.list(n, 1, 3), d.list(n, 1, 2), d.list(n, 1, 2), d.list(n, 0, 1)
	attrs = map[string]string{"kernel": tupleOf(kernel), "stride": tupleOf(stride),
		"dilate": tupleOf(dilate), "pad": tupleOf(pad)}
	for _, a := range []struct {
		name  string
		value []int
		unset int
	}{{"stride", stride, 1}, {"dilate", dilate, 1}, {"pad", pad, 0}} {
		if d.IntN(3) == 0 {
			delete(attrs, a.name)
			for i := range a.value {
				a.value[i] = a.unset
			}
		}
	}
	return attrs, kernel, stride, dilate, pad
}

func (d drawer) convolution() recipe {
	n := d.between(1, 3)
	attrs, _, _, _, _ := d.window(n)
	groups := d.between(1, 3)
	attrs["num_group"] = fmt.Sprint(groups)
	attrs["num_filter"] = fmt.Sprint(groups * d.between(1, 3))
	d.maybe(attrs, "no_bias", d.bool())
	data := append(dtype.Shape{d.between(1, 3), groups * d.between(1, 3)}, d.list(n, 5, 7)...)
	return recipe{attrs: attrs, shapes: []dtype.Shape{data}}
}

func (d drawer) deconvolution() recipe {
	r := d.convolution()
	n := len(r.shapes[0]) - 2
	switch d.IntN(3) {
	case 0:
		delete(r.attrs, "pad") // of the target shape
		r.attrs["target_shape"] = tupleOf(d.list(n, 8, 12))
	case 1:
		r.attrs["stride"], r.attrs["adj"] = tupleOf(d.list(n, 2, 3)), tupleOf(d.list(n, 0, 1))
	}
	return r
}

func deformable(d drawer) recipe {
	attrs, _, _, _, _ := d.window(2)
	groups := d.between(1, 2)
	attrs["num_deformable_group"] = fmt.Sprint(groups)
	attrs["num_filter"] = fmt.Sprint(d.between(1, 3))
	d.maybe(attrs, "no_bias", d.bool())
	data := append(dtype.Shape{d.between(1, 3), groups * d.between(1, 2)}, d.list(2, 5, 7)...)
	return recipe{attrs: attrs, shapes: []dtype.Shape{data}}
}

func (d drawer) padding() recipe {
	n := d.between(2, 3)
	attrs := map[string]string{"mode": d.one("constant", "edge", "reflect"),
		"pad_width": tupleOf(append([]int{0, 0, 0, 0}, d.list(2*n, 0, 2)...))}
	d.maybe(attrs, "constant_value", d.one("0.5", "-2"))
	data := append(dtype.Shape{d.between(1, 3), d.between(1, 3)}, d.list(n, 3, 5)...)
	return recipe{attrs: attrs, shapes: []dtype.Shape{data}}
}

func (d drawer) upSampling() recipe {
	attrs := map[string]string{"scale": fmt.Sprint(d.between(1, 3)), "sample_type": d.one("nearest",
		"bilinear")}
	s := dtype.Shape{d.between(1, 2), d.between(1, 3), d.between(1, 4), d.between(1, 4)}
	if attrs["sample_type"] == "bilinear" {
		attrs["num_filter"] = fmt.Sprint(s[1])
		return recipe{attrs: attrs, shapes: []dtype.Shape{s}}
	}
	d.maybe(attrs, "multi_input_mode", d.one("concat", "sum"))
	return recipe{attrs: attrs, shapes: []dtype.Shape{s, s.Clone(), s.Clone()}}
}

func (d drawer) gridGenerator() recipe {
	n := d.between(1, 3)
	if d.IntN(2) == 0 {
		return recipe{attrs: map[string]string{"transform_type": "affine",
			"target_shape": tupleOf(d.list(2, 2, 5))},
			shapes: []dtype.Shape{{n, 6}}}
	}
	return recipe{attrs: map[string]string{"transform_type": "warp"},
		shapes: []dtype.Shape{append(dtype.Shape{n, 2}, d.list(2, 2, 5)...)}}
}

func (d drawer) spatialTransformer() recipe {
	n := d.between(1, 3)
	attrs := map[string]string{"transform_type": "affine", "sampler_type": "bilinear",
		"target_shape": tupleOf(d.list(2, 2, 5))}
	return recipe{attrs: attrs, shapes: []dtype.Shape{append(dtype.Shape{n, d.between(1, 2)},
		d.list(2, 2, 5)...), {n, 6}}}
}

func (d drawer) roiAlign() recipe {
	n, regions := d.between(1, 3), d.between(1, 3)
	pooled := d.list(2, 1, 3)
	attrs := map[string]string{"pooled_size": tupleOf(pooled), "spatial_scale": d.one("1", "0.5",
		"0.25")}
	d.maybe(attrs, "sample_ratio", d.one("-1", "1", "2"))
	d.maybe(attrs, "aligned", d.bool())
	channels := d.between(1, 2)
	if d.IntN(3) == 0 {
		attrs["position_sensitive"] = "True"
		channels *= pooled[0] * pooled[1]
	}
	return recipe{attrs: attrs, shapes: []dtype.Shape{{n, channels, d.between(3, 6),
		d.between(3, 6)}, {regions, 5}},
		fill: func(i int, x Operand) bool {
			if i == 1 {
				d.regions(x, n)
			}
			return i == 1
		}}
}

// regions writes rows of an image's number and two corners.
func (d drawer) regions(x Operand, images int) {
	var row [5]float64
	write(x, func(i int) float64 {
		if i%5 == 0 {
			left, top := d.IntN(8), d.IntN(8)
			row = [5]float64{float64(d.IntN(images)), float64(left), float64(top),
				float64(left + 1 + d.IntN(8)), float64(top + 1 + d.IntN(8))}
		}
		return row[i%5]
	})
}

func (d drawer) proposal(images int) recipe {
	scales, ratios := []int{4, 8, 16, 32}[:d.between(1, 4)],
		[]string{"0.5", "1", "2"}[:d.between(1, 3)]
	h, w, anchors := d.between(2, 4), d.between(2, 4), len(scales)*len(ratios)
	attrs := map[string]string{"scales": tupleOf(scales), "ratios": tupleOf(ratios),
		"rpn_post_nms_top_n": fmt.Sprint(d.between(1, 6)),
		"rpn_pre_nms_top_n":  fmt.Sprint(d.between(6, 12))}
	d.maybe(attrs, "rpn_min_size", d.one("0", "8", "16"))
	d.maybe(attrs, "threshold", d.one("0.3", "0.7"))
	d.maybe(attrs, "output_score", d.bool())
	d.maybe(attrs, "iou_loss", d.bool())
	return recipe{attrs: attrs, shapes: []dtype.Shape{{images, 2 * anchors, h, w},
		{images, 4 * anchors, h, w}, {images, 3}},
		fill: func(i int, x Operand) bool {
			switch i {
			case 0:
				order := d.Perm(x.Shape.Size()) // equal scores have no order
				write(x, func(i int) float64 { return float64(order[i]+1) / float64(len(order)+1) })
			case 1:
				write(x, func(int) float64 { return float64(d.IntN(9)-4) / 16 })
			case 2:
				info := []float64{float64(16 * h), float64(16 * w), 1}
				write(x, func(i int) float64 { return info[i%3] })
			}
			return true
		}}
}

// ctc draws labels that fit into the steps: classes of which no two neighbours are equal, and padding
// behind them.
func ctc(d drawer) recipe {
	length, batch, classes := d.between(1, 3), d.between(1, 4), d.between(3, 5)
	steps := length + d.between(0, 4)
	attrs, pad, first := map[string]string{}, 0, 1
	if d.IntN(2) == 0 {
		attrs["blank_label"], pad, first = "last", -1, 0
	}
	shapes, lengths := []dtype.Shape{{steps, batch, classes}, {batch, length}}, [][2]int{}
	if d.IntN(3) == 0 {
		attrs["use_data_lengths"] = "True"
		lengths = append(lengths, [2]int{length, steps})
	}
	padded := d.IntN(3) > 0
	if !padded {
		attrs["use_label_lengths"] = "True"
		lengths = append(lengths, [2]int{1, length})
	}
	for range lengths {
		shapes = append(shapes, dtype.Shape{batch})
	}
	return recipe{attrs: attrs, shapes: shapes,
		fill: func(i int, x Operand) bool {
			switch i {
			case 0:
				return false
			case 1:
				labels(d, x, pad, first, classes-1, padded)
			default:
				write(x, func(int) float64 { return float64(d.between(lengths[i-2][0], lengths[i-2][1])) })
			}
			return true
		}}
}

// labels writes rows of classes, first and count-1 more, of which no two neighbours are equal, and
// if padded padding behind some of them.
func labels(d drawer, x Operand, pad, first, count int, padded bool) {
	n, used, class := x.Shape[1], 0, 0
	write(x, func(i int) float64 {
		if i%n == 0 {
			class = d.IntN(count)
			if used = n; padded {
				used = d.between(1, n)
			}
		}
		if i%n >= used {
			return float64(pad)
		}
		class = (class + d.between(1, count-1)) % count
		return float64(first + class)
	})
}

func (d drawer) multiBoxTarget() recipe {
	n, anchors, labels, classes := d.between(1, 2), d.between(2, 8), d.between(1, 3),
		d.between(1, 3)
	attrs := map[string]string{}
	d.maybe(attrs, "overlap_threshold", d.one("0.3", "0.5"))
	d.maybe(attrs, "ignore_label", d.one("-1", "7"))
	d.maybe(attrs, "negative_mining_ratio", d.one("-1", "1", "3"))
	d.maybe(attrs, "negative_mining_thresh", d.one("0.3", "0.5"))
	return recipe{attrs: attrs, shapes: []dtype.Shape{{1, anchors, 4}, {n, labels, 5},
		{n, classes + 1, anchors}},
		fill: func(i int, x Operand) bool {
			switch i {
			case 0:
				d.boxes(x, 4, func() float64 { return 0 })
			case 1:
				d.boxes(x, 5, func() float64 { return float64(d.IntN(classes)) })
			case 2:
				d.distinct(x) // equal scores have no order
				return true
			}
			return true
		}}
}

// boxes writes rows of width numbers that end with two corners within the unit square, after class.
func (d drawer) boxes(x Operand, width int, class func() float64) {
	row := make([]float64, width)
	write(x, func(i int) float64 {
		if i%width == 0 {
			left, top := float64(d.IntN(12))/16, float64(d.IntN(12))/16
			row[0] = class()
			copy(row[width-4:], []float64{left, top, left + float64(1+d.IntN(4))/16,
				top + float64(1+d.IntN(4))/16})
		}
		return row[i%width]
	})
}

func (d drawer) scatter() recipe {
	depth := d.between(1, 2)
	shape, at := dtype.Shape(d.list(d.between(depth, 3), 1, 4)), d.list(d.between(1, 2), 1, 3)
	return recipe{attrs: map[string]string{"shape": tupleOf(shape)},
		shapes: []dtype.Shape{append(dtype.Shape(at).Clone(), shape[depth:]...),
			append(dtype.Shape{depth}, at...)},
		fill: func(i int, x Operand) bool {
			if i == 1 {
				d.places(x, shape)
			}
			return i == 1
		}}
}

// places writes indices within shape: row k of x is the index of axis k. No two are equal, because
// the last of several that write one place is not defined.
func (d drawer) places(x Operand, shape dtype.Shape) {
	n := x.Shape.Size() / x.Shape[0]
	order := d.Perm(shape[:x.Shape[0]].Size())
	write(x, func(i int) float64 {
		place := order[i%n%len(order)]
		for k := x.Shape[0] - 1; k > i/n; k-- {
			place /= shape[k]
		}
		return float64(place % shape[i/n])
	})
}

// scatterSet is scatter with the array that is written to before it.
func (d drawer) scatterSet() recipe {
	r := d.scatter()
	var shape dtype.Shape
	for _, e := range strings.FieldsFunc(r.attrs["shape"],
		func(c rune) bool { return strings.ContainsRune("(), ", c) }) {
		var v int
		fmt.Sscan(e, &v)
		shape = append(shape, v)
	}
	fill := r.fill
	r.shapes = append([]dtype.Shape{shape}, r.shapes...)
	r.fill = func(i int, x Operand) bool { return i > 0 && fill(i-1, x) }
	return r
}

func (d drawer) broadcastTo() recipe {
	to := d.list(d.between(1, 4), 1, 4)
	from := dtype.Shape(to).Clone()
	for i := range from {
		switch d.IntN(3) {
		case 0:
			from[i] = 1
		case 1:
			to[i] *= d.IntN(2) // 0 keeps the extent
		}
	}
	return recipe{attrs: map[string]string{"shape": tupleOf(to)}, shapes: []dtype.Shape{from}}
}

func (d drawer) col2im() recipe {
	n := d.between(1, 3)
	attrs, kernel, stride, dilate, pad := d.window(n)
	size := d.list(n, 5, 7)
	attrs["output_size"] = tupleOf(size)
	volume, patches := 1, 1
	for i, k := range kernel {
		volume *= k
		patches *= (size[i]+2*pad[i]-dilate[i]*(k-1)-1)/stride[i] + 1
	}
	return recipe{attrs: attrs, shapes: []dtype.Shape{{d.between(1, 2), d.between(1, 2) * volume,
		patches}}}
}

func (d drawer) valatt() recipe {
	heads, batch, keys, queries, width := d.between(1, 3), d.between(1, 2), d.between(1, 4),
		d.between(1, 4), d.between(1, 3)
	return recipe{attrs: map[string]string{"heads": fmt.Sprint(heads)},
		shapes: []dtype.Shape{{keys, batch, 2 * heads * width}, {heads * batch, queries, keys}}}
}

// multiAdamW draws several weights with arrays each, and the scale of gradients at the end.
func (d drawer) multiAdamW(arrays int) recipe {
	n := d.between(1, 3)
	rates := func(values ...string) string {
		list := make([]string, n)
		for i := range list {
			list[i] = d.one(values...)
		}
		return tupleOf(list)
	}
	attrs := map[string]string{"num_weights": fmt.Sprint(n), "lrs": rates("0.1", "0.01"),
		"wds": rates("0", "0.001"), "etas": rates("1", "0.5")}
	d.maybe(attrs, "clip_gradient", "0.5")
	d.maybe(attrs, "beta1", "0.5")
	var shapes []dtype.Shape
	for range n {
		s := d.shape()
		for range arrays {
			shapes = append(shapes, s.Clone())
		}
	}
	last := arrays * n
	return recipe{attrs: attrs, shapes: append(shapes, dtype.Shape{1}),
		fill: func(i int, x Operand) bool {
			switch {
			case i == last:
				write(x, func(int) float64 { return 0.5 })
			case i%arrays == 3: // a mean of squares
				d.open(x)
			default:
				return false
			}
			return true
		}}
}
