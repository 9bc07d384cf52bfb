//go:build cuda

package main

import (
	"fmt"

	"gomx/device"
	"gomx/device/cuda"
	"gomx/device/cuda/nccl"
)

// addGPUs adds the GPUs and the libraries that were found.
func addGPUs(l *deviceList) error {
	list, err := cuda.Devices()
	if err != nil {
		return err
	}
	if len(list) == 0 {
		l.Notes = append(l.Notes, fmt.Sprint("gpu: 0 devices: ", cuda.Missing()))
	}
	for i, d := range list {
		l.Devices = append(l.Devices, deviceRow{Device: device.CUDA(i).String(), Name: d.Name,
			Memory: int64(d.Memory), Compute: fmt.Sprintf("%d.%d", d.Major, d.Minor)})
	}
	v, err := cuda.CompilerVersion()
	l.library("NVRTC", fmt.Sprint(v), err)
	l.library("cuBLAS", "found", cuda.BLAS())
	l.library("cuDNN", "found", cuda.DNN())
	version, err := nccl.Version()
	l.library("NCCL", version, err)
	for _, missing := range cuda.DNNMissing() {
		l.Notes = append(l.Notes, fmt.Sprint("cuDNN without ", missing))
	}
	return nil
}

// library adds a library, or the reason why it was not found.
func (l *deviceList) library(name, text string, err error) {
	if err != nil {
		text = err.Error()
	}
	l.Libraries = append(l.Libraries, libraryRow{name, err == nil, text})
}
