// Package loss defines loss operators: heads, which combine an output with the gradient of a loss,
// and losses as functions.
//
// # Heads
//
// SoftmaxOutput, LinearRegressionOutput, LogisticRegressionOutput, MAERegressionOutput and
// SVMOutput take data and a label. Their output is the prediction, which does not depend on the
// label, so a label may be missing in inference; their gradient is the gradient of the loss by
// data, independent of the gradient of the output. In a symbol the label becomes a variable:
// softmax_label for a head with the name softmax.
//
// The shape of a label is inferred from data: without the axis of classes for SoftmaxOutput and
// SVMOutput, equal to data for regressions, a vector when data has one column. A given label may
// also hold class probabilities (SoftmaxOutput, of the shape of data).
//
// Divisors of gradients differ, as in MXNet: SoftmaxOutput sums over the batch unless normalization
// is set, regressions divide by the number of outputs per sample. Usually the optimizer's
// rescale_grad divides by the batch size.
//
// # Ends
//
// MakeLoss and AsLoss (make_loss) make any expression a loss with a constant gradient; BlockGrad
// has the gradient zero; IdentityAttachKLSparseReg adds the gradient of a penalty that keeps
// activations sparse.
//
// # Functions
//
// softmax_cross_entropy, smooth_l1 and CTCLoss return a loss and are differentiated like other
// functions.
package loss
