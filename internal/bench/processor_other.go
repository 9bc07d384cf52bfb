//go:build !linux

package bench

import (
	"fmt"
	"runtime"
)

// processSeconds returns an error: processor time is measured on Linux only.
func processSeconds() (float64, error) {
	return 0, fmt.Errorf("bench: processor time on %s, want linux", runtime.GOOS)
}
