package checkpoint_test

import (
	"fmt"
	"os"
	"path/filepath"

	"gomx/checkpoint"
	nd "gomx/ndarray"
)

func ExampleSaveMap() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "features.params")
	err = checkpoint.SaveMap(path, map[string]*nd.Array{
		"mean": nd.FromSlice([]float32{0.5, 0.25}),
		"std":  nd.FromSlice([]float32{1, 2}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	list, err := checkpoint.LoadArrays(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, n := range list {
		values, err := n.Array.Float32s()
		fmt.Println(n.Name, n.Array.Shape(), values, err)
	}
	// Output:
	// mean (2,) [0.5 0.25] <nil>
	// std (2,) [1 2] <nil>
}
