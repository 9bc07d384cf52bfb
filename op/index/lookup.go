package index

import (
	"unsafe"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// bound makes an index out of range legal.
type bound func(i, n int64) (int64, error)

func clip(i, n int64) (int64, error) { return max(0, min(i, n-1)), nil }

func wrap(i, n int64) (int64, error) {
	if i %= n; i < 0 {
		i += n
	}
	return i, nil
}

func raise(i, n int64) (int64, error) {
	if i < 0 || i >= n {
		return 0, op.Errorf("indices", "%d, want 0 to %d", i, n-1)
	}
	return i, nil
}

// bounds are the values of the mode parameters.
var bounds = map[string]bound{"clip": clip, "wrap": wrap, "raise": raise}

// read returns all indices made legal for an axis of extent n.
func read(indices op.Tensor, n int, legal bound) ([]int64, error) {
	list := loop.Ints(indices)
	if n == 0 && len(list) > 0 {
		return nil, op.Errorf("indices", "%d of them, want none for an axis of extent 0", len(list))
	}
	for k, i := range list {
		i, err := legal(i, int64(n))
		if err != nil {
			return nil, err
		}
		list[k] = i
	}
	return list, nil
}

// copyRun copies n elements that lie together.
func copyRun(dst op.Tensor, to int, src op.Tensor, from, n int) {
	if size := dst.DType.Size(); dst.DType == src.DType {
		copy(unsafe.Slice((*byte)(unsafe.Add(dst.Data, to*size)), n*size),
			unsafe.Slice((*byte)(unsafe.Add(src.Data, from*size)), n*size))
		return
	}
	one := []int{1}
	loop.Copy(dtype.Shape{n}, loop.View{Tensor: dst, Off: to, Strides: one}, loop.View{Tensor: src,
		Off: from, Strides: one})
}

// sums collects a gradient in float64 before it is rounded.
type sums []float64

// add adds n elements of t, from offset from on, at offset to.
func (s sums) add(to int, t op.Tensor, from, n int) {
	var x [loop.Block]float64
	for i := 0; i < n; i += loop.Block {
		b := x[:min(loop.Block, n-i)]
		loop.Load(b, t, from+i, 1)
		for k, v := range b {
			s[to+i+k] += v
		}
	}
}

// dataType infers that one input and the output have one element type; index operands are free.
func dataType[P any](at int) func(p P, in, out []dtype.Type) error {
	return func(p P, in, out []dtype.Type) error { return op.SameType(p, in[at:at+1], out) }
}

// setType sets an element type that is not known yet, or reports both.
func setType(arg string, t *dtype.Type, want dtype.Type) error {
	if *t != dtype.Unknown && *t != want {
		return op.Errorf(arg, "element type %v, want %v", *t, want)
	}
	*t = want
	return nil
}
