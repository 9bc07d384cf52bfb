package conformance

// Devices and operators register themselves.
import (
	_ "gomx/device/cpu"
	_ "gomx/op/loss"
	_ "gomx/op/nn"
	_ "gomx/op/prim"
	_ "gomx/op/update"
)
