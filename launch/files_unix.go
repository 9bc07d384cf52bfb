//go:build unix && !solaris && !aix

package launch

import "syscall"

// openFiles returns how many files this process may have open. Go has raised the limit as far as it
// may.
func openFiles() (n uint64, ok bool) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, false
	}
	return uint64(limit.Cur), true
}
