//go:build cuda

package prim_test

import _ "gomx/device/cuda"
