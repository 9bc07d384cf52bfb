package ndarray_test

import (
	"fmt"
	"strings"
	"testing"

	nd "gomx/ndarray"
	"gomx/op"
)

func ExampleForeach() {
	rows := nd.FromSlice([]float32{1, 2, 3, 4, 5, 6}, 3, 2)
	sums, last := nd.Foreach(func(row, s []*nd.Array) (outs, next []*nd.Array) {
		sum := row[0].Add(s[0])
		return []*nd.Array{sum}, []*nd.Array{sum}
	}, []*nd.Array{rows}, []*nd.Array{nd.Zeros(nd.Shape{2})})
	fmt.Println(sums[0].Float32s())
	fmt.Println(last[0].Float32s())
	// Output:
	// [1 2 4 6 9 12] <nil>
	// [9 12] <nil>
}

func ExampleWhileLoop() {
	outs, last := nd.WhileLoop(func(v []*nd.Array) *nd.Array {
		return nd.LesserScalar(v[0], nd.ScalarParams{Scalar: 100})
	}, func(v []*nd.Array) (outs, next []*nd.Array) {
		return v, []*nd.Array{v[0].MulScalar(5)}
	}, []*nd.Array{nd.Ones(nd.Shape{1})}, 5)
	fmt.Println(outs[0].Float32s())
	fmt.Println(last[0].Float32s())
	// Output:
	// [1 5 25 0 0] <nil>
	// [125] <nil>
}

// TestLoopMisuse checks that loops over arrays panic with errors that name the fault.
func TestLoopMisuse(t *testing.T) {
	x, s := nd.Ones(nd.Shape{3, 2}), nd.Ones(nd.Shape{2})
	one := func(list ...*nd.Array) []*nd.Array { return list }
	yes := func([]*nd.Array) *nd.Array { return nd.Ones(nd.Shape{1}) }
	for want, call := range map[string]func(){
		"no array": func() { nd.Foreach(nil, nil, one(s)) },
		"2 rows, want 3": func() {
			nd.Foreach(nil, one(x, nd.Ones(nd.Shape{2, 2})), nil)
		},
		"returns 0, want 1": func() {
			nd.Foreach(func(r, s []*nd.Array) (o, n []*nd.Array) { return r, nil }, one(x), one(s))
		},
		"max: 0": func() { nd.WhileLoop(yes, nil, one(s), 0) },
		"want one element": func() {
			nd.WhileLoop(func(v []*nd.Array) *nd.Array { return v[0] }, nil, one(s), 3)
		},
		"Cond": func() { nd.Cond(s, nil, nil) },
	} {
		func() {
			defer func() {
				err, ok := recover().(*op.Error)
				if !ok || !strings.Contains(err.Error(), want) {
					t.Errorf("%v, want an error with %q", err, want)
				}
			}()
			call()
		}()
	}
}
