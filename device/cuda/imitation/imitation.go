//go:build cuda

package imitation

/*
#cgo LDFLAGS: -ldl -lpthread
#include <stdlib.h>
#include "imitation.h"
*/
import "C"

import "unsafe"

// Present reports whether the driver of this process is the imitation.
func Present() bool { return C.gx_present() != 0 }

// Strict reports whether this process was started with a seed, so that kernels are checked.
func Strict() bool { return Present() && C.gx_strict() != 0 }

// Seed sets the seed of all random choices; 0 makes the imitation lenient.
func Seed(n uint64) {
	if Present() {
		C.gx_seed(C.ulonglong(n))
	}
}

// Collect lets violations be collected for [Reports], until stop is called.
func Collect() (stop func()) {
	if !Present() {
		return func() {}
	}
	C.gx_collect(1)
	return func() { C.gx_collect(0) }
}

// Reports returns the collected violations, one a line, and forgets them.
func Reports() string {
	if !Present() {
		return ""
	}
	buf := make([]byte, 1<<17)
	n := C.gx_reports((*C.char)(unsafe.Pointer(&buf[0])), C.size_t(len(buf)))
	return string(buf[:n])
}

// Fail lets the nth call from now on of a function of the driver, such as cuLaunchKernel, return an
// error code. The call has no effect.
func Fail(call string, nth, code int) {
	if Present() {
		C.gx_fail(name(call), C.long(nth), C.int(code))
	}
}

// Break makes the devices fail: kernels no longer run, and every later call returns the code.
// Break(0) ends that.
func Break(code int) {
	if Present() {
		C.gx_break(C.int(code))
	}
}

// Calls returns the number of calls of a function of the driver so far, 0 without the imitation.
func Calls(call string) int {
	if !Present() {
		return 0
	}
	return int(C.gx_calls(name(call)))
}

// BareWait waits for an event of the driver on a thread without a context, and returns the driver's
// code.
func BareWait(event unsafe.Pointer) int {
	if !Present() {
		return 0
	}
	return int(C.gx_bare_wait(event))
}

// DecodesPTX reports whether a text is PTX that the imitation's interpreter knows.
func DecodesPTX(text string) bool {
	if !Present() {
		return false
	}
	s := C.CString(text)
	defer C.free(unsafe.Pointer(s))
	return C.gx_decode(s) != 0
}

// names holds the C strings of the names of calls, which are few.
var names = map[string]*C.char{}

func name(call string) *C.char {
	if names[call] == nil {
		names[call] = C.CString(call)
	}
	return names[call]
}
