//go:build !cuda

package main

import (
	"fmt"
	"io"
)

// listGPUs prints the GPUs and the libraries that were found.
func listGPUs(w io.Writer) error {
	_, err := fmt.Fprintln(w, "gpu: this binary was built without the cuda tag")
	return err
}
