package graph

import (
	"slices"

	"gomx/op"
)

// Pass is one transformation of a graph: it returns the new outputs, which stand for the old ones
// in order, and how many places it changed. It keeps facts up to date.
type Pass struct {
	Name   string
	Reason string // why it exists and why it stands where it stands
	Stage  Stage
	// Loose passes change the order of sums or products: results agree up to rounding. The others leave every
	// value as it is, but for the sign of zeros.
	Loose bool
	// Host passes make operators that only the processor has kernels for.
	Host bool
	// Needed passes are never left out: the graph would not run.
	Needed bool
	Run    func(outs []op.Entry, f *Facts) ([]op.Entry, int)
}

// Stage says when a pass runs.
type Stage uint8

// The stages, in their order.
const (
	Assigned  Stage = iota // on the graph as it was composed, before all others
	Converted              // on the graph as it was composed, after devices have been assigned
	Composed               // on the graph as it was composed, before the gradient is added
	Inferring              // on graphs that only infer
	Training               // on graphs that are trained, before the gradient is added
	Compiled               // on the whole graph, with the gradient of one that trains
	Placed                 // on the whole graph, after all others and after recomputing
)

// Passes lists all passes in the order in which they run.
func Passes() []Pass {
	return []Pass{
		{Name: "assign-devices", Stage: Assigned, Needed: true, Run: assignDevices,
			Reason: "groups say where operators run; first, so that no other pass joins what runs on two devices, and gradients are computed where their layers are"},
		{Name: "mix-precision", Stage: Converted, Loose: true, Needed: true, Run: mixPrecision,
			Reason: "products are computed in a narrow type where that is asked for; before all others but the placement, which then see the types that the graph computes with, and before the gradient, which converts back"},
		{Name: "settle-shapes", Stage: Composed, Needed: true, Run: settleShapes,
			Reason: "arrays made in a shape that follows from their use get it; before all passes that may take the use away"},
		{Name: "share", Stage: Composed, Loose: true, Run: shareComposed,
			Reason: "what is computed twice is computed once; before the gradient, which then goes that way once as well: its contributions are summed before, not after"},
		{Name: "simplify", Stage: Composed, Loose: true, Run: simplifyComposed,
			Reason: "what does nothing needs no gradient either, whose terms are then added in another order; before the fusions, whose patterns it would hide"},
		{Name: "drop-dropout", Stage: Inferring, Run: dropDropout,
			Reason: "dropout passes data on in inference; before the fusions, whose patterns it would hide"},
		{Name: "fold-batchnorm", Stage: Inferring, Loose: true, Host: true, Run: foldBatchNorm,
			Reason: "in inference a batch norm is an affine map that the convolution before it can do; before sums and activations, because it brings sums and activations next to convolutions"},
		{Name: "fuse-sum", Stage: Inferring, Loose: true, Host: true, Run: fuseSum,
			Reason: "a convolution can add to what its output holds already; before activations, which come after the sum in residual networks"},
		{Name: "fuse-activation", Stage: Inferring, Loose: true, Host: true, Run: fuseActivation,
			Reason: "a rectifier costs nothing while results are still in registers"},
		{Name: "adopt-convolutions", Stage: Inferring, Loose: true, Host: true, Run: adoptConvolutions,
			Reason: "convolutions that nothing was fused into shall pass blocked arrays on as well; after the fusions, which look for them"},
		{Name: "winograd", Stage: Inferring, Loose: true, Host: true, Run: chooseWinograd,
			Reason: "3x3 windows cost less than half the multiplications by Winograd's algorithm; it works on blocked channels, so one choice is made for the whole graph"},
		{Name: "fuse-norm", Stage: Training, Loose: true, Host: true, Run: fuseNorm,
			Reason: "a batch norm, the sum after it and a rectifier read and write memory once in one kernel, in both directions"},
		{Name: "fuse-trained-activation", Stage: Training, Loose: true, Host: true, Run: fuseTrainedActivation,
			Reason: "a rectifier costs nothing while the results of a convolution are still in registers; what it cut off is seen in what is left"},
		{Name: "adopt-trained-convolutions", Stage: Training, Loose: true, Host: true, Run: adoptConvolutions,
			Reason: "convolutions shall pass blocked arrays on in both directions; after the fusions, which look for them"},
		{Name: "dead-code", Stage: Compiled, Run: cutShapes,
			Reason: "where only the shape of a value is read, the shape will do: what computes the value dies unless others read it; first, so that later passes do not work on the dead"},
		{Name: "fold-constants", Stage: Compiled, Host: true, Run: foldConstants,
			Reason: "what depends on no variable is computed now; before simplifying, which knows what to do with zeros and ones"},
		{Name: "simplify-compiled", Stage: Compiled, Run: simplifyCompiled,
			Reason: "gradients multiply by one, add zero and transpose back; before sharing, because equal things then look equal"},
		{Name: "scale-once", Stage: Compiled, Loose: true, Run: scaleOnce,
			Reason: "factors one after the other are one factor, rounded once instead of twice; after simplifying, which takes the exact cases"},
		{Name: "transposed-products", Stage: Compiled, Loose: true, Run: transposedProducts,
			Reason: "products read their operands transposed as fast as not; after simplifying, which cancels transpositions"},
		{Name: "share-compiled", Stage: Compiled, Run: shareCompiled,
			Reason: "gradients compute things again that were computed; after everything that makes equal things look equal, before fusion, which hides them"},
		{Name: "fuse-loss-gradient", Stage: Compiled, Loose: true, Host: true, Run: fuseLossGradient,
			Reason: "the gradient of the scores is as large as they are, and read once: made block by block where it is read, it never exists; after sharing, which finds those that others read too"},
		{Name: "move-bias", Stage: Compiled, Loose: true, Host: true, Run: moveBias,
			Reason: "of many rows, a product without bias is the fastest one, and the softmax that reads it next has the time to add; after sharing, which finds scores that others read too"},
		{Name: "fuse-row-loss", Stage: Compiled, Loose: true, Host: true, Run: fuseRowLoss,
			Reason: "a layer of one output with a regression head takes as long as its data takes to read: made with the output, its gradient reads nothing again; after sharing and dead code, which show that nobody else reads between"},
		{Name: "fuse-pointwise", Stage: Compiled, Run: fusePointwise,
			Reason: "functions of single elements are bound by memory: a chain of them goes over it once; last of those that compute less, because none of them looks into chains"},
		{Name: "copy-between-devices", Stage: Placed, Needed: true, Run: copyBetweenDevices,
			Reason: "what lies on another device is copied, once for each device that reads it; last, because only then is it known who reads what"},
	}
}

// Select lists passes of some stages in their order, but for those named in without that are not needed.
func Select(without []string, stages ...Stage) []Pass {
	var list []Pass
	for _, p := range Passes() {
		if slices.Contains(stages, p.Stage) && (p.Needed || !slices.Contains(without, p.Name)) {
			list = append(list, p)
		}
	}
	return list
}

// Inference lists the passes for graphs that only infer, in the order in which they run.
func Inference() []Pass { return Select(nil, Inferring) }

// Applied says what a pass did.
type Applied struct {
	Pass    Pass
	Changes int
	List    []Change
}

// Run applies passes one after the other and reports what each did. Outputs stay distinct, and none becomes a variable or constant:
// each can be written to an array of its own.
func Run(passes []Pass, outs []op.Entry, f *Facts) ([]op.Entry, []Applied) {
	report := make([]Applied, len(passes))
	for i, p := range passes {
		report[i].Pass = p
		f.changes = nil
		outs, report[i].Changes = p.Run(outs, f)
		report[i].List = f.changes
		outs = f.distinct(outs)
	}
	f.changes = nil
	return outs, report
}

// distinct copies outputs that are variables or constants, which have arrays of their own, and the second of two that are one.
func (f *Facts) distinct(outs []op.Entry) []op.Entry {
	seen := map[op.Entry]bool{}
	list := make([]op.Entry, len(outs))
	for i, e := range outs {
		if e.Node.IsVar() || e.Node.Op.Derived || seen[e] {
			n, err := op.NewNode(op.Lookup("_copy"), e.Node.Name+"_copy", nil, e)
			if err != nil {
				panic(err)
			}
			f.copy(n.Entry(0), e)
			e = n.Entry(0)
		}
		seen[e] = true
		list[i] = e
	}
	return list
}
