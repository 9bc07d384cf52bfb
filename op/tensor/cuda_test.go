//go:build cuda

package tensor_test

import _ "gomx/device/cuda"
