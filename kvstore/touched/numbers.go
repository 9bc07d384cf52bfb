package touched

import (
	"fmt"
	"slices"

	"gomx/dtype"
	"gomx/op"
)

// Numbers returns the elements of an operand as numbers of rows in ascending order, each once; all
// numbers below limit without an operand.
func Numbers(t *op.Tensor, limit uint64) ([]uint64, error) {
	var ids []uint64
	if t == nil {
		for id := range limit {
			ids = append(ids, id)
		}
		return ids, nil
	}
	list, err := integers(*t)
	if err != nil {
		return nil, err
	}
	ids = make([]uint64, len(list))
	for i, id := range list {
		if id < 0 || uint64(id) >= limit {
			return nil, fmt.Errorf("row %d, want 0 to %d", id, limit-1)
		}
		ids[i] = uint64(id)
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// integers returns the elements of a dense operand as numbers.
func integers(t op.Tensor) ([]int64, error) {
	switch t.DType {
	case dtype.Int64:
		return op.Slice[int64](t), nil
	case dtype.Int32:
		return widen(op.Slice[int32](t)), nil
	case dtype.Int8:
		return widen(op.Slice[int8](t)), nil
	case dtype.Uint8:
		return widen(op.Slice[uint8](t)), nil
	case dtype.Float32:
		return widen(op.Slice[float32](t)), nil
	case dtype.Float64:
		return widen(op.Slice[float64](t)), nil
	}
	return nil, fmt.Errorf("row numbers of %v, want float32, float64 or integers", t.DType)
}

func widen[T int8 | uint8 | int32 | float32 | float64](list []T) []int64 {
	out := make([]int64, len(list))
	for i, v := range list {
		out[i] = int64(v)
	}
	return out
}
