//go:build cuda

package index_test

import _ "gomx/device/cuda"
