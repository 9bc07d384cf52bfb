//go:build cuda

package loss_test

import _ "gomx/device/cuda"
