package memplan_test

import (
	"bytes"
	"fmt"

	"gomx/memplan"
)

// A chain of four results: each is needed only until the next one exists, so
// two places are enough.
func ExampleCompute() {
	buffers := []memplan.Buffer{
		{Name: "conv1", Bytes: 4096, Start: 0, End: 1},
		{Name: "pool1", Bytes: 1024, Start: 1, End: 2},
		{Name: "conv2", Bytes: 2048, Start: 2, End: 3},
		{Name: "pool2", Bytes: 512, Start: 3, End: 4},
	}
	plan, err := memplan.Compute(buffers, nil, memplan.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(plan.Total, plan.LowerBound, plan.Naive)
	// Output: 5120 5120 7680
}

// Two branches read the same input. The second may not put its result over
// what the first still reads, unless somebody makes it wait: that is a hazard.
func ExamplePlan_hazards() {
	buffers := []memplan.Buffer{
		{Name: "x", Bytes: 256, Start: 0, End: 1},
		{Name: "left", Bytes: 64, Start: 1, End: 3},
		{Name: "right", Bytes: 256, Start: 2, End: 3},
	}
	steps := []memplan.Step{
		{Name: "make x", Writes: []int{0}},
		{Name: "left", Reads: []int{0}, Writes: []int{1}, After: []int{0}},
		{Name: "right", Writes: []int{2}},
		{Name: "sum", Reads: []int{1, 2}, After: []int{1, 2}},
	}
	plan, err := memplan.Compute(buffers, steps, memplan.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, h := range plan.Hazards {
		fmt.Printf("%s waits for %s\n", steps[h[1]].Name, steps[h[0]].Name)
	}
	fmt.Println(memplan.Verify(buffers, steps, plan))
	// Output:
	// right waits for left
	// <nil>
}

// A kernel that works in place shares one buffer with its input: the caller
// merges both before planning and keeps the names for the picture.
func ExamplePlan_SVG() {
	buffers := []memplan.Buffer{{
		Name: "conv1", Bytes: 4096, Start: 0, End: 3, Kind: memplan.Activation,
		Values: []memplan.Value{{Name: "conv1", Step: 0}, {Name: "relu1", Step: 1}},
	}}
	plan, err := memplan.Compute(buffers, nil, memplan.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	var picture bytes.Buffer
	fmt.Println(plan.SVG(&picture, buffers), bytes.HasPrefix(picture.Bytes(), []byte("<svg ")))
	// Output: <nil> true
}
