//go:build cgo

package cpu

/*
#cgo CFLAGS: -O3 -std=gnu11 -fopenmp -Wall
#cgo LDFLAGS: -fopenmp -ldnnl -lm

#include <dnnl.h>
*/
import "C"

import "fmt"

// HasC reports whether this binary has the kernels of tier c.
const HasC = true

// Library names the library behind convolutions and matrix products, with its version.
func Library() string {
	v := C.dnnl_version()
	return fmt.Sprintf("oneDNN %d.%d.%d", v.major, v.minor, v.patch)
}

var statusNames = [...]string{1: "out of memory", 2: "invalid arguments", 3: "not implemented", 4: "last implementation reached",
	5: "run-time error", 6: "not required"}

// status turns a oneDNN status into an error that says what failed.
func status(code C.int, what string) error {
	if code == 0 {
		return nil
	}
	name := "unknown status"
	if int(code) < len(statusNames) {
		name = statusNames[code]
	}
	return fmt.Errorf("cpu: %s: oneDNN reports %s (%d)", what, name, int(code))
}
