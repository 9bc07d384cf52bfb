//go:build cuda

package random_test

import _ "gomx/device/cuda"
