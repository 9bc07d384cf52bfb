package loss

import nd "gomx/ndarray"

// CTC is the connectionist temporal classification loss of Graves et al. for sequences of labels
// whose places are not known. The last class is the blank; labels count from 0, and -1 fills up.
//
// MXNet: gluon.loss.CTCLoss.
type CTC struct {
	TimeFirst  bool            // predictions are (steps, n, classes), otherwise (n, steps, classes)
	LabelFirst bool            // labels have shape (labels, n), otherwise (n, labels)
	Weight     nd.Opt[float64] // 1
}

// Forward returns the loss of each sequence.
func (l CTC) Forward(pred, label *nd.Array, opts ...Option) *nd.Array {
	in := collect(opts)
	if !l.TimeFirst {
		pred = pred.SwapAxes(0, 1)
	}
	if l.LabelFirst {
		label = label.SwapAxes(0, 1)
	}
	p := nd.CTCLossParams{BlankLabel: "last", UseDataLengths: in.lengths != nil,
		UseLabelLengths: in.labelCounts != nil}
	var with []nd.Input
	if in.lengths != nil {
		with = append(with, nd.With("data_lengths", in.lengths))
	}
	if in.labelCounts != nil {
		with = append(with, nd.With("label_lengths", in.labelCounts))
	}
	return in.weigh(nd.CTCLoss(pred, label, p, with...), l.Weight.Or(1))
}
