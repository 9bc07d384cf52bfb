package compile

import (
	"slices"

	"gomx/graph"
)

// Stage is one row of the table of stages.
type Stage struct {
	Name   string
	Reason string   // why it exists and why it stands where it stands
	Before []string // stages that run later than this one
	After  []string // stages that run earlier than this one
	Mode   Mode
	// results agree up to rounding; the other stages leave every value as it is, but for the sign
	// of zeros
	Loose  bool
	Host   bool // it makes operators that only the processor has kernels for
	Pass   bool // it rewrites the graph: it is reported, and may be left out unless it is needed
	Needed bool // it is never left out by name: the graph would not run

	do   func(u *Unit, s *Stage) error
	pass graph.Pass // nil where do is given
}

// Mode says which programs a stage works on.
type Mode uint8

// The modes of stages.
const (
	Always    Mode = iota
	Inferring      // programs that only infer
	Training       // programs that are trained
)

// runs reports whether the options leave a stage on.
func (s *Stage) runs(o *Options) bool {
	switch {
	case s.Mode == Inferring && o.Train, s.Mode == Training && !o.Train:
		return false
	case s.pass == nil:
		return true
	case o.NoFusion:
		return false
	}
	return (!s.Host || o.onHost()) && (s.Needed || !slices.Contains(o.Without, s.Name))
}

// run carries a stage out.
func (s *Stage) run(u *Unit, row *Stage) error {
	if s.do != nil {
		return s.do(u, row)
	}
	return u.rewrite(row, s.pass)
}

// Passes lists the stages that rewrite graphs, in their order.
func Passes() []*Stage {
	return slices.DeleteFunc(Stages(), func(s *Stage) bool { return !s.Pass })
}

// PassesOf lists the passes that programs of a mode meet in any case, in their order: without the
// ones that only several devices, or another precision, call for.
func PassesOf(mode Mode) []*Stage {
	return slices.DeleteFunc(Passes(), func(s *Stage) bool {
		return s.pass == nil ||
			s.Mode != Always && s.Mode != mode
	})
}

// Applied is the report of a pass.
type Applied struct {
	Stage   *Stage
	Changes int // places that changed
	List    []graph.Change
}

// step makes a stage of a function that cannot fail.
func step(f func(u *Unit)) func(*Unit, *Stage) error {
	return func(u *Unit, _ *Stage) error { f(u); return nil }
}

// part makes a stage of a function that reports no changes.
func part(f func(u *Unit) error) func(*Unit, *Stage) error {
	return func(u *Unit, _ *Stage) error { return f(u) }
}

// numberStreams numbers the nodes that draw random numbers.
func numberStreams(u *Unit) error {
	list, _ := graph.Streams(u.all(), u.Facts)
	u.become(list)
	return u.Facts.Complete(list)
}

// infer fills in the shapes and types that the source does not give.
func infer(u *Unit) error { return u.Facts.Infer(u.all()) }

// Stages lists all stages in the order in which they run. The rows are made anew by each call.
func Stages() []*Stage {
	return slices.Concat(composed(), fused(), compiled(), lowered())
}

// composed are the stages of graphs as they were composed.
func composed() []*Stage {
	return []*Stage{
		{Name: "infer", do: part(infer), Before: []string{"assign-devices", "mix-precision",
			"settle-shapes"},
			Reason: "shapes and types of all entries are facts that later stages keep; first, " +
				"because every other stage reads them"},
		{Name: "assign-devices", Pass: true, Needed: true, do: assignDevices,
			Before: []string{"mix-precision", "share", "simplify", "gradient"},
			Reason: "groups say where operators run; before all passes, so that none joins " +
				"nodes of two devices, and gradients are computed beside their layers"},
		{Name: "mix-precision", Pass: true, Loose: true, Needed: true, do: mixPrecision,
			After: []string{"assign-devices"}, Before: []string{"settle-shapes", "gradient"},
			Reason: "products are computed in a narrow type where that is asked for; before the " +
				"passes, which then see the types that the graph computes with, and before the " +
				"gradient, which converts back"},
		{Name: "number-streams", do: part(numberStreams), Before: []string{"share", "drop-dropout",
			"gradient", "recompute"},
			Reason: "a node that draws random numbers draws the same ones whatever passes make " +
				"of the graph; before passes that remove or copy nodes"},
		{Name: "settle-shapes", Pass: true, Needed: true, pass: graph.SettleShapes,
			Before: []string{"share", "simplify", "dead-code"},
			Reason: "arrays made in a shape that follows from their use get it; before all " +
				"passes that may take the use away"},
		{Name: "share", Pass: true, Loose: true, pass: graph.ShareComposed,
			Before: []string{"gradient"},
			Reason: "equal things are computed once; before the gradient, which then goes that " +
				"way once as well: its contributions are summed before, not after"},
		{Name: "simplify", Pass: true, Loose: true, pass: graph.SimplifyComposed,
			Before: []string{"gradient", "fold-batchnorm", "fuse-norm"},
			Reason: "operators that do nothing need no gradient either, whose terms are then " +
				"added in another order; before the fusions, whose patterns they would hide"},
	}
}

// fused are the stages that join layers before the gradient is added.
func fused() []*Stage {
	return []*Stage{
		{Name: "drop-dropout", Pass: true, Mode: Inferring, pass: graph.DropDropout,
			Before: []string{"fold-batchnorm", "fuse-sum", "fuse-activation"},
			Reason: "dropout passes data on in inference; before the fusions, whose patterns it " +
				"would hide"},
		{Name: "fold-batchnorm", Pass: true, Mode: Inferring, Loose: true, Host: true,
			pass: graph.FoldBatchNorm, Before: []string{"fuse-sum", "fuse-activation"},
			Reason: "in inference a batch norm is an affine map that the convolution before it " +
				"can do; before sums and activations, because it brings sums and activations " +
				"next to convolutions"},
		{Name: "fuse-sum", Pass: true, Mode: Inferring, Loose: true, Host: true,
			pass: graph.FuseSum, Before: []string{"fuse-activation"},
			Reason: "a convolution can add to the content of its output; before activations, " +
				"which come after the sum in residual networks"},
		{Name: "fuse-activation", Pass: true, Mode: Inferring, Loose: true, Host: true,
			pass: graph.FuseActivation, Before: []string{"adopt-convolutions"},
			Reason: "a rectifier costs nothing while results are still in registers"},
		{Name: "adopt-convolutions", Pass: true, Mode: Inferring, Loose: true, Host: true,
			pass: graph.AdoptConvolutions, After: []string{"fuse-sum", "fuse-activation"},
			Before: []string{"winograd", "layout"},
			Reason: "convolutions that nothing was fused into shall pass blocked arrays on as " +
				"well; after the fusions, which look for them"},
		{Name: "winograd", Pass: true, Mode: Inferring, Loose: true, Host: true,
			pass: graph.ChooseWinograd, After: []string{"adopt-convolutions"},
			Before: []string{"layout"},
			Reason: "3x3 windows cost less than half the multiplications by Winograd's " +
				"algorithm; it works on blocked channels, so one choice is made for the whole " +
				"graph"},
		{Name: "fuse-norm", Pass: true, Mode: Training, Loose: true, Host: true,
			pass: graph.FuseNorm, Before: []string{"fuse-trained-activation", "gradient"},
			Reason: "a batch norm, the sum after it and a rectifier read and write memory once " +
				"in one kernel, in both directions"},
		{Name: "fuse-trained-activation", Pass: true, Mode: Training, Loose: true, Host: true,
			pass: graph.FuseTrainedActivation, Before: []string{"adopt-trained-convolutions",
				"gradient"},
			Reason: "a rectifier costs nothing while the results of a convolution are still in " +
				"registers; its result shows which elements it cut off"},
		{Name: "adopt-trained-convolutions", Pass: true, Mode: Training, Loose: true, Host: true,
			pass: graph.AdoptConvolutions, After: []string{"fuse-norm", "fuse-trained-activation"},
			Before: []string{"gradient", "layout"},
			Reason: "convolutions shall pass blocked arrays on in both directions; after the " +
				"fusions, which look for them"},
	}
}

// compiled are the stages of the whole graph, with its gradient.
func compiled() []*Stage {
	return []*Stage{
		{Name: "gradient", do: part(differentiate), Mode: Training, Before: []string{"dead-code",
			"recompute", "number"},
			Reason: "the backward part becomes nodes like others; after the passes for composed " +
				"graphs, whose results need less gradient, and before the passes for whole graphs"},
		{Name: "dead-code", Pass: true, pass: graph.CutShapes, Before: []string{"fold-constants",
			"simplify-compiled", "share-compiled", "fuse-row-loss"},
			Reason: "where only the shape of a value is read, the shape will do: the operators " +
				"that compute the value die unless others read it; first, so that later passes " +
				"do not work on the dead"},
		{Name: "fold-constants", Pass: true, Host: true, pass: graph.FoldConstants,
			Before: []string{"simplify-compiled"},
			Reason: "values that depend on no variable are computed now; before simplifying, " +
				"which knows what to do with zeros and ones"},
		{Name: "simplify-compiled", Pass: true, pass: graph.SimplifyCompiled,
			Before: []string{"scale-once", "transposed-products", "share-compiled"},
			Reason: "gradients multiply by one, add zero and transpose back; before sharing, " +
				"because equal things then look equal"},
		{Name: "scale-once", Pass: true, Loose: true, pass: graph.ScaleOnce,
			After: []string{"simplify-compiled"}, Before: []string{"share-compiled"},
			Reason: "factors one after the other are one factor, rounded once instead of twice; " +
				"after simplifying, which takes the exact cases"},
		{Name: "transposed-products", Pass: true, Loose: true, pass: graph.TransposedProducts,
			After: []string{"simplify-compiled"}, Before: []string{"share-compiled"},
			Reason: "products read their operands transposed as fast as not; after simplifying, " +
				"which cancels transpositions"},
		{Name: "share-compiled", Pass: true, pass: graph.ShareCompiled,
			Before: []string{"fuse-loss-gradient", "move-bias", "fuse-row-loss", "fuse-pointwise",
				"recompute"},
			Reason: "gradients compute things again that were computed; after everything that " +
				"makes equal things look equal, before fusion, which hides them"},
		{Name: "fuse-loss-gradient", Pass: true, Loose: true, Host: true,
			pass: graph.FuseLossGradient, After: []string{"share-compiled"},
			Before: []string{"fuse-pointwise"},
			Reason: "the gradient of the scores is as large as they are, and read once: made " +
				"block by block where it is read, it never exists; after sharing, which finds " +
				"gradients that others read too"},
		{Name: "move-bias", Pass: true, Loose: true, Host: true, pass: graph.MoveBias,
			After: []string{"share-compiled"}, Before: []string{"fuse-pointwise"},
			Reason: "of many rows, a product without bias is the fastest one, and the softmax " +
				"that reads it next has the time to add; after sharing, which finds scores that " +
				"others read too"},
		{Name: "fuse-row-loss", Pass: true, Loose: true, Host: true, pass: graph.FuseRowLoss,
			After: []string{"dead-code", "share-compiled"}, Before: []string{"fuse-pointwise"},
			Reason: "a layer of one output with a regression head takes as long as its data " +
				"takes to read: made with the output, its gradient reads nothing again; after " +
				"sharing and dead code, which show that nobody else reads between"},
		{Name: "fuse-pointwise", Pass: true, pass: graph.FusePointwise,
			Before: []string{"recompute", "copy-between-devices"},
			Reason: "functions of single elements are bound by memory: a chain of them goes " +
				"over it once; last of the passes that compute less, because none of them looks " +
				"into chains"},
		{Name: "recompute", do: part(recompute), Mode: Training, After: []string{"gradient",
			"share", "share-compiled"}, Before: []string{"copy-between-devices", "number"},
			Reason: "the backward part computes values again instead of keeping them; after all " +
				"passes that merge equal nodes, which would undo it"},
		{Name: "copy-between-devices", Pass: true, Needed: true, do: copyBetweenDevices,
			After: []string{"assign-devices"}, Before: []string{"number"},
			Reason: "values that lie on another device are copied, once for each device that " +
				"reads them; last of the passes, because only then all readers are known"},
	}
}

// lowered are the stages that make a program of the graph.
func lowered() []*Stage {
	return []*Stage{
		{Name: "number", do: part(number), Before: []string{"layout", "prepare"},
			Reason: "nodes get their order and their numbers, and arrays outside their slots; " +
				"after the last pass, because passes make nodes"},
		{Name: "layout", do: part(layOut), After: []string{"number"}, Before: []string{"prepare"},
			Reason: "kernels choose blocked layouts for the arrays between them, and changes of " +
				"layout are put where a reader wants another one; before the other kernels are " +
				"prepared, which see the final operands"},
		{Name: "prepare", do: part(prepare), Before: []string{"streams", "segments", "storage"},
			Reason: "each kernel fixes its algorithm, its threads and its scratch memory, and " +
				"forms of parameters that are kept get slots; before anything that needs sizes"},
		{Name: "streams", do: step(spreadBranches), After: []string{"prepare"},
			Before: []string{"segments"},
			Reason: "independent branches get queues of their own where a device has several; " +
				"before segments, which end where the queue changes"},
		{Name: "segments", do: step(cut), Before: []string{"plan", "connect"},
			Reason: "steps that run as one operation need no order between them; before the " +
				"plan, which knows the order inside a segment"},
		{Name: "storage", do: step(assignStorage), After: []string{"prepare"},
			Before: []string{"plan"},
			Reason: "operators work in place where nobody reads their input afterwards; before " +
				"the plan, which places values that share bytes as one"},
		{Name: "plan", do: part(plan), Before: []string{"locate", "connect"},
			Reason: "every value and every scratch buffer gets an offset in the arena"},
		{Name: "locate", do: step(locate), After: []string{"plan"}, Before: []string{"connect"},
			Reason: "each step learns where its operands lie, and whether it has anything to do"},
		{Name: "connect", do: step(connect), After: []string{"segments", "plan", "locate"},
			Reason: "segments wait for results and for bytes that they overwrite; last, because " +
				"both the plan and the slots make edges"},
	}
}
