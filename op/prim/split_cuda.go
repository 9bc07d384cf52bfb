//go:build cuda

package prim

import (
	"gomx/op/attach"
)

func init() {
	attach.CUDA(SliceChannel, splitCUDA(SliceChannelParams.cut))
	attach.CUDA(SplitV2, splitCUDA(SplitV2Params.cut))
	attach.CUDA(joinChannel, joinCUDA(SliceChannelParams.cut))
	attach.CUDA(joinV2, joinCUDA(SplitV2Params.cut))
}
