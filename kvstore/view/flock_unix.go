//go:build unix && !solaris && !aix

package view

import (
	"errors"
	"os"
	"syscall"
)

// flock locks a file while it is open. If another process holds the lock, held is true. The kernel
// releases the lock when the process ends in any way.
func flock(f *os.File) (held bool, err error) {
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EWOULDBLOCK):
			return true, nil
		}
		return false, err
	}
}
