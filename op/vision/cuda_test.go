//go:build cuda

package vision_test

import _ "gomx/device/cuda"
