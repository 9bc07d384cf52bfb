//go:build unix && !solaris && !aix

package launch

import (
	"errors"
	"os"
	"syscall"
)

// flock takes the lock of a file for as long as the file is open, unless another process has it:
// then held is true. The kernel gives the lock back when the process ends, however that happens.
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
