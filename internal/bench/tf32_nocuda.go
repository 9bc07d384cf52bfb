//go:build !cuda

package bench

import "errors"

// allowTF32 returns an error if tensor cores are wanted, which this binary cannot use.
func allowTF32(yes bool) error {
	if yes {
		return errors.New("bench: precision tf32: this binary was built without the tag cuda")
	}
	return nil
}
