// Package symbol declares networks as graphs, infers their shapes, reads and writes MXNet's
// symbol JSON, and binds graphs to memory so that they run.
//
// # Composing
//
// Functions generated from the operator registry make nodes. Data inputs are given in order;
// weights, biases and labels become variables named after the node unless given by With:
//
//	net := sym.Var("data")
//	net = sym.FullyConnected(net, sym.FullyConnectedParams{NumHidden: 10}, sym.Name("fc"))
//	net = sym.SoftmaxOutput(net, sym.SoftmaxOutputParams{}, sym.Name("softmax"))
//	net.Arguments() // data, fc_weight, fc_bias, softmax_label
//
// Nodes without a name get one when somebody first asks, counted per operator in topological
// order: the same program always gives the same names. A mistake in composition is kept and
// reported once, by inference or bind, with the operator and the line that made it.
//
// Compose puts the outputs of other symbols in the place of variables, by name; Internals and
// Output pick inner layers.
//
// # Operators
//
// The generated functions by group; docs/ops.md is the table of all of them, with MXNet's names and
// every parameter. Optional parameters are set with [Some], inputs beside the data given with
// [With].
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
// # Binding
//
// SimpleBind infers all shapes, and allocates arguments, gradients and auxiliary states. Package
// compile adds the gradient to the graph, prepares every kernel, and plans the memory of everything
// in between as one arena. The Executor, of package exec, then only pushes segments of the graph
// onto the engine: Forward, Backward. In steady state that allocates nothing. Eval binds, runs and
// forgets, for a single look.
//
// Inference runs a graph of its own, which the passes of package graph have shortened. Its kernels
// choose blocked layouts for intermediate values; arguments and outputs are always plain.
// Weights in another form, folded with a batch norm or blocked, are kept between runs and made anew
// when a parameter has been written. BindConfig.NoFusion turns all of this off.
//
// Executors that infer the same graph side by side, one per goroutine, are made by Replicate: they
// share the compiled graph, the parameters and all other forms of them.
//
// # Several devices
//
// BindConfig.Group2Ctx gives every group that CtxGroup makes of nodes a device: model parallelism.
// Passes then write down where each operator runs and put copies where devices meet, in both
// directions; every device has an arena of its own, and independent operators run side by side.
// Results stay the same.
//
// # Memory
//
// MemoryUse tells how much memory a compiled graph needs. BindConfig.Recompute trades time for
// memory in training: the backward part computes values again instead of keeping them, with the
// same results bit for bit. Executors made by Reshape, or bound with Shared, use one arena in turn.
//
// # Looking inside
//
// PartialForward runs a graph operator by operator. A Monitor sees the outputs of the operators
// that its pattern names; Guard stops at the first value that is not finite and names the operator.
//
// # Files
//
// Load reads the JSON of every MXNet since 0.8; JSON writes files that MXNet 1.9.1 reads.
//
// A Symbol is immutable and safe for concurrent use; an Executor belongs to one goroutine at a
// time.
package symbol
