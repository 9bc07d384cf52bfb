//go:build cuda

package nn_test

import _ "gomx/device/cuda"
