//go:build !cgo

package narrow

import "gomx/device"

// instructions names the instructions for bfloat16 that kernels use: kernels in Go use none.
func instructions() string { return "" }

func probe() map[device.Product]float64 { return nil }
