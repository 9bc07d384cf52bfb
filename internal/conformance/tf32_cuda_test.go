//go:build cuda

package conformance_test

import "gomx/device/cuda"

// Golden cases want all bits of float32.
func init() { cuda.AllowTF32(false) }
