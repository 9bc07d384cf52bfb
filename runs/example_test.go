package runs_test

import (
	"fmt"
	"os"

	"gomx/runs"
)

// A program records a curve of its own, and reads it again.
func Example() {
	dir, err := os.MkdirTemp("", "run")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	run, err := runs.Open(dir, runs.Hyper(map[string]any{"learning rate": 0.1}))
	if err != nil {
		panic(err)
	}
	for step := int64(1); step <= 4; step++ {
		run.Scalar("loss", step, 1/float64(step))
	}
	run.Score("accuracy", 0.9)
	if err := run.Close(); err != nil {
		panic(err)
	}
	data, err := runs.Load(dir)
	if err != nil {
		panic(err)
	}
	defer data.Close()
	fmt.Println(data.Hyper, data.Scores, data.Curve("loss").Value)
	// Output: map[learning rate:0.1] map[accuracy:0.9] [1 0.5 0.3333333333333333 0.25]
}
