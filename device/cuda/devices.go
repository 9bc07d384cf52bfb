//go:build cuda

package cuda

import (
	"fmt"

	"gorgonia.org/cu"
)

// Info describes one GPU.
type Info struct {
	Name         string
	Memory       int64 // bytes
	Major, Minor int   // compute capability
	Processors   int   // multiprocessors
}

// Devices lists the GPUs of this machine in the driver's order; the index is the number for
// device.CUDA.
func Devices() ([]Info, error) {
	n, err := cu.NumDevices()
	if err != nil {
		return nil, fmt.Errorf("cuda: counting devices: %w", err)
	}
	list := make([]Info, n)
	for i := range list {
		if list[i], err = describe(i); err != nil {
			return nil, fmt.Errorf("cuda: device %d of %d: %w", i, n, err)
		}
	}
	return list, nil
}

// describe returns the driver's information about device i.
func describe(i int) (info Info, err error) {
	d, err := cu.GetDevice(i)
	if err != nil {
		return info, err
	}
	if info.Name, err = d.Name(); err != nil {
		return info, err
	}
	if info.Memory, err = d.TotalMem(); err != nil {
		return info, err
	}
	if info.Major, err = d.Attribute(cu.ComputeCapabilityMajor); err != nil {
		return info, err
	}
	if info.Minor, err = d.Attribute(cu.ComputeCapabilityMinor); err != nil {
		return info, err
	}
	info.Processors, err = d.Attribute(cu.MultiprocessorCount)
	return info, err
}

// HasTensorCores reports whether device id multiplies matrices of 16-bit numbers in units of their
// own, as compute capabilities from 7.0 on do.
func HasTensorCores(id int) bool {
	g, err := open(id)
	return err == nil && g.info.Major >= 7
}
