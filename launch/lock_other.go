//go:build !unix || solaris || aix

package launch

import (
	"errors"
	"os"
)

// flock takes no lock: this system has none of the kind.
func flock(*os.File, bool) (held bool, err error) { return false, errors.ErrUnsupported }
