// Package null makes null devices available: devices with memory of their own numbers and usage, on which no
// operator needs to have a kernel. Programs and tests that are about scheduling, placement or memory run on them
// anywhere, as if there were several accelerators.
//
// Importing the package registers the kind:
//
//	import _ "gomx/device/null"
//
//	b, err := device.Alloc(device.Null(2), 1<<20, device.PurposeArray)
package null

import "gomx/device"

// Devices is how many null devices there are.
const Devices = 8

func init() { device.Register(device.KindNull, device.Host(Devices)) }
