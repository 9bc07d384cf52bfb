//go:build unix && !solaris && !aix

package launch

import (
	"errors"
	"os"
	"syscall"
)

// flock locks a file while it is open. If another process holds the lock, held is true. The kernel
// releases the lock when the process ends in any way.
func flock(f *os.File, shared bool) (held bool, err error) {
	how := syscall.LOCK_EX
	if shared {
		how = syscall.LOCK_SH
	}
	for {
		err = syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EWOULDBLOCK):
			return true, nil
		}
		return false, err
	}
}
