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

// hugePages returns an error: pages are counted on Linux only.
func hugePages(bool) error {
	return fmt.Errorf("bench: counting pages on %s, want linux", runtime.GOOS)
}
