package graph

import (
	"strings"
	"sync"

	"gomx/op"
	"gomx/op/contrib"
	"gomx/op/nn"
	"gomx/op/prim"
	"gomx/op/rnn"
)

// class says in which type mixed precision lets an operator compute.
type class uint8

const (
	computesEither class = iota // in the type of its inputs, the wider of two
	computesNarrow
	computesWide
)

// classOf returns the class of a node.
func classOf(n *op.Node) class {
	switch n.Op {
	case nn.Convolution.Op, nn.Deconvolution.Op, nn.FullyConnected.Op, rnn.RNN.Op, prim.Dot.Op, prim.BatchDot.Op,
		contrib.SelfAttQK.Op, contrib.SelfAttValAtt.Op, contrib.EncDecQK.Op, contrib.EncDecValAtt.Op:
		return computesNarrow
	case nn.Activation.Op:
		if n.Params.(nn.ActivationParams).ActType == "softrelu" {
			return computesWide
		}
	case nn.LeakyReLU.Op:
		if t := n.Params.(nn.LeakyReLUParams).ActType; t == "elu" || t == "selu" {
			return computesWide
		}
	}
	if wideOps()[n.Op.Name] {
		return computesWide
	}
	return computesEither
}

// wideOps names the operators that mixed precision lets compute in float32 only, because they leave the range of narrow types or add up many small
// numbers. It is the list of MXNet 1.9.1's contrib.amp, as far as its operators exist here.
var wideOps = sync.OnceValue(func() map[string]bool {
	set := map[string]bool{}
	for name := range strings.FieldsSeq(`
		arccos arcsin arctanh cosh sinh tan erfinv exp expm1 log log10 log2 log1p
		broadcast_power _power _power_scalar _rpower_scalar square reciprocal _rdiv_scalar rsqrt rcbrt
		_hypot _hypot_scalar broadcast_hypot gamma gammaln
		sum nansum prod nanprod mean norm moments khatri_rao argsort topk
		InstanceNorm LayerNorm GroupNorm L2Normalization LRN softmax softmin log_softmax SoftmaxActivation
		SoftmaxOutput LinearRegressionOutput LogisticRegressionOutput MAERegressionOutput SVMOutput MakeLoss make_loss
		softmax_cross_entropy smooth_l1 CTCLoss IdentityAttachKLSparseReg
		_linalg_gelqf _linalg_gemm _linalg_gemm2 _linalg_potrf _linalg_potri _linalg_sumlogdiag _linalg_syevd _linalg_syrk
		_linalg_trmm _linalg_trsm _linalg_makediag _linalg_extractdiag _linalg_maketrian _linalg_extracttrian _linalg_inverse
		_linalg_det _linalg_slogdet
		_contrib_MultiBoxPrior _contrib_MultiBoxTarget _contrib_MultiBoxDetection`) {
		set[name] = true
	}
	return set
})
