package loss

import (
	"math"

	nd "gomx/ndarray"
)

// L2 is half the squared difference: weight/2·(label - pred)².
type L2 struct {
	Weight    nd.Opt[float64] // 1
	BatchAxis int
}

// Forward returns the loss of each sample.
func (l L2) Forward(pred, label *nd.Array, opts ...Option) *nd.Array {
	d := like(label, pred).Sub(pred).Square()
	return perSample(d, opts, l.Weight.Or(1)/2, l.BatchAxis)
}

// L1 is the absolute difference: weight·|label - pred|.
type L1 struct {
	Weight    nd.Opt[float64] // 1
	BatchAxis int
}

// Forward returns the loss of each sample.
func (l L1) Forward(pred, label *nd.Array, opts ...Option) *nd.Array {
	d := like(label, pred).Sub(pred).Abs()
	return perSample(d, opts, l.Weight.Or(1), l.BatchAxis)
}

// Huber is L1 where the difference is above Rho, less Rho/2, and a parabola below.
type Huber struct {
	Rho       nd.Opt[float64] // 1
	Weight    nd.Opt[float64] // 1
	BatchAxis int
}

// Forward returns the loss of each sample.
func (l Huber) Forward(pred, label *nd.Array, opts ...Option) *nd.Array {
	rho := l.Rho.Or(1)
	d := like(label, pred).Sub(pred).Abs()
	far := nd.GreaterScalar(d, nd.ScalarParams{Scalar: rho})
	d = nd.Where(far, d.SubScalar(rho/2), d.Square().MulScalar(0.5/rho))
	return perSample(d, opts, l.Weight.Or(1), l.BatchAxis)
}

// Poisson is the negative log-likelihood of a Poisson distribution whose mean the network predicts.
//
// MXNet: gluon.loss.PoissonNLLLoss.
type Poisson struct {
	Linear    bool            // the prediction is the mean, not its logarithm
	Full      bool            // add Stirling's approximation of the factorial for labels above 1
	Eps       nd.Opt[float64] // added to the mean before its logarithm; 1e-8
	Weight    nd.Opt[float64] // 1
	BatchAxis int             // without effect: the average over everything is returned
}

// Forward returns the average over all samples, of shape (1).
func (l Poisson) Forward(pred, label *nd.Array, opts ...Option) *nd.Array {
	label = like(label, pred)
	d := pred.Exp().Sub(label.Mul(pred))
	if l.Linear {
		d = pred.Sub(label.Mul(pred.AddScalar(l.Eps.Or(1e-8)).Log()))
	}
	if l.Full {
		s := label.Mul(label.Log()).Sub(label).Add(
			label.MulScalar(2 * math.Pi).Log().MulScalar(0.5))
		d = d.Add(s.Mul(nd.GreaterScalar(label, nd.ScalarParams{Scalar: 1})))
	}
	return nd.Mean(collect(opts).weigh(d, l.Weight.Or(1)), nd.ReduceParams{})
}
