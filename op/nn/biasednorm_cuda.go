//go:build cuda

package nn

import "gomx/op/attach"

func init() { attach.CUDA(BiasedBatchNorm, batchNormCUDA) }
