package conformance

import (
	"slices"

	"gomx/gluon/loss"
	nd "gomx/ndarray"
)

// lossArgs are the inputs of a loss by the names of MXNet's arguments.
type lossArgs map[string]*nd.Array

// options are the optional inputs.
func (in lossArgs) options() (list []loss.Option) {
	for _, o := range []struct {
		name string
		with func(*nd.Array) loss.Option
	}{{"sample_weight", loss.Weights}, {"pos_weight", loss.PositiveWeights},
		{"pred_lengths", loss.Lengths}, {"label_lengths", loss.LabelLengths}} {
		if a := in[o.name]; a != nil {
			list = append(list, o.with(a))
		}
	}
	return list
}

// criterion is a loss of two inputs.
type criterion interface {
	Forward(pred, label *nd.Array, opts ...loss.Option) *nd.Array
}

// lossBlock makes the loss of a spec, as a function of its inputs.
func lossBlock(s *blockSpec) (func(in lossArgs) *nd.Array, error) {
	a := s.arguments()
	weight, axis := nd.Some(arg(a, "weight", 1.0)), arg(a, "batch_axis", 0)
	var c criterion
	switch s.Class {
	case "L2Loss":
		c = loss.L2{Weight: weight, BatchAxis: axis}
	case "L1Loss":
		c = loss.L1{Weight: weight, BatchAxis: axis}
	case "HuberLoss":
		c = loss.Huber{Rho: nd.Some(arg(a, "rho", 1.0)), Weight: weight, BatchAxis: axis}
	case "HingeLoss":
		c = loss.Hinge{Margin: nd.Some(arg(a, "margin", 1.0)), Weight: weight, BatchAxis: axis}
	case "SquaredHingeLoss":
		c = loss.SquaredHinge{Margin: nd.Some(arg(a, "margin", 1.0)), Weight: weight,
			BatchAxis: axis}
	case "LogisticLoss":
		c = loss.Logistic{Binary: arg(a, "label_format", "signed") == "binary", Weight: weight,
			BatchAxis: axis}
	case "SigmoidBinaryCrossEntropyLoss", "SigmoidBCELoss":
		c = loss.SigmoidBCE{FromSigmoid: arg(a, "from_sigmoid", false), Weight: weight,
			BatchAxis: axis}
	case "SoftmaxCrossEntropyLoss", "SoftmaxCELoss":
		c = loss.SoftmaxCE{Axis: nd.Some(arg(a, "axis", -1)), Dense: !arg(a, "sparse_label", true),
			FromLogits: arg(a, "from_logits", false), Weight: weight, BatchAxis: axis}
	case "KLDivLoss":
		c = loss.KLDiv{FromScores: !arg(a, "from_logits", true), Axis: nd.Some(arg(a, "axis", -1)),
			Weight: weight, BatchAxis: axis}
	case "CTCLoss":
		c = loss.CTC{TimeFirst: arg(a, "layout", "NTC") == "TNC",
			LabelFirst: arg(a, "label_layout", "NT") == "TN", Weight: weight}
	case "PoissonNLLLoss":
		p := loss.Poisson{Linear: !arg(a, "from_logits", true), Full: arg(a, "compute_full", false),
			Weight: weight, BatchAxis: axis}
		return func(in lossArgs) *nd.Array {
			return p.Forward(in["pred"], in["target"], in.options()...)
		}, a.left(s.Class)
	case "TripletLoss":
		t := loss.Triplet{Margin: nd.Some(arg(a, "margin", 1.0)), Weight: weight, BatchAxis: axis}
		return func(in lossArgs) *nd.Array {
			return t.Forward(in["pred"], in["positive"], in["negative"])
		}, a.left(s.Class)
	case "CosineEmbeddingLoss":
		e := loss.CosineEmbedding{Margin: arg(a, "margin", 0.0), Weight: weight, BatchAxis: axis}
		return func(in lossArgs) *nd.Array {
			return e.Forward(in["input1"], in["input2"], in["label"], in.options()...)
		}, a.left(s.Class)
	case "SDMLLoss": // MXNet does not use its weight
		d := loss.SDML{Smoothing: nd.Some(arg(a, "smoothing_parameter", 0.3))}
		return func(in lossArgs) *nd.Array { return d.Forward(in["x1"], in["x2"]) }, a.left(s.Class)
	default:
		return nil, missing("loss %s", s.Class)
	}
	return func(in lossArgs) *nd.Array {
		return c.Forward(in["pred"], in["label"], in.options()...)
	}, a.left(s.Class)
}

// lossCall is how a loss is called.
type lossCall struct {
	Kind      string
	Arguments []string // the name of each input
}

// network makes the loss as a function of the inputs of a case.
func (c *lossCall) network(s *blockSpec) (func(in []*nd.Array) []*nd.Array, error) {
	f, err := lossBlock(s)
	if err != nil {
		return nil, err
	}
	names := slices.Clone(c.Arguments)
	return func(in []*nd.Array) []*nd.Array {
		named := lossArgs{}
		for i, a := range in {
			named[names[i]] = a
		}
		return []*nd.Array{f(named)}
	}, nil
}
