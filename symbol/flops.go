package symbol

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/index"
	"gomx/op/nn"
	"gomx/op/prim"
)

// flops counts the operations of n on numbers, a multiplication with an addition as two. Operators that only move
// elements have none; all that are not products or windows count one for every element they make.
func flops(n *op.Node, shape func(op.Entry) dtype.Shape) int64 {
	out := shape(n.Entry(0))
	if !out.Known() {
		return 0
	}
	size := int64(out.Size())
	switch p := n.Params.(type) {
	case nn.ConvolutionParams:
		return 2*size*taps(shape(n.In[1])) + biasOf(p.NoBias, size)
	case nn.DeconvolutionParams:
		return 2*int64(shape(n.In[0]).Size())*taps(shape(n.In[1])) + biasOf(p.NoBias.Or(true), size)
	case nn.FullyConnectedParams:
		return 2*size*taps(shape(n.In[1])) + biasOf(p.NoBias, size)
	case nn.PoolingParams:
		return size * window(p, shape(n.In[0]))
	case prim.ReduceParams:
		return int64(max(shape(n.In[0]).Size(), 0))
	case prim.ConcatParams, prim.SliceChannelParams, prim.SplitV2Params, prim.SliceParams, prim.SliceAxisParams, prim.SliceLikeParams, prim.TransposeParams, prim.SwapAxisParams,
		prim.BroadcastToParams, prim.BroadcastAxisParams, prim.BroadcastLikeParams, prim.InitParams, prim.FullParams, prim.ArangeParams,
		index.EmbeddingParams, index.TakeParams:
		return 0
	case prim.DotParams:
		return 2 * size * summed(n, p, shape)
	}
	if n.Op.Identity {
		return 0
	}
	if n.Op == nn.BatchNorm.Op {
		return 2 * size
	}
	return size
}

// taps is the number of elements of a weight behind its first axis.
func taps(weight dtype.Shape) int64 {
	if !weight.Known() || len(weight) < 2 {
		return 0
	}
	return int64(weight[1:].Size())
}

func biasOf(none bool, size int64) int64 {
	if none {
		return 0
	}
	return size
}

// window is the number of elements that a result of pooling is made of.
func window(p nn.PoolingParams, in dtype.Shape) int64 {
	n := int64(1)
	if p.GlobalPool {
		if in.Known() && len(in) > 2 {
			n = int64(in[2:].Size())
		}
		return n
	}
	for _, k := range p.Kernel {
		n *= int64(k)
	}
	return n
}

// summed is the extent that a product sums over.
func summed(n *op.Node, p prim.DotParams, shape func(op.Entry) dtype.Shape) int64 {
	lhs := shape(n.In[0])
	if !lhs.Known() || len(lhs) == 0 {
		return 0
	}
	axis := len(lhs) - 1
	if p.TransposeA {
		axis = max(len(lhs)-2, 0)
		if n.Op == prim.Dot.Op {
			axis = 0
		}
	}
	return int64(lhs[axis])
}
