//go:build !unix || solaris || aix

package view

import (
	"errors"
	"os"
)

// flock takes no lock: this system has no locks that end with their process.
func flock(*os.File) (held bool, err error) { return false, errors.ErrUnsupported }
