//go:build cuda

package joint

import _ "gomx/device/cuda/nccl" // the means of GPUs
