// Package null makes null devices available: devices with memory of their own numbers and usage, on which no
// operator needs to have a kernel. Programs and tests that are about scheduling, placement or memory run on them
// anywhere, as if there were several accelerators.
//
// Importing the package registers the kind:
//
//	import _ "gomx/device/null"
//
//	b, err := device.Alloc(device.Null(2), 1<<20, device.PurposeArray)
//
// There are Devices of them. Their memory is the host's, so values can be looked at, but it is accounted per device and a
// limit set by device.Pool.SetLimit makes a small device of it.
package null
