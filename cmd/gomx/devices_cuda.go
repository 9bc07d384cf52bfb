//go:build cuda

package main

import (
	"fmt"
	"io"

	"gomx/device"
	"gomx/device/cuda"
)

// listGPUs prints the GPUs and the libraries that were found.
func listGPUs(w io.Writer) error {
	list, err := cuda.Devices()
	if err != nil {
		return err
	}
	if len(list) == 0 {
		fmt.Fprintln(w, "gpu: 0 devices:", cuda.Missing())
	}
	for i, d := range list {
		fmt.Fprintf(w, "%v: %s, %d MiB, compute capability %d.%d\n", device.CUDA(i), d.Name,
			d.Memory>>20, d.Major, d.Minor)
	}
	if v, err := cuda.CompilerVersion(); err != nil {
		fmt.Fprintln(w, "NVRTC:", err)
	} else {
		fmt.Fprintln(w, "NVRTC:", v)
	}
	if err := cuda.BLAS(); err != nil {
		fmt.Fprintln(w, "cuBLAS:", err)
	} else {
		fmt.Fprintln(w, "cuBLAS: found")
	}
	if err := cuda.DNN(); err != nil {
		fmt.Fprintln(w, "cuDNN:", err)
	} else {
		fmt.Fprintln(w, "cuDNN: found")
	}
	for _, missing := range cuda.DNNMissing() {
		fmt.Fprintln(w, "cuDNN without", missing)
	}
	return nil
}
