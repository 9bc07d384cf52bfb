package loss

import nd "gomx/ndarray"

// Option is an optional input of a loss.
type Option func(*inputs)

type inputs struct {
	weights, positive    *nd.Array
	lengths, labelCounts *nd.Array
}

// Weights weighs samples: w must broadcast to the shape of the loss before it is averaged, (n, 1)
// for predictions of shape (n, m).
func Weights(w *nd.Array) Option { return func(in *inputs) { in.weights = w } }

// PositiveWeights weighs the positive labels of SigmoidBCE: w must broadcast to the shape of the
// predictions.
func PositiveWeights(w *nd.Array) Option { return func(in *inputs) { in.positive = w } }

// Lengths gives CTC the number of steps of each sequence.
func Lengths(n *nd.Array) Option { return func(in *inputs) { in.lengths = n } }

// LabelLengths gives CTC the number of labels of each sequence; without it labels end at the first
// that is -1.
func LabelLengths(n *nd.Array) Option { return func(in *inputs) { in.labelCounts = n } }

func collect(opts []Option) inputs {
	var in inputs
	for _, o := range opts {
		o(&in)
	}
	return in
}

// weigh multiplies a loss by the weights of samples, and by a factor.
func (in inputs) weigh(l *nd.Array, factor float64) *nd.Array {
	if in.weights != nil {
		l = l.Mul(in.weights)
	}
	if factor != 1 {
		l = l.MulScalar(factor)
	}
	return l
}

// perSample multiplies a loss by the weights of opts and a factor, and averages it over all axes but
// one.
func perSample(l *nd.Array, opts []Option, factor float64, batchAxis int) *nd.Array {
	l = collect(opts).weigh(l, factor)
	return nd.Mean(l, nd.ReduceParams{Axis: []int{batchAxis}, Exclude: true})
}

// like gives labels the shape of predictions.
func like(label, pred *nd.Array) *nd.Array {
	if label.Shape().Equal(pred.Shape()) {
		return label
	}
	return label.ReshapeLike(pred)
}

// softplus computes log(1 + exp(x)).
func softplus(x *nd.Array) *nd.Array {
	return nd.Activation(x, nd.ActivationParams{ActType: "softrelu"})
}

// logits are log-probabilities: pred itself, or its logarithmic softmax.
func logits(pred *nd.Array, ready bool, axis int) *nd.Array {
	if ready {
		return pred
	}
	return nd.LogSoftmax(pred, nd.SoftmaxParams{Axis: nd.Some(axis)})
}
