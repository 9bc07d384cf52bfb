//go:build unix && !solaris && !aix

package runs

import (
	"os"
	"syscall"
)

// lock takes the lock of a file, which is held until the file is closed.
func lock(f *os.File) error {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}
