package trainer

import (
	"fmt"
	"math"
	"testing"

	"gomx/device"
	"gomx/dtype"
	nd "gomx/ndarray"
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
