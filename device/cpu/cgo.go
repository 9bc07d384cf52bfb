//go:build cgo

package cpu

/*
#cgo CFLAGS: -O3 -std=gnu11 -fopenmp -Wall
#cgo LDFLAGS: -fopenmp -lm
#cgo !nodnn LDFLAGS: -ldnnl
#cgo nodnn CFLAGS: -I${SRCDIR}/nodnn
*/
import "C"

import "fmt"

// HasC reports whether this binary has the kernels of tier c.
const HasC = true

var statusNames = [...]string{1: "out of memory", 2: "invalid arguments", 3: "not implemented",
	4: "last implementation reached",
	5: "run-time error", 6: "not required"}

// status returns an error for a status code of oneDNN, nil for success. The text names the failed
// operation, which the caller gives, and the code.
func status(code C.int, what string) error {
	if code == 0 {
		return nil
	}
	name := "unknown status"
	if int(code) < len(statusNames) {
		name = statusNames[code]
	}
	return fmt.Errorf("cpu: %s: %s (%d)", what, name, int(code))
}
