package bench

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// processSeconds returns the processor time, user and system, of all threads of this process.
func processSeconds() (float64, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		return 0, err
	}
	return float64(t.Nano()) / 1e9, nil
}

// hugePages allows this process huge pages, or forbids them for memory that it maps from now on.
func hugePages(on bool) error {
	forbidden := uintptr(1)
	if on {
		forbidden = 0
	}
	if err := unix.Prctl(unix.PR_SET_THP_DISABLE, forbidden, 0, 0, 0); err != nil {
		return fmt.Errorf("bench: setting huge pages: %w", err)
	}
	return nil
}
