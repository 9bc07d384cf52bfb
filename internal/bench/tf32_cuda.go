//go:build cuda

package bench

import "gomx/device/cuda"

// allowTF32 says whether matrix products and convolutions of float32 use tensor cores.
func allowTF32(yes bool) error {
	cuda.AllowTF32(yes)
	return nil
}
