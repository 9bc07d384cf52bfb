// Package attach holds what the files that attach faster CPU kernels to operators share.
//
// An operator's <stem>_cpu.go attaches kernels of tier c, its <stem>_go.go those of tier go. Both
// check in Prepare whether they serve the operands, choose a number of threads from the cost, and
// return a closure over what package device/cpu prepared:
//
//	func init() { Sqrt.Kernel(device.KindCPU, device.TierC, attach.Unary[op.NoParams](cpu.Map{Op: cpu.Sqrt})) }
//
// What they do not serve they leave to the reference kernel with op.ErrUnsupported.
package attach
