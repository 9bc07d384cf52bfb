//go:build !linux

package bench

import (
	"fmt"
	"runtime"
)

// processSeconds is an error: processor time is measured on Linux only.
func processSeconds() (float64, error) {
	return 0, fmt.Errorf("bench: processor time is not measured on %s, only on linux", runtime.GOOS)
}
