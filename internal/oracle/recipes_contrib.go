package oracle

import (
	"fmt"

	"gomx/dtype"
	"gomx/op/contrib"
	"gomx/op/prim"
)

func init() {
	recipes[contrib.Hawkes.Op] = hawkes
	recipes[prim.ZerosLater.Op] = zerosLater
}

// hawkes draws sequences of events whose marks are in range.
func hawkes(d drawer) recipe {
	n, events, marks := d.between(1, 3), d.between(1, 5), d.between(1, 3)
	positive := func(low, high float64) func(x Operand) bool {
		return func(x Operand) bool {
			write(x, func(int) float64 { return low + (high-low)*d.Float64() })
			return true
		}
	}
	return recipe{shapes: []dtype.Shape{{n, marks}, {marks}, {marks}, {n, marks}, {n, events},
		{n, events}, {n}, {n}},
		fill: func(i int, x Operand) bool {
			switch i {
			case 5:
				write(x, func(int) float64 { return float64(d.IntN(marks)) })
			case 6:
				write(x, func(int) float64 { return float64(d.between(0, events)) })
			case 7:
				return positive(float64(events), float64(events)+1)(x)
			default:
				return positive(0.2, 1)(x)
			}
			return true
		}}
}

// attention draws heads whose numbers divide each other.
func attention(d drawer) recipe {
	batch, kvHeads, group, size := d.between(1, 3), d.between(1, 2), d.between(1, 2), d.between(1, 4)
	heads := kvHeads * group
	attrs := map[string]string{"heads": fmt.Sprint(heads), "kv_heads": fmt.Sprint(kvHeads)}
	d.maybe(attrs, "causal", "True")
	d.maybe(attrs, "scale", "0.5")
	d.maybe(attrs, "dropout", "0.3")
	key := dtype.Shape{batch, d.between(1, 5), kvHeads * size}
	shapes := []dtype.Shape{{batch, d.between(1, 5), heads * size}, key, key}
	if d.IntN(2) == 0 {
		mask := dtype.Shape{batch, heads, shapes[0][1], key[1]}[d.IntN(4):].Clone()
		for i := range mask {
			if d.IntN(3) == 0 {
				mask[i] = 1
			}
		}
		attrs["use_mask"], shapes = "True", append(shapes, mask)
	}
	return recipe{attrs: attrs, shapes: shapes}
}

// zerosLater draws an element type, without which a single operator has none.
func zerosLater(d drawer) recipe {
	types := []dtype.Type{dtype.Float32, dtype.Float64, dtype.Float16, dtype.Int32, dtype.Uint8}
	return recipe{attrs: map[string]string{"shape": tupleOf(d.list(d.between(1, 3), 1, 4)),
		"dtype": fmt.Sprint(int(types[d.IntN(len(types))]))}}
}
