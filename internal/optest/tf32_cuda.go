//go:build cuda

package optest

import "gomx/device/cuda"

// Comparisons with the reference kernels want all bits of float32.
func init() { cuda.AllowTF32(false) }
