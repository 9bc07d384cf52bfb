package oracle

import (
	"fmt"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/vision"
)

// The recipes of operators on regions, boxes and images.
func init() {
	for o, r := range map[*op.Op]func(d drawer) recipe{
		vision.PSROIPooling.Op:           psroi,
		vision.DeformablePSROIPooling.Op: deformablePSROI,
		vision.RROIAlign.Op:              rroiAlign,
		vision.BoxEncode.Op:              boxEncode,
		vision.Correlation.Op:            correlation,
		vision.ImageAdjustLighting.Op:    lighting,
		vision.ImageResize.Op:            imageResize,
	} {
		recipes[o] = r
	}
}

// sensitive draws the attributes of pooling with channels for each part, and shapes of data and
// regions.
func sensitive(d drawer) (attrs map[string]string, data, regions dtype.Shape) {
	pooled, group, channels := d.between(1, 4), d.between(1, 3), d.between(1, 3)
	attrs = map[string]string{"pooled_size": fmt.Sprint(pooled), "group_size": fmt.Sprint(group),
		"output_dim": fmt.Sprint(channels), "spatial_scale": d.one("1", "0.5", "0.3")}
	return attrs, dtype.Shape{d.between(1, 3), channels*group*group + d.IntN(2), d.between(3, 6),
		d.between(3, 6)}, dtype.Shape{d.between(1, 3), 5}
}

// filled returns a recipe whose input 1 holds regions.
func filled(d drawer, attrs map[string]string, shapes ...dtype.Shape) recipe {
	return recipe{attrs: attrs, shapes: shapes, fill: func(i int, x Operand) bool {
		if i == 1 {
			d.regions(x, shapes[0][0])
		}
		return i == 1
	}}
}

func psroi(d drawer) recipe {
	attrs, data, regions := sensitive(d)
	if attrs["group_size"] == attrs["pooled_size"] {
		delete(attrs, "group_size")
	}
	return filled(d, attrs, data, regions)
}

func deformablePSROI(d drawer) recipe {
	attrs, data, regions := sensitive(d)
	d.maybe(attrs, "sample_per_part", d.one("1", "2", "3"))
	if d.IntN(3) == 0 {
		attrs["no_trans"] = "True"
		return filled(d, attrs, data, regions)
	}
	attrs["trans_std"] = d.one("0", "0.1", "0.3")
	n := d.between(1, 5)
	attrs["part_size"] = fmt.Sprint(n)
	return filled(d, attrs, data, regions, dtype.Shape{regions[0], 2, n, n})
}

func rroiAlign(d drawer) recipe {
	images := d.between(1, 3)
	attrs := map[string]string{"pooled_size": tupleOf(d.list(2, 1, 3)),
		"spatial_scale": d.one("1", "0.5", "0.3")}
	d.maybe(attrs, "sampling_ratio", d.one("-1", "0", "1", "2"))
	return recipe{attrs: attrs, shapes: []dtype.Shape{{images, d.between(1, 3), d.between(3, 6),
		d.between(3, 6)}, {d.between(1, 3), 6}}, fill: func(i int, x Operand) bool {
		if i == 1 {
			write(x, func(i int) float64 {
				switch i % 6 {
				case 0:
					return float64(d.IntN(images))
				case 5:
					return float64(d.between(-9, 9)) * 21.25
				}
				return float64(d.between(0, 40)) / 4
			})
		}
		return i == 1
	}}
}

func boxEncode(d drawer) recipe {
	b, n, m := d.between(1, 3), d.between(1, 4), d.between(1, 4)
	return recipe{attrs: map[string]string{}, shapes: []dtype.Shape{{b, n}, {b, n}, {b, n, 4},
		{b, m, 4}}, fill: func(i int, x Operand) bool {
		switch i {
		case 1:
			write(x, func(int) float64 { return float64(d.IntN(m)) })
		case 2, 3:
			var corner [2]float64
			write(x, func(i int) float64 {
				if i%4 < 2 {
					corner[i%2] = float64(d.between(-8, 8)) / 4
					return corner[i%2]
				}
				return corner[i%2] + float64(d.between(1, 8))/4
			})
		}
		return i >= 1 && i <= 3
	}}
}

func lighting(d drawer) recipe {
	alpha := make([]float64, 3)
	for i := range alpha {
		alpha[i] = float64(d.between(-8, 8)) / 8
	}
	return recipe{attrs: map[string]string{"alpha": tupleOf(alpha)}}
}

func imageResize(d drawer) recipe {
	attrs := map[string]string{"size": tupleOf(d.list(d.between(1, 2), 1, 9))}
	d.maybe(attrs, "keep_ratio", d.bool())
	d.maybe(attrs, "interp", d.one("0", "1", "2", "3", "4"))
	image := append(dtype.Shape(d.list(2, 1, 9)), d.between(1, 4))
	if d.IntN(2) == 0 {
		image = append(dtype.Shape{d.between(1, 3)}, image...)
	}
	return recipe{attrs: attrs, shapes: []dtype.Shape{image}}
}

func correlation(d drawer) recipe {
	size, most := 1+2*d.IntN(2), d.IntN(4)
	attrs := map[string]string{"kernel_size": fmt.Sprint(size), "stride1": d.one("1", "2", "3"),
		"stride2": d.one("1", "2"), "max_displacement": fmt.Sprint(most),
		"pad_size": fmt.Sprint(d.IntN(4))}
	d.maybe(attrs, "is_multiply", d.bool())
	s := dtype.Shape{d.between(1, 2), d.between(1, 3), 2*most + d.between(3, 6),
		2*most + d.between(3, 6)}
	return recipe{attrs: attrs, shapes: []dtype.Shape{s, s}}
}
