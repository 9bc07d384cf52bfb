// Package nn defines the layers of neural networks as operators: fully connected, convolution,
// pooling, normalization, activation and dropout layers.
//
// Names, attributes, shapes and semantics agree with MXNet 1.9.1. Each operator has a handle
// (nn.Convolution), a parameter struct (nn.ConvolutionParams) and, where its gradient is more than
// a composition of others, a hidden backward operator (nn.ConvolutionGrad) whose outputs are the
// gradients of the forward operator's inputs; those that nobody wants are not computed.
//
// # Shapes
//
// Images have shape (n, c, [d,] [h,] w): batch, channels, then one to three spatial axes. Inference
// works from any operand to any other as far as the mathematics allows: a convolution finds
// the shapes of weight and bias from data, the batch size of data from the output, and, where its
// window moves by one, the extents of data from the extents of the output.
//
// # Windows
//
// Convolution, Deconvolution and Pooling slide a window over the spatial axes. One type does the
// arithmetic for all of them: it names, for an element of the window, the rows of positions where
// this element lies inside the data. A convolution is then three loops over rows of products
// (forward, gradient of data, gradient of weight), and a deconvolution is the same three with both
// sides exchanged.
//
// # Statistics
//
// Normalizing operators return the mean and the inverse deviation that they used as further
// outputs. Their gradients read these instead of computing them again, and so need not know
// whether batch or moving statistics were used. BatchNorm moves its auxiliary states in the forward
// pass, in training only.
//
// # Values kept for gradients
//
// A gradient reads the output rather than the data where that is enough (relu, sigmoid, tanh),
// and no data at all where only shapes matter (average pooling), so that the memory of data can be
// given away early. Element-wise layers may work in place.
//
// # Kernels
//
// The functions here are the reference: plain loops that compute in float64 and round once when
// they store, for float64, float32, float16 and bfloat16. Faster kernels are attached in files
// named after the stem.
package nn
