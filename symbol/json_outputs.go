package symbol

import (
	"gomx/op"
	"gomx/op/linalg"
	"gomx/op/loss"
	"gomx/op/nn"
	"gomx/op/rnn"
	"gomx/op/vision"
)

// innerOutputs are, by operator, how many outputs MXNet counts beyond those here: it keeps values
// for gradients as outputs that no file refers to, and so do operators here, but not the same ones.
var innerOutputs = map[*op.Op]int{
	vision.BilinearSampler.Op:        1,
	vision.GridGenerator.Op:          1,
	vision.SpatialTransformer.Op:     2,
	vision.DeformablePSROIPooling.Op: 1,
	loss.SparseReg.Op:                -1,
	rnn.RNN.Op:                       -1,
	nn.BatchNormReLU.Op:              1,
	nn.SyncBatchNorm.Op:              -1,
	linalg.Det.Op:                    2,
	linalg.SlogDet.Op:                2,
}

// fileOutputs returns the number of outputs that MXNet counts. The values that loops save for their
// gradients are outputs here only.
func fileOutputs(n *op.Node) int {
	switch {
	case n.IsVar():
		return 1
	case n.Op.NumGraphs() > 0:
		return n.NumVisible()
	}
	if p, ok := n.Params.(nn.PoolingParams); ok && n.Op == nn.Pooling.Op && poolsByOneDNN(p) {
		return n.NumOutputs() + 1
	}
	return n.NumOutputs() + innerOutputs[n.Op]
}

// poolsByOneDNN reports whether MXNet keeps the places of maxima for the gradient of oneDNN.
func poolsByOneDNN(p nn.PoolingParams) bool {
	switch p.Layout {
	case "None", "NCW", "NCHW", "NCDHW":
		return p.PoolType == "max" && len(p.Kernel) > 0
	}
	return false
}
