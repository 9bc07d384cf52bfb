package loss

import nd "gomx/ndarray"

// Triplet is max(0, |pred - positive|² - |pred - negative|² + Margin).
type Triplet struct {
	Margin    nd.Opt[float64] // 1
	Weight    nd.Opt[float64] // 1
	BatchAxis int
}

// Forward returns the loss of each sample.
func (l Triplet) Forward(pred, positive, negative *nd.Array) *nd.Array {
	d := like(positive, pred).Sub(pred).Square().Sub(like(negative, pred).Sub(pred).Square())
	d = nd.Sum(d, nd.ReduceParams{Axis: []int{l.BatchAxis}, Exclude: true})
	return inputs{}.weigh(d.AddScalar(l.Margin.Or(1)).Relu(), l.Weight.Or(1))
}

// CosineEmbedding is 1 - cos(a, b) for pairs whose label is 1, and max(0, cos(a, b) - Margin) for
// those whose label is -1.
type CosineEmbedding struct {
	Margin    float64
	Weight    nd.Opt[float64] // 1
	BatchAxis int             // without effect, as in MXNet: the first axis is the batch
}

// Forward returns the loss of each pair, of shape (n, 1).
func (l CosineEmbedding) Forward(a, b, label *nd.Array, opts ...Option) *nd.Array {
	a = like(a, b)
	cos := cosine(a, b)
	label = like(label, cos)
	same := nd.EqualScalar(label, nd.ScalarParams{Scalar: 1})
	other := nd.EqualScalar(label, nd.ScalarParams{Scalar: -1})
	d := cos.RSubScalar(1).Mul(same).Add(other.Mul(cos.SubScalar(l.Margin)).MaximumScalar(0))
	return collect(opts).weigh(d, l.Weight.Or(1))
}

// cosine returns the cosine of the angles between rows, of shape (n, 1).
func cosine(a, b *nd.Array) *nd.Array {
	norm := func(x *nd.Array) *nd.Array {
		return nd.Norm(x, nd.NormParams{Axis: []int{-1}}).Reshape(-1, 1)
	}
	dot := nd.Sum(a.Mul(b), nd.ReduceParams{Axis: []int{-1}}).Reshape(-1, 1)
	return dot.Div(norm(a).Mul(norm(b)).MaximumScalar(tiny))
}

// SDML is the batchwise smoothed deep metric learning loss of Bonadiman et al., Large Scale
// Question Paraphrase Retrieval with Smoothed Deep Metric Learning: row i of one input belongs to
// row i of the other, the other rows of the batch do not.
type SDML struct {
	Smoothing nd.Opt[float64] // share of the label that the other rows get; 0.3
}

// Forward returns the loss of each row.
func (l SDML) Forward(a, b *nd.Array) *nd.Array {
	n, width := a.Shape()[0], a.Shape()[1]
	left := a.ExpandDims(1).BroadcastTo(n, n, width)
	right := b.ExpandDims(0).BroadcastTo(n, n, width)
	d := nd.Sum(left.Sub(right).Square(), nd.ReduceParams{Axis: []int{2}})
	s := l.Smoothing.Or(0.3)
	rest := s / float64(max(1, n-1))
	gold := nd.Eye(nd.EyeParams{N: n}, nd.On(a.Device()), nd.As(a.DType()))
	label := gold.MulScalar(1 - s - rest).AddScalar(rest)
	p := nd.LogSoftmax(d.Neg(), nd.SoftmaxParams{Axis: nd.Some(1)})
	return KLDiv{}.Forward(p, label)
}
