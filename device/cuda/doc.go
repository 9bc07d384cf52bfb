// Package cuda is the bridge to NVIDIA's GPUs through gorgonia.org/cu, the driver's binding. It is
// built with the cuda tag only, because a program that links the binding does not start on a
// machine without a driver:
//
//	go build -tags cuda ./cmd/gomx
//
// Without the tag the package is empty and devices of kind device.KindCUDA have no memory: asking
// for some is an error that says so. With it, Devices lists the GPUs that the driver offers.
//
// Functions may be called from any goroutine.
package cuda
