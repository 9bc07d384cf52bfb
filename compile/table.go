package compile

import (
	"slices"

	"gomx/graph"
)

// stages lists all stages in the order in which they run. The rows are made anew by each call.
func stages() []*Stage {
	return slices.Concat(composed(), fused(), compiled(), lowered())
}

// composed are the stages of graphs as they were composed. They may rely on a graph without
// gradient: a change here changes the gradient with it, so bits may differ even where values do
// not.
func composed() []*Stage {
	return []*Stage{
		// Relies on the facts of the source. Guarantees a shape and a type for every entry that
		// follows from others; entries that stay unknown are errors of number. Source: MXNet's
		// passes InferShape and InferType, which sweep to and fro until nothing is learned.
		{Name: "infer", do: part(infer), Before: []string{"assign-devices", "mix-precision",
			"settle-shapes"},
			Reason: "shapes and types of all entries are facts that later stages keep; first, " +
				"because every other stage reads them"},
		// Relies on the groups of nodes and on Spread. Guarantees that every operator names its
		// device. Source: MXNet's pass PlaceDevice and its attribute ctx_group.
		{Name: "assign-devices", Pass: true, Needed: true, do: assignDevices,
			Before: []string{"mix-precision", "share", "simplify", "gradient"},
			Reason: "groups say where operators run; before all passes, so that none joins " +
				"nodes of two devices, and gradients are computed beside their layers"},
		// Relies on types: the graph computes in float32. Guarantees that variables, outputs and
		// gradients keep their types; conversions are nodes. Source: MXNet's pass
		// ReducePrecision; the scaling of gradients is of Micikevicius et al., Mixed Precision
		// Training, 2018.
		{Name: "mix-precision", Pass: true, Loose: true, Needed: true, do: mixPrecision,
			After: []string{"assign-devices"}, Before: []string{"settle-shapes", "gradient"},
			Reason: "products are computed in a narrow type where that is asked for; before the " +
				"passes, which then see the types that the graph computes with, and before the " +
				"gradient, which converts back"},
		// Guarantees that every node that draws random numbers has a number of its own in its
		// attributes, which copies of the node keep. Source: counters in the place of states,
		// Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3, 2011.
		{Name: "number-streams", do: part(numberStreams), Before: []string{"share", "drop-dropout",
			"gradient", "recompute"},
			Reason: "a node that draws random numbers draws the same ones whatever passes make " +
				"of the graph; before passes that remove or copy nodes"},
		// Relies on the inferred shapes. Guarantees that no operator finds its shape by its use
		// alone, so the passes below may remove uses.
		{Name: "settle-shapes", Pass: true, Needed: true, pass: graph.SettleShapes,
			Before: []string{"share", "simplify", "dead-code"},
			Reason: "arrays made in a shape that follows from their use get it; before all " +
				"passes that may take the use away"},
		// Relies on settled shapes. Guarantees that no two nodes have the same operator,
		// parameters and inputs, unless they draw random numbers, change states or are outputs.
		// Source: MXNet's pass EliminateCommonExpr.
		{Name: "share", Pass: true, Loose: true, pass: graph.ShareComposed,
			Before: []string{"gradient"},
			Reason: "equal things are computed once; before the gradient, which then goes that " +
				"way once as well: its contributions are summed before, not after"},
		// Guarantees that facts of the entries that stay are the same: only operators that have
		// no effect go. Operators whose gradient is not the derivative of their result, such as
		// losses, stay.
		{Name: "simplify", Pass: true, Loose: true, pass: graph.SimplifyComposed,
			Before: []string{"gradient", "fold-batchnorm", "fuse-norm"},
			Reason: "operators that do nothing need no gradient either, whose terms are then " +
				"added in another order; before the fusions, whose patterns they would hide"},
	}
}

// fused are the stages that join layers before the gradient is added. The fused operators have
// gradients of their own, so nothing has to be found again in the backward part.
func fused() []*Stage {
	return []*Stage{
		// Guarantees that no dropout of the mode training is left, but for outputs.
		{Name: "drop-dropout", Pass: true, mode: inferring, pass: graph.DropDropout,
			Before: []string{"fold-batchnorm", "fuse-sum", "fuse-activation"},
			Reason: "dropout passes data on in inference; before the fusions, whose patterns it " +
				"would hide"},
		// Relies on equal masks being one entry, as share leaves them, and on number-streams: the
		// operator drops the weights that the dropout would have dropped. Guarantees that the
		// scores and the weights are no entries any more. Source: Dao et al., FlashAttention, 2022.
		{Name: "fuse-attention", Pass: true, Loose: true, pass: graph.FuseAttention,
			After:  []string{"number-streams", "share", "simplify", "drop-dropout"},
			Before: []string{"gradient"},
			Reason: "scores and weights of attention grow with the square of the sequence: one " +
				"operator makes them block by block, and again for the gradient; before the " +
				"gradient, because the operator has its own"},
		// Relies on transpositions that simplify has joined. Guarantees that every bit stays as it
		// is: pointwise operators compute elements, wherever these lie.
		{Name: "cancel-transpositions", Pass: true, mode: inferring,
			pass: graph.CancelTranspositions, After: []string{"simplify", "drop-dropout"},
			Before: []string{"fuse-quantized", "fold-batchnorm", "fuse-sum"},
			Reason: "imported models move channels to the end of the axes and back around every " +
				"function; before the fusions, whose patterns transpositions hide"},
		// Relies on products of integers that nothing else reads, and on ranges in attributes.
		// Guarantees that outputs agree up to the rounding of sums with integers. Source: the
		// post-operations of oneDNN; MXNet's MKLDNN subgraph for quantized layers.
		{Name: "fuse-quantized", Pass: true, mode: inferring, Loose: true, Host: true,
			pass: graph.FuseQuantized, After: []string{"simplify", "drop-dropout"},
			Before: []string{"fuse-sum", "fuse-activation", "fuse-pointwise"},
			Reason: "sums of integers become the integers of the next layer while they are in " +
				"registers, instead of six arrays of float32; before the other fusions, which would " +
				"take the rectifiers and chains away"},
		// Relies on being the only reader of a convolution, and on parameters that are variables.
		// Guarantees that outputs agree up to rounding: weight and bias are folded, and kept in
		// that form between runs. Source: Jacob et al., 2018, as for fold-batchnorm.
		{Name: "fold-affine", Pass: true, mode: inferring, Loose: true, Host: true,
			pass: graph.FoldAffine, After: []string{"cancel-transpositions"},
			Before: []string{"fuse-sum", "fuse-activation"},
			Reason: "imported models have the bias and the batch norm of a convolution as sums " +
				"and products, which the convolution can do; before sums and activations, " +
				"because it brings them next to convolutions"},
		// Relies on being the only reader of a convolution. Guarantees that outputs agree up to
		// rounding: weights are multiplied by gamma/deviation, and kept in that form between
		// runs. Source: Jacob et al., Quantization and Training of Neural Networks, 2018, section
		// 3.2; MXNet's MKLDNN subgraph.
		{Name: "fold-batchnorm", Pass: true, mode: inferring, Loose: true, Host: true,
			pass: graph.FoldBatchNorm, Before: []string{"fuse-sum", "fuse-activation"},
			Reason: "in inference a batch norm is an affine map that the convolution before it " +
				"can do; before sums and activations, because it brings sums and activations " +
				"next to convolutions"},
		// Relies on batch norms that are folded, or sums would not read convolutions. The other
		// term may have other readers: the stage storage decides whether the output takes its
		// memory. Source: the post-operation sum of oneDNN.
		{Name: "fuse-sum", Pass: true, mode: inferring, Loose: true, Host: true,
			pass: graph.FuseSum, Before: []string{"fuse-activation"},
			Reason: "a convolution can add to the content of its output; before activations, " +
				"which come after the sum in residual networks"},
		// Relies on sums that are fused. A rectifier of a layer with other readers stays a node.
		// Source: the post-operation eltwise of oneDNN.
		{Name: "fuse-activation", Pass: true, mode: inferring, Loose: true, Host: true,
			pass: graph.FuseActivation, Before: []string{"adopt-convolutions"},
			Reason: "a rectifier costs nothing while results are still in registers"},
		// Guarantees that the kernels of the convolutions that nothing was fused into choose
		// layouts too.
		{Name: "adopt-convolutions", Pass: true, mode: inferring, Loose: true, Host: true,
			pass: graph.AdoptConvolutions, After: []string{"fuse-sum", "fuse-activation"},
			Before: []string{"winograd", "layout"},
			Reason: "convolutions that nothing was fused into shall pass blocked arrays on as " +
				"well; after the fusions, which look for them"},
		// Relies on adopted convolutions. Guarantees one choice for all of them: Winograd's
		// algorithm where it applies, if that is enough of the work, or nowhere. Source: Lavin
		// and Gray, Fast Algorithms for Convolutional Neural Networks, 2016.
		{Name: "winograd", Pass: true, mode: inferring, Loose: true, Host: true,
			pass: graph.ChooseWinograd, After: []string{"adopt-convolutions"},
			Before: []string{"layout"},
			Reason: "3x3 windows cost less than half the multiplications by Winograd's " +
				"algorithm; it works on blocked channels, so one choice is made for the whole " +
				"graph"},
		// Relies on being the only reader of a batch norm and of the sum. Guarantees that the
		// value before the rectifier is no entry any more, so it takes no memory.
		{Name: "fuse-norm", Pass: true, mode: training, Loose: true, Host: true,
			pass: graph.FuseNorm, Before: []string{"fuse-trained-activation", "gradient"},
			Reason: "a batch norm, the sum after it and a rectifier read and write memory once " +
				"in one kernel, in both directions"},
		// Relies on being the only reader of a layer, and on the statistics of the batch. Guarantees
		// that outputs agree up to rounding, and zeros as gradients of the biases, of which layers
		// would compute the rounding errors.
		{Name: "spare-bias", Pass: true, mode: training, Loose: true, pass: graph.SpareBias,
			After: []string{"fuse-attention"}, Before: []string{"gradient"},
			Reason: "a batch norm subtracts the bias of the layer before it with the mean: GPUs " +
				"need no passes over memory to add it and to sum up its gradient; before the " +
				"gradient, which is zero"},
		// Relies on norms that have taken their rectifiers already. Guarantees that the sum
		// before the rectifier is no entry any more: the gradient reads the rectified result.
		{Name: "fuse-trained-activation", Pass: true, mode: training, Loose: true, Host: true,
			pass: graph.FuseTrainedActivation, Before: []string{"adopt-trained-convolutions",
				"gradient"},
			Reason: "a rectifier costs nothing while the results of a convolution are still in " +
				"registers; its result shows which elements it cut off"},
		// The same as adopt-convolutions, for convolutions whose gradients choose layouts too.
		{Name: "adopt-trained-convolutions", Pass: true, mode: training, Loose: true, Host: true,
			pass: graph.AdoptConvolutions, After: []string{"fuse-norm", "fuse-trained-activation"},
			Before: []string{"gradient", "layout"},
			Reason: "convolutions shall pass blocked arrays on in both directions; after the " +
				"fusions, which look for them"},
	}
}

// compiled are the stages of the whole graph, with its gradient. From here on every operator is one
// that runs, so a pass may remove a node whose gradient differs from the derivative of its result.
func compiled() []*Stage {
	return []*Stage{
		// Relies on facts of all forward entries. Guarantees an entry for each wanted gradient,
		// the one of the last argument first, and facts of all new nodes. Source: nnvm's pass
		// Gradient, reverse accumulation over the topological order.
		{Name: "gradient", do: part(differentiate), mode: training, Before: []string{"dead-code",
			"recompute", "number"},
			Reason: "the backward part becomes nodes like others; after the passes for composed " +
				"graphs, whose results need less gradient, and before the passes for whole graphs"},
		// Guarantees that an input of which only the shape is read is an array that no kernel
		// computes.
		{Name: "dead-code", Pass: true, pass: graph.CutShapes, Before: []string{"fold-constants",
			"simplify-compiled", "share-compiled", "fuse-row-loss"},
			Reason: "where only the shape of a value is read, the shape will do: the operators " +
				"that compute the value die unless others read it; first, so that later passes " +
				"do not work on the dead"},
		// Relies on kernels of the processor, which run here once. Guarantees that nodes without
		// variables below them are constants, up to a size.
		{Name: "fold-constants", Pass: true, Host: true, pass: graph.FoldConstants,
			Before: []string{"simplify-compiled"},
			Reason: "values that depend on no variable are computed now; before simplifying, " +
				"which knows what to do with zeros and ones"},
		// Relies on nodes of which the gradient exists, so that losses may go as well. Guarantees
		// that every bit stays as it is.
		{Name: "simplify-compiled", Pass: true, pass: graph.SimplifyCompiled,
			Before: []string{"scale-once", "transposed-products", "share-compiled"},
			Reason: "gradients multiply by one, add zero and transpose back; before sharing, " +
				"because equal things then look equal"},
		// Relies on chains of factors that simplifying has left. Guarantees that a product of
		// factors neither overflows nor vanishes where they did not one by one.
		{Name: "scale-once", Pass: true, Loose: true, pass: graph.ScaleOnce,
			After: []string{"simplify-compiled"}, Before: []string{"share-compiled"},
			Reason: "factors one after the other are one factor, rounded once instead of twice; " +
				"after simplifying, which takes the exact cases"},
		// Guarantees that a product reads no transposed matrix that it could transpose itself, as
		// BLAS does.
		{Name: "transposed-products", Pass: true, Loose: true, pass: graph.TransposedProducts,
			After: []string{"simplify-compiled"}, Before: []string{"share-compiled"},
			Reason: "products read their operands transposed as fast as not; after simplifying, " +
				"which cancels transpositions"},
		// Relies on Facts.Forward. Guarantees that equal nodes of one part are one node. Nodes of
		// the two parts are never merged: recomputation makes copies in the backward part on
		// purpose.
		{Name: "share-compiled", Pass: true, pass: graph.ShareCompiled,
			Before: []string{"fuse-loss-gradient", "move-bias", "fuse-row-loss", "fuse-pointwise",
				"recompute"},
			Reason: "gradients compute things again that were computed; after everything that " +
				"makes equal things look equal, before fusion, which hides them"},
		// Relies on scores that only the loss and its gradient read. Guarantees that the gradient
		// of the scores is no entry of the graph.
		{Name: "fuse-loss-gradient", Pass: true, Loose: true, Host: true,
			pass: graph.FuseLossGradient, After: []string{"share-compiled"},
			Before: []string{"fuse-pointwise"},
			Reason: "the gradient of the scores is as large as they are, and read once: made " +
				"block by block where it is read, it never exists; after sharing, which finds " +
				"gradients that others read too"},
		// Relies on scores that only the softmax loss reads. Guarantees that their product has no
		// bias.
		{Name: "move-bias", Pass: true, Loose: true, Host: true, pass: graph.MoveBias,
			After: []string{"share-compiled"}, Before: []string{"fuse-pointwise"},
			Reason: "of many rows, a product without bias is the fastest one, and the softmax " +
				"that reads it next has the time to add; after sharing, which finds scores that " +
				"others read too"},
		// Relies on a layer of one output with a regression head and no other reader. Guarantees
		// that the backward part reads the data no second time.
		{Name: "fuse-row-loss", Pass: true, Loose: true, Host: true, pass: graph.FuseRowLoss,
			After: []string{"dead-code", "share-compiled"}, Before: []string{"fuse-pointwise"},
			Reason: "a layer of one output with a regression head takes as long as its data " +
				"takes to read: made with the output, its gradient reads nothing again; after " +
				"sharing and dead code, which show that nobody else reads between"},
		// Relies on gradients of data that one sum alone reads. Guarantees that outputs agree up to
		// the rounding of sums.
		{Name: "add-in-products", Pass: true, mode: training, Loose: true,
			pass: graph.AddInProducts, After: []string{"share-compiled"},
			Before: []string{"fuse-pointwise"},
			Reason: "products of GPUs add to a matrix at no cost: sums of gradients need no " +
				"passes over memory; after sharing, which finds gradients that others read too, and " +
				"before chains, which would take the sums"},
		// Relies on the narrow type that mix-precision has chosen. Guarantees that every bit stays
		// as it is. Source: the copies of weights in 16 bits of Micikevicius et al., Mixed
		// Precision Training, 2018.
		{Name: "keep-casts", Pass: true, mode: training, pass: graph.KeepCasts,
			After:  []string{"mix-precision", "share-compiled"},
			Before: []string{"fuse-pointwise", "recompute"},
			Reason: "GPUs convert parameters to 16 bits when they have changed, all by one kernel " +
				"where steps are recorded; after sharing, which leaves one conversion of each, and " +
				"before recomputation, which would make others"},
		// Guarantees that every bit stays as it is. Gradients in the narrow type live until the
		// last one is there.
		{Name: "join-casts", Pass: true, mode: training, pass: graph.JoinCasts,
			After: []string{"share-compiled"}, Before: []string{"fuse-pointwise"},
			Reason: "gradients of parameters that a GPU computes in 16 bits become float32 by one " +
				"kernel where steps are recorded; after sharing, which finds gradients that others " +
				"read too"},
		// Relies on graphs in which nothing else is to fuse. Guarantees that a chain runs in the
		// place of its last member, after all nodes that it reads. Source: MXNet's pass
		// PointwiseFusion, which makes kernels of GPUs only.
		{Name: "fuse-pointwise", Pass: true, pass: graph.FusePointwise,
			Before: []string{"recompute", "copy-between-devices"},
			Reason: "functions of single elements are bound by memory: a chain of them goes " +
				"over it once; last of the passes that compute less, because none of them looks " +
				"into chains"},
		// Relies on merged nodes and on numbered streams. Guarantees the bits of the graph
		// without it. Source: Chen et al., Training Deep Nets with Sublinear Memory Cost, 2016;
		// MXNet's backward mirroring.
		{Name: "recompute", do: part(recompute), mode: training, After: []string{"gradient",
			"share", "share-compiled"}, Before: []string{"copy-between-devices", "number"},
			Reason: "the backward part computes values again instead of keeping them; after all " +
				"passes that merge equal nodes, which would undo it"},
		// Relies on assign-devices. Guarantees that every operator finds its inputs on its own
		// device. Source: nnvm's pass PlaceDevice, which adds the copies as well.
		{Name: "copy-between-devices", Pass: true, Needed: true, do: copyBetweenDevices,
			After: []string{"assign-devices"}, Before: []string{"number"},
			Reason: "values that lie on another device are copied, once for each device that " +
				"reads them; last of the passes, because only then all readers are known"},
	}
}

// lowered are the stages that make a program of the graph. Options cannot leave them out, and none
// of them changes a value.
func lowered() []*Stage {
	return []*Stage{
		// Relies on facts of all entries; an unknown one is an error. Guarantees numbers in
		// topological order, the forward part before the backward part, and a slot for every
		// entry that lives outside.
		{Name: "number", do: part(number), Before: []string{"layout", "prepare"},
			Reason: "nodes get their order and their numbers, and arrays outside their slots; " +
				"after the last pass, because passes make nodes"},
		// Relies on numbers and slots. Guarantees that a kernel reads the layouts that it was
		// prepared for, that slots stay plain, and that the graph is numbered anew.
		{Name: "layout", Optional: true, do: part(layOut), After: []string{"number"},
			Before: []string{"prepare"},
			Reason: "kernels choose blocked layouts for the arrays between them, and changes of " +
				"layout are put where a reader wants another one; before the other kernels are " +
				"prepared, which see the final operands"},
		// Relies on final operands. Guarantees a step for every operator, with a kernel, and
		// slots for kept forms. After it no stage adds a node.
		{Name: "prepare", do: part(prepare), Before: []string{"streams", "segments", "storage"},
			Reason: "each kernel fixes its algorithm, its threads and its scratch memory, and " +
				"forms of parameters that are kept get slots; before anything that needs sizes"},
		// Relies on one device, and on steps in their final order. Guarantees a lane for every
		// step, or none at all.
		{Name: "streams", do: step(spreadBranches), After: []string{"prepare"},
			Before: []string{"segments"},
			Reason: "independent branches get queues of their own where a device has several; " +
				"before segments, which end where the queue changes"},
		// Relies on lanes. Guarantees segments that cover all steps in order. Source: MXNet's
		// bulk segments (MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN, 15 nodes).
		{Name: "segments", do: step(cut), Before: []string{"plan", "connect"},
			Reason: "steps that run as one operation need no order between them; before the " +
				"plan, which knows the order inside a segment"},
		// Relies on the order of the steps: a value dies behind its last reader. Guarantees that
		// a step in place is the last reader of its input. Source: the hints FInplaceOption of
		// MXNet's PlanMemory.
		{Name: "storage", do: step(assignStorage), After: []string{"prepare"},
			Before: []string{"plan"},
			Reason: "operators work in place where nobody reads their input afterwards; before " +
				"the plan, which places values that share bytes as one"},
		// Relies on roots, their bytes and lives, and on the order inside segments. Guarantees
		// the invariants that package memplan lists. Source: MXNet's PlanMemory; Pisarchyk and
		// Lee, Efficient Memory Management for Deep Neural Net Inference, 2020.
		{Name: "plan", do: part(plan), Before: []string{"locate", "connect"},
			Reason: "every value and every scratch buffer gets an offset in the arena"},
		// Relies on offsets and slots. Guarantees that every step that runs knows the place of
		// all its operands.
		{Name: "locate", do: step(locate), After: []string{"plan"}, Before: []string{"connect"},
			Reason: "each step learns where its operands lie, and whether it has anything to do"},
		// Relies on segments, hazards and slots. Guarantees that two segments of which one writes
		// bytes of the other are ordered. Source: MXNet's engine finds the same edges at each
		// push.
		{Name: "connect", do: step(connect), After: []string{"segments", "plan", "locate"},
			Reason: "segments wait for results and for bytes that they overwrite; last, because " +
				"both the plan and the slots make edges"},
	}
}

// step makes a stage of a function that cannot fail: it relies on facts that earlier stages have
// checked.
func step(f func(u *Unit)) func(*Unit, *Stage) error {
	return func(u *Unit, _ *Stage) error { f(u); return nil }
}

// part makes a stage of a function that may fail and reports no changes. Its error names the node.
func part(f func(u *Unit) error) func(*Unit, *Stage) error {
	return func(u *Unit, _ *Stage) error { return f(u) }
}

// numberStreams numbers the nodes that draw random numbers, in the order of the composed graph, so
// that programs of the same graph draw the same numbers with any options.
func numberStreams(u *Unit) error {
	list, _ := graph.Streams(u.all(), u.Facts)
	u.become(list)
	return u.Facts.Complete(list)
}

// infer fills in the shapes and types that the source does not give.
func infer(u *Unit) error { return u.Facts.Infer(u.all()) }
