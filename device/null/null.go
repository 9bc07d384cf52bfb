package null

import "gomx/device"

// Devices is the number of null devices.
const Devices = 8

func init() { device.Register(device.KindNull, device.Host(Devices)) }
