//go:build cuda

package update_test

import _ "gomx/device/cuda"
