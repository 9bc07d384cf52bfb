//go:build cuda

package prim

import (
	"gomx/op/attach"
)

func init() {
	attach.CUDA(Softmax, softmaxCUDA(softmaxKind{sign: 1}))
	attach.CUDA(Softmin, softmaxCUDA(softmaxKind{sign: -1}))
	attach.CUDA(LogSoftmax, softmaxCUDA(softmaxKind{sign: 1, log: true}))
	attach.CUDA(softmaxGrad, softmaxGradCUDA(softmaxKind{sign: 1}))
	attach.CUDA(softminGrad, softmaxGradCUDA(softmaxKind{sign: -1}))
	attach.CUDA(logSoftmaxGrad, softmaxGradCUDA(softmaxKind{sign: 1, log: true}))
}
