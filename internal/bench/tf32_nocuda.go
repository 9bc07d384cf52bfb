//go:build !cuda

package bench

import "errors"

// allowTF32 returns an error: this binary cannot use tensor cores.
func allowTF32() error {
	return errors.New("bench: precision tf32: this binary was built without the tag cuda")
}
