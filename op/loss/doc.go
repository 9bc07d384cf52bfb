// Package loss defines the operators that end a network: heads that combine an output with the
// gradient of a loss, and losses as functions.
//
// # Heads
//
// SoftmaxOutput, LinearRegressionOutput, LogisticRegressionOutput, MAERegressionOutput and SVMOutput
// take data and a label. Their output is the prediction, which does not depend on the label, so
// a label may be missing in inference; their gradient is that of the loss by data, whatever flows
// into the output. In a symbol the label is created by name: softmax_label for a head called softmax.
//
// The shape of a label is inferred from data: without the axis of classes for SoftmaxOutput and
// SVMOutput, equal to data for regressions, a vector when data has one column. A label that is
// given may also hold class probabilities (SoftmaxOutput, of the shape of data).
//
// What gradients are divided by differs, as it does in MXNet: SoftmaxOutput sums over the
// batch unless normalization says otherwise, regressions divide by the number of outputs per sample. The
// division by the batch size is usually left to the optimizer's rescale_grad.
//
// # Ends
//
// MakeLoss and AsLoss (make_loss) turn any expression into a loss with a constant gradient;
// BlockGrad lets no gradient through; IdentityAttachKLSparseReg adds the gradient of a penalty that
// keeps activations sparse.
//
// # Functions
//
// softmax_cross_entropy, smooth_l1 and CTCLoss compute a loss as their output and are differentiated
// as any other function.
package loss
