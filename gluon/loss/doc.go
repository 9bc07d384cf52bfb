// Package loss holds the loss functions of networks. Each is a struct whose zero value has MXNet's
// defaults, and computes a loss per sample:
//
//	criterion := loss.SoftmaxCE{}
//	l := criterion.Forward(net.Forward(tape.Watch(x)), label)   // shape (batch)
//	l.Backward()                                                // sums over the batch
//
// A loss of predictions of more axes than one is the average over the axes of a sample. [Weights]
// weighs samples, or their elements; the fields Weight and BatchAxis hold for all losses that have
// them. Poisson returns the average over everything, KLDiv and Triplet the sum over the axes of a
// sample, as MXNet's do.
//
// # Which loss
//
//   - Classes: [SoftmaxCE], [SigmoidBCE], [KLDiv], [Hinge], [SquaredHinge], [Logistic]
//   - Numbers: [L2], [L1], [Huber], [Poisson]
//   - Sequences: [CTC]
//   - Distances: [Triplet], [CosineEmbedding], [SDML]
//
// The losses equal MXNet's gluon.loss.
package loss
