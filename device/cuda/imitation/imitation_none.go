//go:build !cuda

package imitation

import "unsafe"

// Present reports whether the driver of this process is the imitation.
func Present() bool { return false }

// Strict reports whether this process was started with a seed, so that kernels are checked.
func Strict() bool { return false }

// Seed sets the seed of all random choices; 0 makes the imitation lenient.
func Seed(uint64) {}

// Collect lets violations be collected for [Reports], until stop is called.
func Collect() (stop func()) { return func() {} }

// Reports returns the collected violations, one a line, and forgets them.
func Reports() string { return "" }

// Fail lets the nth call from now on of a function of the driver return an error code.
func Fail(string, int, int) {}

// Break makes the devices fail; Break(0) ends that.
func Break(int) {}

// Calls returns the number of calls of a function of the driver so far, 0 without the imitation.
func Calls(string) int { return 0 }

// DecodesPTX reports whether a text is PTX that the imitation's interpreter knows.
func DecodesPTX(string) bool { return false }

// BareWait waits for an event of the driver on a thread without a context, and returns the driver's
// code.
func BareWait(unsafe.Pointer) int { return 0 }
