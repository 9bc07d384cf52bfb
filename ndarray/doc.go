// Package ndarray provides arrays for imperative programming: asynchronous, on any device, with
// every operator of the registry as a function.
//
//	x := nd.FromSlice([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
//	y := x.Mul(x).AddScalar(1)            // returns at once
//	fmt.Println(y)                        // waits
//	v, err := y.Float32s()                // waits; err is the first failure on the way
//
// An [Array] is dense and row-major. Functions such as [FullyConnected], [Convolution] and
// [Softmax] are generated from the registry of package op, with parameter structs whose zero values
// are MXNet's defaults; the commonest also exist as methods. [Apply] and [Invoke] apply operators
// that a program declares itself.
//
// # Operators
//
// This is a list of the generated functions by group; docs/ops.md is the table of all of them, with
// MXNet's names and every parameter. Optional parameters are set with [Some], optional inputs given
// with [With].
//
//   - Layers: [FullyConnected], [Convolution], [Deconvolution], [Pooling], [Activation],
//     [LeakyReLU], [Dropout], [BatchNorm], [LayerNorm], [GroupNorm], [InstanceNorm], [LRN],
//     [UpSampling], [Pad]
//   - Sequences: [RNN] (LSTM and GRU too), [SequenceLast], [SequenceMask], [SequenceReverse],
//     [Embedding]
//   - Losses: [SoftmaxOutput], [SoftmaxCrossEntropy], [LinearRegressionOutput],
//     [LogisticRegressionOutput], [SVMOutput], [CTCLoss], [SmoothL1], [MakeLoss], [BlockGrad]
//   - Functions of elements: [Exp], [Log], [Sqrt], [Sigmoid], [Tanh], [Relu], [Erf], [Gamma],
//     [Clip], [Round], [Cast] and others
//   - Two arrays: [ElemwiseAdd], [BroadcastAdd], [BroadcastMul], [BroadcastMaximum], [Equal],
//     [LogicalAnd], [Where] and others; an array and a number: [PlusScalar], [PowerScalar] and
//     others
//   - Reductions: [Sum], [Mean], [Prod], [Max], [Min], [Norm], [Moments], [Softmax], [LogSoftmax],
//     [CumSum]
//   - Shapes: [Reshape], [Flatten], [ExpandDims], [Squeeze], [Transpose], [SwapAxis],
//     [BroadcastTo], [Concat], [Stack], [SliceChannel], [SplitV2], [Slice], [SliceAxis], [Tile],
//     [Repeat], [Reverse]
//   - Indices: [Take], [Pick], [OneHot], [GatherND], [ScatterND], [ArgMax], [ArgSort], [Sort],
//     [TopK]
//   - Matrices: [Dot], [BatchDot], [KhatriRao], [LinalgGemm2], [LinalgPotrf], [LinalgInverse],
//     [LinalgDet], [LinalgSyevd] and others
//   - Random numbers: [RandomUniform], [RandomNormal], [SampleMultinomial], [SampleNormal],
//     [RandomPDFNormal], [Shuffle] and others
//   - Vision: [ROIPooling], [ROIAlign], [BoxNMS], [MultiBoxPrior], [MultiBoxTarget],
//     [MultiBoxDetection], [Proposal], [BilinearResize2D], [SpatialTransformer], [ImageNormalize]
//     and others
//   - Updates of parameters: [SGDUpdate], [SGDMomUpdate], [AdamUpdate], [RMSPropUpdate],
//     [FtrlUpdate], [LambUpdatePhase1], [MultiSGDUpdate] and others
//   - Contributed: [ContribDivSqrtDim], [ContribInterleavedMatmulSelfattQk] and others
//
// # Indexing
//
// [Array.Index] returns part of an array and [Array.SetIndex] overwrites it, as in NumPy: with
// positions, ranges, lists, masks and arrays of indices. [Array.Rows] iterates.
//
//	x.Index(nd.Int(-1), nd.Range(1, 5))   // x[-1, 1:5]
//	x.SetIndex(0, nd.Mask(x.Lt(y)))       // x[x < y] = 0
//
// # Conversion
//
// [FromSlice], [FromRows], [FromMat] and [FromImage] make arrays from Go slices, slices of slices,
// gonum matrices and images; [Values], [RowsOf], Mat and Image return them.
//
// # Asynchrony
//
// An operation is checked (shapes, element types, devices) and pushed to the engine, which runs it
// when the operations it depends on are complete; small ones run at once on the calling goroutine
// if nothing is pending on their operands. Functions that read values wait: Float32s, CopyTo, Item,
// String, Wait.
//
// # Errors
//
// Misuse is a mistake in the program and panics with *op.Error, which names the operator, the
// argument, the value found and the value wanted, and the line of the call. A failure at run time
// poisons the results, and everything computed from them: a wait for them returns the error.
// Overwriting the whole array removes the error; ClearError accepts values that the failed
// operation did not touch.
//
// # Memory
//
// Values lie outside the Go heap. Slice, At, Rows and Reshape return views, and so does Index where
// the elements are contiguous; views share memory: writing to one writes to all. Memory is released
// by Close, at the end of a [Scope], or after the garbage collector has found that the last array
// that shares it is unreachable; in every case once pending operations are complete.
//
// # Gradients
//
// AttachGrad marks an array, a tape (package autograd) records the operations on it, and Backward
// computes its gradient. Gradients flow through views and indexing. Assignment is not recorded.
//
// # Random numbers
//
// Random operations reserve their range of a counter-based stream when they are called. [SetSeed]
// starts the stream; [Seed] makes one array independent of it.
//
// Functions and methods may be called from any goroutine. Operations on one array happen in the
// order of the calls.
package ndarray

//go:generate go run gomx/internal/opgen
