package null

import "gomx/device"

// Devices is how many null devices there are.
const Devices = 8

func init() { device.Register(device.KindNull, device.Host(Devices)) }
