// Package attach holds the common parts of the files that attach kernels to operators.
//
// An operator's <stem>_cpu.go attaches kernels of tier c, its <stem>_go.go those of tier go. Both
// check in Prepare whether they serve the operands, choose a number of threads from the cost, and
// return a closure over a kernel of package device/cpu:
//
//	func init() { Sqrt.Kernel(device.KindCPU, device.TierC, attach.Unary[op.NoParams](cpu.Map{Op: cpu.Sqrt})) }
//
// They leave other operands to the reference kernel with op.ErrUnsupported.
package attach
