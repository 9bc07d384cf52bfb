package trainer

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gomx/device"
	"gomx/dtype"
	nd "gomx/ndarray"
	"gomx/op"
)

// Gradients of many parameters, of two element types, are scaled together; afterwards nothing is
// allocated.
func TestClipperAllocatesNothing(t *testing.T) {
	grads, params := map[string]*nd.Array{}, []Param{{Name: "fixed"}}
	for i := range 9 {
		name := fmt.Sprint("p", i)
		params, grads[name] = append(params, Param{Name: name}), nd.Full(2, nd.Shape{3, 4})
	}
	params = append(params, Param{Name: "half"})
	grads["half"] = nd.Full(2, nd.Shape{4}, nd.As(dtype.Float16))
	c := &clipper{limit: 1}
	defer c.close()
	if err := c.scale(grads, params, 0.5); err != nil {
		t.Fatal(err)
	}
	// The norm is that of 112 elements of 1.
	for name, tol := range map[string]float64{"p0": 1e-6, "p8": 1e-6, "half": 1e-3} {
		v, err := grads[name].Float64s()
		if err != nil {
			t.Fatal(err)
		}
		if want := 2 / math.Sqrt(112); math.Abs(v[0]-want) > tol*want {
			t.Errorf("%s: %v, want %v", name, v[0], want)
		}
	}
	// A parameter that has no gradient this time counts for nothing.
	delete(grads, "half")
	for _, g := range grads {
		g.Fill(2)
	}
	if err := c.scale(grads, params, 0.5); err != nil {
		t.Fatal(err)
	}
	if v, err := grads["p3"].Float64s(); err != nil || math.Abs(v[0]-2/math.Sqrt(108)) > 1e-6 {
		t.Errorf("without half: %v, %v, want %v", v, err, 2/math.Sqrt(108))
	}
	if race {
		t.Skip("pools drop objects at random under the race detector")
	}
	if device.MaxTier() < device.TierC {
		t.Skip("kernels in Go allocate")
	}
	delete(grads, "p8")
	if got := testing.AllocsPerRun(50, func() {
		if err := c.scale(grads, params, 0.5); err != nil {
			t.Error(err)
		}
	}); got > 0 {
		t.Errorf("%v allocations, want none", got)
	}
}

// A row_sparse gradient is clipped together with a dense one: it is not made dense, and a gradient
// without rows stays empty.
func TestClipperKeepsRows(t *testing.T) {
	var notices []string
	old := op.NoticesTo(func(text string) { notices = append(notices, text) })
	defer func() { op.NoticesTo(old) }()
	rows := nd.RowSparseFromSlices([]float32{3, 0, 0, 2}, []int64{1, 4}, nd.Shape{6, 2})
	grads := map[string]*nd.Array{"rows": rows, "none": nd.ZerosOf(nd.RowSparse, nd.Shape{5, 2}),
		"dense": nd.Full(6, nd.Shape{1})}
	c := &clipper{limit: 14}
	defer c.close()
	params := []Param{{Name: "rows"}, {Name: "none"}, {Name: "dense"}}
	if err := c.scale(grads, params, 4); err != nil { // the norm is 4 * 7
		t.Fatal(err)
	}
	for name, want := range map[string][]float64{"rows": {0, 0, 1.5, 0, 0, 0, 0, 0, 0, 1, 0, 0},
		"none": make([]float64, 10), "dense": {3}} {
		got, err := grads[name].Float64s()
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range want {
			if math.Abs(got[i]-v) > 1e-6 {
				t.Errorf("%s: %v, want %v", name, got, want)
				break
			}
		}
	}
	if ids, err := rows.Indices(); err != nil || !slices.Equal(ids, []int64{1, 4}) {
		t.Errorf("rows %v, %v, want 1 and 4", ids, err)
	}
	if _, err := nd.ClipGlobalNorm([]*nd.Array{rows}, 0.5); err != nil {
		t.Error(err)
	}
	if rows.Storage() != nd.RowSparse || len(notices) > 0 {
		t.Errorf("storage %v and notices %q, want row_sparse and none", rows.Storage(), notices)
	}
}
