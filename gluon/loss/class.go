package loss

import nd "gomx/ndarray"

// SoftmaxCE is the cross entropy of classes: minus the logarithm of the probability that the
// softmax of the prediction gives to the label.
//
// MXNet: gluon.loss.SoftmaxCrossEntropyLoss.
type SoftmaxCE struct {
	Axis       nd.Opt[int]     // of the classes; -1
	Dense      bool            // labels are probabilities, of the shape of the prediction
	FromLogits bool            // the prediction is logarithms of probabilities
	Weight     nd.Opt[float64] // 1
	BatchAxis  int
}

// Forward returns the loss of each sample.
func (l SoftmaxCE) Forward(pred, label *nd.Array, opts ...Option) *nd.Array {
	axis := l.Axis.Or(-1)
	p := logits(pred, l.FromLogits, axis)
	var d *nd.Array
	if l.Dense {
		d = nd.Sum(p.Mul(like(label, p)), nd.ReduceParams{Axis: []int{axis}, KeepDims: true})
	} else {
		d = nd.Pick(p, label, nd.PickParams{Axis: nd.Some(axis), KeepDims: true})
	}
	return perSample(d.Neg(), opts, l.Weight.Or(1), l.BatchAxis)
}

// SigmoidBCE is the cross entropy of labels that are 0 or 1, each on its own.
//
// MXNet: gluon.loss.SigmoidBinaryCrossEntropyLoss.
type SigmoidBCE struct {
	FromSigmoid bool            // the prediction is probabilities
	Weight      nd.Opt[float64] // 1
	BatchAxis   int
}

// Forward returns the loss of each sample.
func (l SigmoidBCE) Forward(pred, label *nd.Array, opts ...Option) *nd.Array {
	positive := collect(opts).positive
	label = like(label, pred)
	d := bceOfLogits(pred, label, positive)
	if l.FromSigmoid {
		d = bceOfProbabilities(pred, label, positive)
	}
	return perSample(d, opts, l.Weight.Or(1), l.BatchAxis)
}

// bceOfLogits computes max(x, 0) - x·y + log(1 + exp(-|x|)), which does not overflow.
func bceOfLogits(pred, label, positive *nd.Array) *nd.Array {
	tail := softplus(pred.Abs().Neg())
	if positive == nil {
		return pred.Relu().Sub(pred.Mul(label)).Add(tail)
	}
	w := positive.SubScalar(1).Mul(label).AddScalar(1)
	return pred.Sub(pred.Mul(label)).Add(w.Mul(tail.Add(pred.Neg().Relu())))
}

// tiny keeps logarithms of probabilities finite.
const tiny = 1e-12

func bceOfProbabilities(pred, label, positive *nd.Array) *nd.Array {
	yes := pred.AddScalar(tiny).Log().Mul(label)
	if positive != nil {
		yes = yes.Mul(positive)
	}
	no := pred.RSubScalar(1).AddScalar(tiny).Log().Mul(label.RSubScalar(1))
	return yes.Add(no).Neg()
}

// KLDiv is the Kullback-Leibler divergence of the prediction from the label, a distribution.
//
// MXNet: gluon.loss.KLDivLoss.
type KLDiv struct {
	FromScores bool            // the prediction is scores, not logarithms of probabilities
	Axis       nd.Opt[int]     // of the classes; -1
	Weight     nd.Opt[float64] // 1
	BatchAxis  int
}

// Forward returns the loss of each sample: the sum over its elements.
func (l KLDiv) Forward(pred, label *nd.Array, opts ...Option) *nd.Array {
	p := logits(pred, !l.FromScores, l.Axis.Or(-1))
	d := label.Mul(label.AddScalar(tiny).Log().Sub(p))
	d = collect(opts).weigh(d, l.Weight.Or(1))
	return nd.Sum(d, nd.ReduceParams{Axis: []int{l.BatchAxis}, Exclude: true})
}

// Hinge is max(0, Margin - pred·label) for labels -1 and 1.
type Hinge struct {
	Margin    nd.Opt[float64] // 1
	Weight    nd.Opt[float64] // 1
	BatchAxis int
}

// Forward returns the loss of each sample.
func (l Hinge) Forward(pred, label *nd.Array, opts ...Option) *nd.Array {
	d := pred.Mul(like(label, pred)).RSubScalar(l.Margin.Or(1)).Relu()
	return perSample(d, opts, l.Weight.Or(1), l.BatchAxis)
}

// SquaredHinge is max(0, Margin - pred·label)² for labels -1 and 1.
type SquaredHinge struct {
	Margin    nd.Opt[float64] // 1
	Weight    nd.Opt[float64] // 1
	BatchAxis int
}

// Forward returns the loss of each sample.
func (l SquaredHinge) Forward(pred, label *nd.Array, opts ...Option) *nd.Array {
	d := pred.Mul(like(label, pred)).RSubScalar(l.Margin.Or(1)).Relu().Square()
	return perSample(d, opts, l.Weight.Or(1), l.BatchAxis)
}

// Logistic is log(1 + exp(-pred·label)) for labels -1 and 1.
type Logistic struct {
	Binary    bool            // labels are 0 and 1
	Weight    nd.Opt[float64] // 1
	BatchAxis int
}

// Forward returns the loss of each sample.
func (l Logistic) Forward(pred, label *nd.Array, opts ...Option) *nd.Array {
	label = like(label, pred)
	if !l.Binary {
		label = label.AddScalar(1).DivScalar(2)
	}
	d := bceOfLogits(pred, label, nil)
	return perSample(d, opts, l.Weight.Or(1), l.BatchAxis)
}
