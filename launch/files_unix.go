//go:build unix && !solaris && !aix

package launch

import "syscall"

// openFiles returns the number of files that this process may open. The Go runtime has already
// raised the limit to its maximum.
func openFiles() (n uint64, ok bool) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, false
	}
	return uint64(limit.Cur), true
}
