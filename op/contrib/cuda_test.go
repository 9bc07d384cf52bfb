//go:build cuda

package contrib_test

import _ "gomx/device/cuda"
