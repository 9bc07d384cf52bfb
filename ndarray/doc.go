// Package ndarray is imperative programming with arrays: asynchronous, on any device, with every
// operator of the registry as a function.
//
//	x := nd.FromSlice([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
//	y := x.Mul(x).AddScalar(1)            // returns at once
//	fmt.Println(y)                        // waits
//	v, err := y.Float32s()                // waits; err is the first failure on the way
//
// An [Array] is dense and row-major. Functions such as [FullyConnected], [Convolution] and
// [Softmax] are generated from the registry of package op, with parameter structs whose zero
// values are MXNet's defaults; the commonest also exist as methods. [Apply] and [Invoke] apply
// operators of one's own.
//
// # Operators
//
// The generated functions by group; docs/ops.md is the table of all of them, with MXNet's names and
// every parameter. Optional parameters are set with [Some], optional inputs given with [With].
//
//   - Layers: [FullyConnected], [Convolution], [Deconvolution], [Pooling], [Activation], [LeakyReLU],
//     [Dropout], [BatchNorm], [LayerNorm], [GroupNorm], [InstanceNorm], [LRN], [UpSampling], [Pad]
//   - Sequences: [RNN] (LSTM and GRU too), [SequenceLast], [SequenceMask], [SequenceReverse], [Embedding]
//   - Losses: [SoftmaxOutput], [SoftmaxCrossEntropy], [LinearRegressionOutput], [LogisticRegressionOutput],
//     [SVMOutput], [CTCLoss], [SmoothL1], [MakeLoss], [BlockGrad]
//   - Functions of elements: [Exp], [Log], [Sqrt], [Sigmoid], [Tanh], [Relu], [Erf], [Gamma], [Clip],
//     [Round], [Cast] and others
//   - Two arrays: [ElemwiseAdd], [BroadcastAdd], [BroadcastMul], [BroadcastMaximum], [Equal], [LogicalAnd],
//     [Where] and others; an array and a number: [PlusScalar], [PowerScalar] and others
//   - Reductions: [Sum], [Mean], [Prod], [Max], [Min], [Norm], [Moments], [Softmax], [LogSoftmax], [CumSum]
//   - Shapes: [Reshape], [Flatten], [ExpandDims], [Squeeze], [Transpose], [SwapAxis], [BroadcastTo],
//     [Concat], [Stack], [SliceChannel], [SplitV2], [Slice], [SliceAxis], [Tile], [Repeat], [Reverse]
//   - Indices: [Take], [Pick], [OneHot], [GatherND], [ScatterND], [ArgMax], [ArgSort], [Sort], [TopK]
//   - Matrices: [Dot], [BatchDot], [KhatriRao], [LinalgGemm2], [LinalgPotrf], [LinalgInverse], [LinalgDet],
//     [LinalgSyevd] and others
//   - Random numbers: [RandomUniform], [RandomNormal], [SampleMultinomial], [SampleNormal],
//     [RandomPDFNormal], [Shuffle] and others
//   - Vision: [ROIPooling], [ROIAlign], [BoxNMS], [MultiBoxPrior], [MultiBoxTarget], [MultiBoxDetection],
//     [Proposal], [BilinearResize2D], [SpatialTransformer], [ImageNormalize] and others
//   - Updates of parameters: [SGDUpdate], [SGDMomUpdate], [AdamUpdate], [RMSPropUpdate], [FtrlUpdate],
//     [LambUpdatePhase1], [MultiSGDUpdate] and others
//   - Contributed: [ContribDivSqrtDim], [ContribInterleavedMatmulSelfattQk] and others
//
// # Indexing
//
// [Array.Index] takes part of an array, [Array.SetIndex] overwrites it, as NumPy has it: with places,
// ranges, lists, masks and arrays of indices. [Array.Rows] iterates.
//
//	x.Index(nd.Int(-1), nd.Range(1, 5))   // x[-1, 1:5]
//	x.SetIndex(0, nd.Mask(x.Lt(y)))       // x[x < y] = 0
//
// # Conversion
//
// [FromSlice], [FromRows], [FromMat] and [FromImage] make arrays of Go slices, slices of slices,
// gonum matrices and images; [Values], [RowsOf], Mat and Image return them.
//
// # Asynchrony
//
// An operation is checked (shapes, element types, devices) and pushed to the engine, which runs
// it when what it depends on is complete; small ones run at once on the calling goroutine if
// nothing is pending on their operands. Whatever looks at values waits: Float32s, CopyTo, Item,
// String, Wait.
//
// # Errors
//
// Misuse is a mistake in the program and panics with *op.Error, naming the operator, the argument,
// what was found and what was wanted, and the line of the call. A failure at run time poisons the
// results, and everything computed from them: a wait for them returns it. Overwriting the whole
// array cures it; ClearError accepts a value that was not touched.
//
// # Memory
//
// Values lie outside the Go heap. Slice, At, Rows and Reshape return views, and Index does where
// the elements lie together; views share memory: writing to one writes to all. Memory is returned
// by Close, at the end of a [Scope], or after the garbage collector has found the last array that
// shares it; in every case once pending operations are complete.
//
// # Gradients
//
// AttachGrad and a tape (package autograd) record what is computed; Backward computes gradients.
// They flow through views and indexing. Assignment is not recorded.
//
// # Random numbers
//
// Random operations take their part of a counter-based stream when they are called. [SetSeed]
// starts the stream; [Seed] makes one array independent of it.
//
// Functions and methods may be called from any goroutine. Operations on one array happen in the
// order of the calls.
package ndarray
