package bench

import "golang.org/x/sys/unix"

// processSeconds returns the processor time, user and system, of all threads of this process.
func processSeconds() (float64, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		return 0, err
	}
	return float64(t.Nano()) / 1e9, nil
}
