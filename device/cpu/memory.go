package cpu

import "gomx/device"

// Numbers is how many devices of the kind cpu there are: as in MXNet, cpu(0) to cpu(15) are all the
// same processor, but memory on one is not memory on another. Programs for several devices can be
// tried on them.
const Numbers = 16

func init() { device.Register(device.KindCPU, device.Host(Numbers)) }
