//go:build cuda

package vision

import (
	"gomx/op/attach"
)

func init() {
	attach.CUDA(Proposal, proposeCUDA)
	attach.CUDA(MultiProposal, proposeCUDA)
}
