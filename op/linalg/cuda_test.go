//go:build cuda

package linalg_test

import _ "gomx/device/cuda"
