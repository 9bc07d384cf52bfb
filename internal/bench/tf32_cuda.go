//go:build cuda

package bench

import "gomx/device/cuda"

// allowTF32 lets matrix products and convolutions of float32 use tensor cores.
func allowTF32() error {
	cuda.AllowTF32(true)
	return nil
}
