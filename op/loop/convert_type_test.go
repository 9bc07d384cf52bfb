package loop_test

import (
	"testing"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// TestInvalidElementTypes: a type that does not exist ends in an error instead of an endless
// recursion.
func TestInvalidElementTypes(t *testing.T) {
	x := op.TensorOf([]int64{1, 2})
	x.DType = dtype.Type(99)
	for name, f := range map[string]func(){
		"Load":     func() { loop.Load(make([]float64, 2), x, 0, 1) },
		"LoadInt":  func() { loop.LoadInt(make([]int64, 2), x, 0, 1) },
		"Store":    func() { loop.Store(x, 0, []float64{1, 2}) },
		"StoreInt": func() { loop.StoreInt(x, 0, []int64{1, 2}) },
	} {
		func() {
			defer func() {
				if _, ok := recover().(*op.Error); !ok {
					t.Errorf("%s does not panic with *op.Error", name)
				}
			}()
			f()
		}()
	}
}

// TestSlicesCheckTheType: memory of one type is not viewed as another one, whatever the sizes.
func TestSlicesCheckTheType(t *testing.T) {
	for name, f := range map[string]func(){
		"float64 as float32": func() { op.Slice[float32](op.TensorOf([]float64{1})) },
		"int32 as float32":   func() { op.Slice[float32](op.TensorOf([]int32{1})) },
		"int8 as 2 bytes":    func() { op.Bits[uint16](op.TensorOf([]int8{1})) },
	} {
		func() {
			defer func() {
				if _, ok := recover().(*op.Error); !ok {
					t.Errorf("%s: no *op.Error", name)
				}
			}()
			f()
		}()
	}
}
