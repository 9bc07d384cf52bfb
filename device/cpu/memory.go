package cpu

import "gomx/device"

func init() { device.Register(device.KindCPU, device.Host(1)) }
