//go:build cgo && !nodnn

package cpu

/*
#include <dnnl.h>
*/
import "C"

import "fmt"

// Library names the library behind convolutions and matrix products, with its version.
func Library() string {
	v := C.dnnl_version()
	return fmt.Sprintf("oneDNN %d.%d.%d", v.major, v.minor, v.patch)
}
